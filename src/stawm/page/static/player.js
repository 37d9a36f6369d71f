/** One look, glimpse by glimpse: where, what was seen, what was drawn, what was believed. */

import { answered } from "./answers.js";
import { numbered } from "./badge.js";
import { answerOf, Belief } from "./belief.js";
import { element, percent, pixels } from "./elements.js";
import { Stage } from "./stage.js";

const PACE = 750;

/** What is said of a picture on which nothing is drawn. */
export const NOTHING = "Nothing to see";

/** What is said of a picture that is not like those the model learnt from; empty for others. */
export function strange(look) {
  return look.familiar && !look.familiar.recognised ? "I don't recognise this" : "";
}

/** What is added to the answer to a picture on which several things are drawn. */
export function several(found) {
  return found > 1 ? ` (of ${found} things)` : "";
}

/** A player of one look (the JSON of `POST /api/look` and of reports); `onStep(number)` hears of every move. */
export class Player {
  constructor(look, { onStep = () => {} } = {}) {
    this.look = look;
    this.count = look.glimpses.length;
    this.onStep = onStep;
    this.timer = null;
    this.number = this.count;
    this.spoken = element("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.element = element("div", {
      class: "player", role: "group", tabindex: "0", keydown: (event) => this.key(event),
      "aria-label": `Look at ${look.name}, ${this.count} glimpses; left and right step, space plays`,
    });
    this.element.append(this.#stages(), this.#transport(), this.#strip(), ...this.#unsure(), this.#verdict(), this.spoken);
    this.element.classList.toggle("strange", strange(look) !== "");
    this.#playing();
    this.#render();
  }

  /** Show the state after glimpse `number`; a step by hand is spoken, one of many in play is not. */
  step(number, { quiet = false } = {}) {
    this.number = Math.min(Math.max(number, 1), this.count);
    this.#render();
    if (!quiet) this.spoken.textContent = this.#told();
    this.onStep(this.number);
  }

  /** Play from the first glimpse, or go on from the one shown. */
  play({ restart = false } = {}) {
    this.pause();
    if (restart || this.number === this.count) this.step(1, { quiet: true });
    this.timer = setInterval(() => {
      if (!this.element.isConnected || this.number >= this.count) return this.pause();
      this.step(this.number + 1, { quiet: this.number + 1 < this.count });
      if (this.number === this.count) this.pause();
    }, PACE);
    this.#playing();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.#playing();
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  /** Move by the arrow keys, Home, End and space, unless the key belongs to the control that has the focus. */
  key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const own = event.target.closest?.("button, select, input, textarea, a, summary");
    const range = own?.type === "range";
    if (event.key === " " && (!own || range)) this.toggle();
    else if (own && own.tagName !== "BUTTON") return;
    else if (event.key === "ArrowLeft") this.#move(this.number - 1);
    else if (event.key === "ArrowRight") this.#move(this.number + 1);
    else if (event.key === "Home") this.#move(1);
    else if (event.key === "End") this.#move(this.count);
    else return;
    event.preventDefault();
  }

