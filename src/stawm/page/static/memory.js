/** The memory itself: the matrix W, its singular values, how alike the stored codes are, and what comes back. */

import { numbered } from "./badge.js";
import { element, pixels, shape } from "./elements.js";

const NUMBERS = 12;
const LABELLED = 10;
const TALL = 200;

/** A view of one look's memory; `show(number)` moves it to the state after that glimpse. */
export class MemoryView {
  constructor({ memory, glimpses }) {
    const colours = glimpses.map(({ colour }) => colour);
    this.memory = memory;
    this.count = memory.steps.length;
    this.matrix = pixels(null, "", { class: "pixels matrix" });
    this.norm = element("p", { class: "faint" });
    this.values = shape("svg", { viewBox: "0 -16 320 246", role: "img", class: "values" });
    this.table = similarities(memory.similarity, colours);
    const panels = element("div", { class: "panels" },
      panel("The matrix W", "All that is kept of the glimpses. Each dot is one weight, red above zero and blue below; "
        + "every glimpse adds a pattern, and what was there before fades a little.",
      element("div", {}, this.matrix, this.norm)),
      panel("Its singular values", "How many different things W holds. One tall bar: all glimpses "
        + "were stacked onto nearly the same pattern. Several: they are kept apart.", this.values),
      panel("How alike the codes are", "Every glimpse is stored as a code. 1 means the same code again, "
        + "0 nothing in common.", this.table.whole),
      panel("What comes back", "The finished memory is asked with each code: how near is its answer to what was "
        + `written then (1 is the same), and which write is it nearest to? ${summary(memory.recall)}`,
      recalls(memory.recall, colours)));
    this.element = element("div", { class: "memory" }, panels);
    this.show(this.count);
  }

  show(number) {
    const step = this.memory.steps[number - 1];
    if (!step) return;
    const size = `${this.memory.size} × ${this.memory.size}`;
    this.matrix.src = step.matrix;
    this.matrix.alt = `The ${size} matrix after glimpse ${number}`;
    this.norm.textContent = `${size} weights after glimpse ${number}; norm ${step.norm.toFixed(2)}`;
    this.#bars(step.singular_values, number);
    this.table.cells.forEach(({ cell, row, column }) => cell.classList.toggle("later", Math.max(row, column) > number));
  }

  #bars(values, number) {
    const most = Math.max(...this.memory.steps.flatMap((step) => step.singular_values), 1e-9);
    const room = 320 / values.length;
    const heightOf = (value) => (TALL * value) / most;
    const bars = values.map((value, place) => {
      const height = heightOf(value);
      const size = { x: place * room + 2, y: TALL - height, width: room - 4, height: Math.max(height, 0.75), rx: 1.5 };
      return shape("rect", size, shape("title", { text: `singular value ${place + 1}: ${value.toFixed(3)}` }));
    });
    const told = values.length <= LABELLED ? values : values.slice(0, 1);
    const labels = told.map((value, place) => shape("text", {
      x: (place + 0.5) * room, y: TALL - 5 - heightOf(value), class: "middle",
      text: value < 0.005 ? "0" : value.toFixed(2),
    }));
    const axis = [1, values.length].map((place) =>
      shape("text", { x: (place - 0.5) * room, y: TALL + 18, class: "middle", text: String(place) }));
    this.values.replaceChildren(shape("line", { x1: 0, x2: 320, y1: TALL, y2: TALL }), ...bars, ...labels, ...axis);
    const largest = values.slice(0, 4).map((value) => value.toFixed(2)).join(", ");
    this.values.setAttribute("aria-label", `Singular values after glimpse ${number}, largest first: ${largest}`);
  }
}

function panel(title, sentence, ...content) {
  return element("section", { class: "panel" },
    element("h3", { text: title }), element("p", { class: "why", text: sentence }), ...content);
}

/** A heat map that is a table: numbers for few codes, tooltips for all. */
function similarities(similarity, colours) {
  const count = similarity.length;
  const cells = [];
  const head = element("tr", {}, element("td"), ...similarity.map((_, place) => heading(place + 1, colours, "col")));
  const few = count <= NUMBERS;
  const compared = (value, row, column) => {
    const cell = element("td", {
      text: few ? value.toFixed(2).replace(/^0/, "") : "", class: value > 0.55 ? "hot" : null,
      title: `codes ${row} and ${column}: ${value.toFixed(2)}`,
    });
    cell.style.setProperty("--share", Math.max(value, 0));
    cells.push({ cell, row, column });
    return cell;
  };
  const rows = similarity.map((line, row) => element("tr", {},
    heading(row + 1, colours, "row"), ...line.map((value, column) => compared(value, row + 1, column + 1))));
  const table = element("table", { class: few ? "heat" : "heat dense", "aria-label": "Cosine of each pair of codes" },
    element("thead", {}, head), element("tbody", {}, ...rows));
  return { whole: table, cells };
}

function heading(number, colours, scope) {
  return element("th", { scope }, numbered(number, colours[number - 1]));
}

function recalls(recall, colours) {
  return element("ol", { class: "recalls" }, ...recall.map(({ cosine, best }, place) => {
    const same = best === place + 1;
    const fill = element("span", { class: "fill" });
    fill.style.setProperty("--share", Math.max(cosine, 0));
    const came = same ? ["its own"] : ["nearest: ", numbered(best, colours[best - 1])];
    return element("li", {},
      numbered(place + 1, colours[place]), element("span", { class: "track", "aria-hidden": "true" }, fill),
      element("span", { class: "cosine", text: cosine.toFixed(2) }),
      element("span", { class: same ? "came same" : "came" }, ...came));
  }));
}

function summary(recall) {
  const own = recall.filter(({ best }, place) => best === place + 1).length;
  const answers = new Set(recall.map(({ best }) => best));
  if (own === recall.length) return "Here, always its own.";
  if (answers.size === 1) return `Here, always write ${recall[0].best}, whatever is asked.`;
  return `Here, its own for ${own} of ${recall.length}.`;
}
