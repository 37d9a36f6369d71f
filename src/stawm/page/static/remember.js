/** The tab "Remember": draw a scene, let the model look once, cover it, ask, and uncover. */

import { fetched, Refused } from "./asking.js";
import { numbered } from "./badge.js";
import { Belief } from "./belief.js";
import { Board, said } from "./board.js";
import { Cells } from "./cells.js";
import { element, percent, pixels } from "./elements.js";
import { judged, there } from "./judged.js";

const PACE = 800;
const REST = 1100;
const GONE = "The server does not answer. Start `stawm serve` again, then try once more.";
const NOBODY = "This server has no model that can be asked. Start it with the weights of scenes: ";

/** The tab in `desk`; `complain(sentence)` tells what went wrong, `still` whether motion is unwanted. */
export class Remember {
  constructor(desk, { complain, still }) {
    Object.assign(this, { desk, complain, still, seen: null, answers: [], timer: null, busy: false, sent: null });
  }

  /** Set the tab up for the models that can be asked, the first of them chosen. */
  begin(models, examples) {
    this.examples = examples;
    if (!models.length) {
      const command = element("code", { text: "stawm serve --weights scenes-4-ask" });
      return this.desk.replaceChildren(element("p", { class: "card nobody" }, NOBODY, command, "."));
    }
    this.models = models;
    this.#take(models[0]);
  }

  #take(model) {
    this.model = model;
    this.#stop();
    this.cells = new Cells(model.grid, this.examples, () => this.#changed());
    this.board = new Board(model.grid, this.cells, (number) => this.#ask({ at: number }));
    this.status = element("p", { class: "status", role: "status" });
    this.tools = element("div", { class: "tools" });
    this.hint = element("p", { class: "hint" });
    this.title = element("h2", { id: "recall-title" });
    this.body = element("div", { class: "recall", "aria-live": "polite" });
    this.desk.replaceChildren(
      element("section", { class: "card", "aria-labelledby": "scene-title" },
        element("div", { class: "card-head" }, element("h2", { id: "scene-title", text: "The scene" }), this.status),
        this.board.element, this.hint, this.tools, this.#chooser()),
      element("section", { class: "card", id: "recall", "aria-labelledby": "recall-title" }, this.title, this.body));
    this.#draw();
  }

  #chooser() {
    if (this.models.length < 2) return null;
    const select = element("select", {
      "aria-label": "Model that is asked",
      change: () => this.#take(this.models.find(({ name }) => name === select.value)),
    }, ...this.models.map(({ name }) => element("option", { value: name, text: name, selected: name === this.model.name })));
    return element("label", { class: "model chooser" }, element("span", { text: "Model" }), select);
  }

  #draw() {
    this.#stop();
    Object.assign(this, { seen: null, answers: [] });
    this.board.draw();
    this.title.textContent = "What happens";
    this.body.replaceChildren(element("ol", { class: "steps" },
      ...[`Draw digits into some of the ${this.cells.cells.length} cells, or take examples.`,
        `Press Look: it takes ${this.model.glimpses} glimpses, each written into one memory.`,
        "The picture is covered. Ask what was in a cell, or where a digit was.",
        "Uncover, and see what was right."].map((text) => element("li", { text }))));
    this.look = button("Look", () => this.#look(), "strong");
    this.tools.replaceChildren(this.look,
      button("Examples", () => this.cells.fill()), button("Clear all", () => this.cells.clear()));
    this.#changed();
  }

  #changed() {
    this.complain("");
    this.sent = null;
    this.look.disabled = this.cells.empty || this.busy;
    this.status.textContent = "";
    this.hint.textContent = this.cells.empty ? "Draw a digit into a cell, with mouse, pen or finger." : "";
  }

