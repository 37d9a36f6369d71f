/** Questions to the server: one at a time, and the newest wins. */

const AGAIN = 1500;

/** A mistake that the server told in one sentence. */
export class Refused extends Error {}

/** The JSON that the server answers with; `Refused` with its sentence, or a `TypeError` when nobody answers. */
export async function fetched(path, options) {
  const answer = await fetch(path, options);
  const told = await answer.json().catch(() => null);
  if (answer.ok && told !== null) return told;
  const sentence = typeof told?.detail === "string" ? told.detail : `the server answered ${answer.status}`;
  throw Object.assign(new Refused(sentence), { wait: Number(answer.headers.get("Retry-After")) || 0 });
}

/** Looks asked of the server. While one is under way, only the newest of those that follow is kept. */
export class Asker {
  constructor({ onLook, onRefused, onGone, onBack }) {
    Object.assign(this, { onLook, onRefused, onGone, onBack });
    this.waiting = null;
    this.busy = false;
    this.gone = false;
  }

  ask(question) {
    this.waiting = question;
    if (!this.busy) this.#next();
  }

  /** Drop what has not been answered: its answer will not be shown. */
  forget() {
    this.waiting = null;
    this.current = null;
  }

  async #next() {
    this.busy = true;
    try {
      while (this.waiting) {
        const question = (this.current = this.waiting);
        this.waiting = null;
        const look = await this.#answered(question);
        if (look && this.current === question) this.onLook(look, question);
      }
    } finally {
      this.busy = false;
    }
  }

  async #answered(question) {
    const { image, name, model, memory } = question;
    const body = JSON.stringify({ images: [image], names: [name], model, memory });
    try {
      const headers = { "Content-Type": "application/json" };
      return (await fetched("/api/look", { method: "POST", headers, body })).looks[0];
    } catch (failure) {
      await this.#failed(failure, question);
      return null;
    }
  }

  async #failed(failure, question) {
    if (failure instanceof Refused) {
      if (this.current === question) this.onRefused(failure.message, failure.wait > 0);
      if (!failure.wait) return;
      await pause(1000 * Math.min(failure.wait, 10));
    } else {
      await this.untilBack();
    }
    if (this.current === question) this.waiting ??= question;
  }

  /** Say that the server is gone, and return when it answers again. */
  async untilBack() {
    this.onGone();
    for (;;) {
      await pause(AGAIN);
      try {
        await fetched("/api/health");
        return this.onBack();
      } catch (failure) {
        if (failure instanceof Refused) return this.onBack();
      }
    }
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
