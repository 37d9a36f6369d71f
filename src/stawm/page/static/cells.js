/** The cells of a scene: a small pad in each, to draw a digit on or to put an example on. */

import { Pad } from "./draw.js";
import { element } from "./elements.js";

const BRUSH = 46;
const CLEARS = ["Delete", "Backspace", "Escape"];

/** A grid of pads; `onChange()` hears of all that is drawn, put or cleared. Examples are `{png, label}`. */
export class Cells {
  constructor({ rows, columns }, examples, onChange) {
    this.examples = examples;
    this.onChange = onChange;
    this.cells = Array.from({ length: rows * columns }, (_, place) => this.#cell(place + 1));
    this.element = element("div", { class: "cells", role: "group", "aria-label": "Cells to draw in" },
      ...this.cells.map(({ whole }) => whole));
    this.element.style.setProperty("--columns", columns);
  }

  get empty() {
    return this.cells.every((cell) => vacant(cell));
  }

  clear() {
    this.cells.forEach((cell) => this.#emptied(cell));
    this.onChange();
  }

  /** Put other examples into cells by chance, at least into half of them. */
  async fill() {
    const least = Math.ceil(this.cells.length / 2);
    const count = least + Math.floor(Math.random() * (this.cells.length - least + 1));
    const chosen = new Set(shuffled(this.cells).slice(0, count));
    const digits = shuffled(this.examples);
    this.cells.forEach((cell) => this.#emptied(cell));
    await Promise.all([...chosen].map((cell, place) => this.#put(cell, digits[place % digits.length])));
    this.onChange();
  }

  /** What is in each cell: a picture to send (null if nothing), and what it is, where that is known (`""`: nothing). */
  pictures() {
    return this.cells.map((cell) => {
      if (vacant(cell)) return { image: null, label: "" };
      return cell.example ? { image: cell.example.png, label: cell.example.label }
        : { image: cell.pad.exported(), label: null };
    });
  }

  #cell(number) {
    const canvas = element("canvas", {
      class: "cell-pad", tabindex: "0", role: "img", keydown: (event) => this.#key(event, cell),
    });
    const clear = element("button", {
      type: "button", class: "cell-clear", text: "×", "aria-label": `Clear cell ${number}`, hidden: true,
      click: () => {
        this.#emptied(cell);
        canvas.focus();
        this.onChange();
      },
    });
    const pad = new Pad(canvas, {
      onStart: () => {
        cell.example = null;
        this.#told(cell);
      },
      onChange: (finished) => finished && this.onChange(),
    });
    pad.brush = BRUSH;
    const whole = element("div", { class: "cell" }, canvas, element("span", { class: "cell-number", text: number }), clear);
    const cell = { number, canvas, clear, pad, whole, example: null };
    this.#told(cell);
    return cell;
  }

  /** A digit key puts an example of that digit; Delete takes it away. */
  async #key(event, cell) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const example = this.examples.find(({ label }) => label === event.key);
    if (!example && !CLEARS.includes(event.key)) return;
    event.preventDefault();
    if (example) await this.#put(cell, example);
    else this.#emptied(cell);
    this.onChange();
  }

  async #put(cell, example) {
    const picture = new Image();
    picture.src = example.png;
    await picture.decode();
    cell.pad.show(picture);
    cell.example = example;
    this.#told(cell);
  }

  #emptied(cell) {
    cell.pad.clear();
    cell.example = null;
    this.#told(cell);
  }

  #told(cell) {
    const { number, canvas, clear, example } = cell;
    const held = example ? `an example of a ${example.label}` : vacant(cell) ? "empty" : "a drawing";
    canvas.setAttribute("aria-label", `Cell ${number}, ${held}. Draw here, or type a digit for an example; Delete clears.`);
    clear.hidden = vacant(cell);
  }
}

function vacant({ pad }) {
  return pad.empty && pad.picture === null;
}

function shuffled(list) {
  return list.map((one) => [Math.random(), one]).sort(([one], [other]) => one - other).map(([, one]) => one);
}
