/** The scene in its four states: to be drawn, looked at, covered, and uncovered with the answers over it. */

import { element, percent, pixels, shape } from "./elements.js";
import { there } from "./judged.js";
import { outlined } from "./stage.js";

const BADGE = 0.036;

/** A board over `cells`; `onAsk(number)` hears which covered cell is asked about. */
export class Board {
  constructor({ rows, columns }, cells, onAsk) {
    this.cells = cells;
    this.image = pixels(null, "The scene as the model sees it", { class: "pixels scene" });
    this.overlay = shape("svg", { class: "outlines", "aria-hidden": "true" });
    this.covers = Array.from({ length: rows * columns }, (_, place) => element("button", {
      type: "button", class: "cover", click: () => onAsk(place + 1),
    }));
    this.grid = element("div", { class: "covers", role: "group", "aria-label": "Covered cells" }, ...this.covers);
    this.element = element("div", { class: "board" }, cells.element, this.image, this.overlay, this.grid);
    this.element.style.setProperty("--columns", columns);
    this.element.style.aspectRatio = `${columns} / ${rows}`;
    this.draw();
  }

  draw() {
    this.#show({ cells: true });
  }

  /** The scene with the outlines of the glimpses up to `number`. */
  looking({ image, glimpses }, number) {
    this.image.src = image.png;
    this.overlay.setAttribute("viewBox", `0 0 ${image.width} ${image.height}`);
    const outlines = glimpses.slice(0, number)
      .map(({ outline, ...rest }) => ({ ...rest, corners: outline }));
    outlined(this.overlay, outlines, number, BADGE * Math.max(image.width, image.height));
    this.#show({ scene: true });
  }

  cover() {
    this.covers.forEach((cover, place) => {
      cover.className = "cover";
      cover.disabled = false;
      cover.setAttribute("aria-label", `Cell ${place + 1}: what was here?`);
      cover.replaceChildren(element("span", { class: "cover-number", text: String(place + 1) }),
        element("span", { class: "cover-mark", text: "?" }));
    });
    this.#show({ covers: true });
  }

  /** Show on a covered cell what is remembered of it. */
  recalled(cell) {
    const cover = this.covers[cell.number - 1];
    cover.classList.add("told");
    cover.setAttribute("aria-label", `Cell ${cell.number}: ${said(cell)}`);
    cover.replaceChildren(...[
      cell.drawing && pixels(cell.drawing, "", { class: "pixels" }),
      element("span", { class: "cover-number", text: String(cell.number) }),
      element("span", { class: "chip", text: short(cell) }),
    ].filter(Boolean));
  }

  /** Point to the cell in which something is remembered to have been; null points nowhere. */
  point(number) {
    this.covers.forEach((cover, place) => cover.classList.toggle("pointed", place + 1 === number));
  }

  /** The scene itself, with marks (true, false or null) on the cells that were asked about. */
  uncover(seen, marks) {
    this.image.src = seen.image.png;
    this.covers.forEach((cover, place) => {
      const mark = marks.get(place + 1);
      cover.disabled = true;
      cover.classList.remove("pointed");
      cover.classList.toggle("right", mark === true);
      cover.classList.toggle("wrong", mark === false);
    });
    this.#show({ scene: true, covers: true, open: true });
    this.overlay.replaceChildren();
  }

  #show({ cells = false, scene = false, covers = false, open = false }) {
    this.cells.element.hidden = !cells;
    this.image.hidden = !scene;
    this.overlay.toggleAttribute("hidden", !scene);
    this.grid.hidden = !covers;
    this.element.classList.toggle("open", open);
  }
}

/** What is said of a cell, in words. */
export function said(cell) {
  if (!there(cell)) return `nothing was there, ${percent(1 - (cell.there ?? 0))}`;
  return cell.prediction === null ? `something was there, ${percent(cell.there)}`
    : `a ${cell.prediction}, ${percent(cell.confidence)}`;
}

function short(cell) {
  if (!there(cell)) return "nothing";
  return cell.prediction === null ? "something" : `${cell.prediction} · ${percent(cell.confidence)}`;
}