  #move(number) {
    this.pause();
    this.step(number);
  }

  #stages() {
    const { image, glimpses, name } = this.look;
    const draws = glimpses.some((glimpse) => glimpse.canvas);
    const size = `${image.width} × ${image.height}`;
    this.shown = new Stage(image, `What the model sees: ${size} pixels`, `${name}, as the model sees it`);
    this.shown.picture(image.png);
    this.glimpse = patch("Glimpse");
    this.sketch = draws ? patch("Sketch") : null;
    this.canvas = draws ? new Stage(image, "What it has redrawn", "The canvas") : null;
    const patches = element("div", { class: "patches" }, this.glimpse.element, this.sketch?.element ?? null);
    return element("div", { class: draws ? "stages draws" : "stages" },
      this.shown.element, patches, this.canvas?.element ?? null);
  }

  #transport() {
    const step = (label, sign, by) => element("button", {
      type: "button", class: "round", "aria-label": label, title: label, text: sign,
      click: () => this.#move(this.number + by),
    });
    this.playButton = element("button", { type: "button", class: "round strong play", click: () => this.toggle() });
    this.slider = element("input", {
      type: "range", min: "1", max: String(this.count), step: "1", "aria-label": "Glimpse",
      input: () => this.#move(Number(this.slider.value)),
    });
    this.where = element("output", { class: "where" });
    return element("div", { class: "transport" },
      step("Previous glimpse", "‹", -1), this.playButton, step("Next glimpse", "›", 1), this.slider, this.where);
  }

  #strip() {
    this.frames = this.look.glimpses.map((glimpse) => {
      const answer = glimpse.belief ? answerOf(glimpse.belief, this.look.classes) : null;
      const told = answer ? `${answer.name}, ${percent(answer.share)}` : "";
      const frame = element("button", {
        type: "button", class: "frame", click: () => this.#move(glimpse.number),
        "aria-label": `Glimpse ${glimpse.number}${told && `: ${told}`}`, title: told,
      }, numbered(glimpse.number, glimpse.colour), pixels(glimpse.glimpse, "", { class: "pixels" }),
      answer && element("span", { class: "guess", text: answer.name }));
      frame.style.setProperty("--own", glimpse.colour);
      return frame;
    });
    return element("div", { class: "strip", role: "group", "aria-label": "All glimpses" }, ...this.frames);
  }

  /** A line above the answer of a model that would rather give none. */
  #unsure() {
    const told = strange(this.look);
    if (!told) return [];
    const how = `Familiar to ${percent(this.look.familiar.score)}; from 50 % on it would be recognised.`;
    const guess = this.look.prediction === null ? "" : " Its answer is a guess.";
    const why = element("span", { class: "small", text: how + guess });
    return [element("p", { class: "unsure" }, element("strong", { text: told }), why)];
  }

  #verdict() {
    this.belief = this.look.glimpses[0]?.belief ? new Belief(this.look) : null;
    this.after = element("p", { class: "after" });
    const others = answered(this.look.answers);
    const nothing = this.look.found === 0;
    if (!this.belief && !nothing) return element("div", { class: "verdict" }, element("div", {}, this.after, others));
    const word = nothing ? NOTHING : this.look.prediction ?? "?";
    const answer = element("p", { class: "answer" },
      nothing ? null : element("span", { class: "small", text: "It says" }),
      element("strong", { class: word.length > 2 ? "prediction word" : "prediction", text: word }),
      nothing ? null : element("span", { class: "small", text: percent(this.look.confidence ?? 0) }));
    const bars = this.belief?.element ?? null;
    return element("div", { class: "verdict" }, answer, element("div", {}, this.after, bars, others));
  }

  #told() {
    const { belief, outside } = this.look.glimpses[this.number - 1];
    const answer = belief && answerOf(belief, this.look.classes);
    const out = outside >= 0.5 ? `; ${percent(outside)} of it is outside the picture` : "";
    return answer
      ? `after glimpse ${this.number}: ${answer.name}, ${percent(answer.share)}${out}`
      : `glimpse ${this.number} of ${this.count}${out}`;
  }

  #render() {
    const glimpse = this.look.glimpses[this.number - 1];
    if (!glimpse) return;
    this.element.style.setProperty("--now", glimpse.colour);
    const seen = this.look.glimpses.slice(0, this.number);
    this.shown.outline(seen.map(({ outline, ...rest }) => ({ ...rest, corners: outline })), this.number);
    this.glimpse.show(glimpse.glimpse, this.number);
    if (this.sketch && glimpse.sketch) this.sketch.show(glimpse.sketch, this.number);
    if (this.canvas && glimpse.canvas) {
      this.canvas.picture(glimpse.canvas);
      const pasted = glimpse.sketch_outline ? [{ ...glimpse, corners: glimpse.sketch_outline }] : [];
      this.canvas.outline(pasted, this.number);
      this.canvas.image.alt = `The canvas after glimpse ${this.number}`;
    }
    this.belief?.show(glimpse.belief, this.number);
    const told = this.#told();
    this.after.textContent = told[0].toUpperCase() + told.slice(1);
    this.slider.value = String(this.number);
    this.slider.setAttribute("aria-valuetext", told);
    this.where.textContent = `${this.number} / ${this.count}`;
    this.frames.forEach((frame, place) => {
      frame.classList.toggle("now", place + 1 === this.number);
      frame.classList.toggle("later", place + 1 > this.number);
      if (place + 1 === this.number) frame.setAttribute("aria-current", "step");
      else frame.removeAttribute("aria-current");
    });
  }

  #playing() {
    const label = this.timer ? "Pause" : "Play";
    this.playButton.textContent = this.timer ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
  }
}

/** A glimpse or a sketch, enlarged. */
function patch(title) {
  const image = pixels(null, title, { class: "pixels" });
  const caption = element("figcaption", { text: title });
  const show = (source, number) => {
    image.src = source;
    image.alt = caption.textContent = `${title} ${number}`;
  };
  const frame = element("div", { class: "patch-frame" }, image);
  return { element: element("figure", { class: "patch" }, frame, caption), show };
}