  /** Ask for a look; its answer is dropped where the scene or the model became another one meanwhile. */
  async #look() {
    const pictures = (this.sent = this.cells.pictures());
    this.look.disabled = this.busy = true;
    const seen = await this.#post("/api/remember", { cells: pictures.map(({ image }) => image), model: this.model.name });
    this.busy = false;
    this.look.disabled = this.cells.empty;
    if (!seen || this.sent !== pictures) return;
    this.labels = pictures.map(({ label }) => label);
    if (seen.memory === null) return void (this.hint.textContent = "Nothing to see: draw larger or darker.");
    this.seen = seen;
    this.#watch();
  }

  /** Show one glimpse after the other, then cover the scene; at once where motion is unwanted. */
  #watch() {
    this.title.textContent = "It looks";
    this.hint.textContent = this.seen.notes.length ? `Prepared: ${this.seen.notes.join("; ")}.` : "";
    const skip = button("Cover it", () => this.#cover(), "strong");
    this.tools.replaceChildren(skip);
    skip.focus();
    if (this.still.matches) return this.#glimpse(this.seen.glimpses.length);
    const next = (number) => {
      this.#glimpse(number);
      const last = number === this.seen.glimpses.length;
      this.timer = setTimeout(() => (last ? this.#cover() : next(number + 1)), last ? REST : PACE);
    };
    next(1);
  }

  #glimpse(number) {
    const { glimpses } = this.seen;
    this.board.looking(this.seen, number);
    this.status.textContent = `Glimpse ${number} of ${glimpses.length}`;
    const now = glimpses[number - 1];
    const frame = element("div", { class: "patch-frame" }, pixels(now.glimpse, `Glimpse ${number}`, { class: "pixels" }));
    frame.style.setProperty("--now", now.colour);
    const strip = glimpses.map((glimpse, place) => element("li", { class: place < number ? "" : "later" },
      numbered(glimpse.number, glimpse.colour),
      place < number ? pixels(glimpse.glimpse, "", { class: "pixels" }) : element("span", { class: "unwritten" })));
    this.body.replaceChildren(element("figure", { class: "now-seen" }, frame,
      element("figcaption", { text: `What glimpse ${number} sees, written into the memory` })),
    element("ol", { class: "written", "aria-label": "Glimpses" }, ...strip));
  }

  #cover() {
    this.#stop();
    this.board.cover();
    this.answers = [];
    this.status.textContent = "Covered";
    this.hint.textContent = "Click a cell: what was here?";
    this.title.textContent = "Ask its memory";
    this.uncover = button("Uncover", () => this.#uncover(), "strong");
    this.tools.replaceChildren(this.uncover, button("New scene", () => this.#again()));
    const names = this.seen.classes.map((name) => element("button", {
      type: "button", text: name, "aria-label": `Where was the ${name}?`, click: () => this.#ask({ where: name }),
    }));
    this.answer = element("div", { class: "answer-box" },
      element("p", { class: "waiting", text: "Click a covered cell, or choose a digit." }));
    this.body.replaceChildren(element("h3", { text: "Where was the …" }),
      element("div", { class: "names", role: "group", "aria-label": "Digits to ask for" }, ...names), this.answer);
    this.board.covers[0].focus({ preventScroll: true });
  }

  async #ask(question) {
    const { seen } = this;
    const found = await this.#post("/api/ask", { ...question, memory: seen.memory, model: seen.model });
    if (!found || seen !== this.seen) return;
    this.complain("");
    if (question.at) this.#what(found.cells[0]);
    else this.#where(found.classes[0]);
  }

  #what(told) {
    this.#keep({ kind: "cell", key: `cell ${told.number}`, number: told.number, told });
    this.board.recalled(told);
    this.board.point(null);
    const word = there(told) ? told.prediction ?? "something" : "nothing";
    const sure = there(told) ? told.confidence ?? told.there : 1 - (told.there ?? 0);
    const parts = [];
    if (there(told) && told.belief) {
      const bars = new Belief({ classes: this.seen.classes, glimpses: [told] });
      bars.show(told.belief, this.seen.glimpses.length);
      bars.chart.setAttribute("aria-label", `What it believes of cell ${told.number}: ${said(told)}`);
      parts.push(bars.element);
    }
    this.answer.replaceChildren(element("p", { class: "asked", text: `What was in cell ${told.number}?` }),
      element("div", { class: "told-row" }, this.#word(word, sure),
        told.drawing && element("figure", { class: "redrawn" }, pixels(told.drawing, `Cell ${told.number}, redrawn from memory`, { class: "pixels" }),
          element("figcaption", { text: "redrawn from memory" }))), ...parts);
  }

  #where(told) {
    this.#keep({ kind: "class", key: `the ${told.name}`, told });
    const known = told.remembered !== false;
    this.board.point(known ? told.cell : null);
    const bars = new Belief({ classes: told.belief.map((_, place) => `cell ${place + 1}`), glimpses: [told] });
    bars.show(told.belief, this.seen.glimpses.length);
    bars.chart.setAttribute("aria-label", `Where it believes the ${told.name} was: cell ${told.cell}, ${percent(told.confidence)}`);
    this.answer.replaceChildren(element("p", { class: "asked", text: `Where was the ${told.name}?` }),
      element("div", { class: "told-row" }, known ? this.#word(`cell ${told.cell}`, told.confidence)
        : element("p", { class: "answer" }, element("strong", { class: "prediction word", text: `It remembers no ${told.name}` }))),
      ...(known ? [bars.element] : []));
  }

  #word(word, share) {
    return element("p", { class: "answer" }, element("span", { class: "small", text: "It remembers" }),
      element("strong", { class: word.length > 2 ? "prediction word" : "prediction", text: word }),
      element("span", { class: "small", text: percent(share) }));
  }

  #keep(answer) {
    this.answers = [...this.answers.filter(({ key }) => key !== answer.key), answer];
  }

  #uncover() {
    this.answers.forEach((answer) => (answer.mark = judged(answer, this.labels)));
    this.title.textContent = "What was right";
    this.hint.textContent = "";
    this.tools.replaceChildren(button("New scene", () => this.#again(), "strong"),
      button("Cover it again", () => this.#cover()));
    this.#verdict();
  }

  /** The scene beside the answers, with right and wrong marked; what only the reader knows, the reader marks. */
  #verdict() {
    const marks = new Map(this.answers.filter(({ kind }) => kind === "cell").map(({ number, mark }) => [number, mark]));
    this.board.uncover(this.seen, marks);
    const right = this.answers.filter(({ mark }) => mark === true).length;
    const open = this.answers.some(({ mark }) => mark === null);
    this.status.textContent = this.answers.length && !open ? `${right} of ${this.answers.length} right` : "Uncovered";
    if (!this.answers.length) {
      return this.body.replaceChildren(element("p", { class: "waiting", text: "Nothing was asked. Cover it again, and ask." }));
    }
    this.body.replaceChildren(element("ul", { class: "verdicts" }, ...this.answers.map((answer) => this.#line(answer))));
  }

  #line(answer) {
    const { kind, told, mark } = answer;
    const question = kind === "cell" ? `Cell ${told.number}` : `The ${told.name}`;
    const reply = kind === "cell" ? said(told)
      : told.remembered === false ? "not remembered" : `cell ${told.cell}, ${percent(told.confidence)}`;
    const judge = (value, text) => button(text, () => {
      answer.mark = value;
      this.#verdict();
    });
    const verdict = mark === null
      ? element("span", { class: "judge", role: "group", "aria-label": `${question}: was that right?` },
        judge(true, "Right"), judge(false, "Wrong"))
      : element("strong", { class: mark ? "mark-right" : "mark-wrong", text: mark ? "✓ right" : "✗ wrong" });
    const drawing = kind === "cell" && told.drawing ? pixels(told.drawing, "redrawn from memory", { class: "pixels" }) : null;
    return element("li", {}, drawing ?? element("span", { class: "no-drawing" }),
      element("span", { class: "reply" }, element("b", { text: `${question}:` }), ` ${reply}`, this.#truth(answer)), verdict);
  }

  #truth({ kind, told }) {
    if (kind === "cell") {
      const label = this.labels[told.number - 1];
      if (label === null) return element("span", { class: "small", text: "you drew it" });
      return element("span", { class: "small", text: label === "" ? "it was empty" : `it was a ${label}` });
    }
    const places = this.labels.flatMap((label, place) => (label === told.name ? [`cell ${place + 1}`] : []));
    const unknown = this.labels.includes(null) ? "" : "it was nowhere";
    const text = places.length ? `it was in ${places.join(" and ")}` : unknown;
    return text ? element("span", { class: "small", text }) : null;
  }

  #again() {
    this.#draw();
    this.cells.clear();
    this.cells.cells[0].canvas.focus({ preventScroll: true });
  }

  #stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  async #post(path, body) {
    try {
      const headers = { "Content-Type": "application/json" };
      return await fetched(path, { method: "POST", headers, body: JSON.stringify(body) });
    } catch (failure) {
      this.complain(failure instanceof Refused ? failure.message : GONE);
      return null;
    }
  }
}

function button(text, click, kind) {
  return element("button", { type: "button", text, click, class: kind });
}
