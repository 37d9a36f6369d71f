/** The outlines of a look, over the pad on which its picture was drawn or is shown. */

import { SIDE, within } from "./draw.js";
import { outlined } from "./stage.js";

const BADGE = 0.045;
const SMALLEST = 0.024;
const LARGEST = 0.036;

/** Outlines over a pad; a look says by `given` where what the model saw lies in the picture. */
export class Overlay {
  constructor(svg) {
    this.svg = svg;
    svg.setAttribute("viewBox", `0 0 ${SIDE} ${SIDE}`);
  }

  /** Draw the outlines of the glimpses up to `number`; none if the picture was blank. */
  show({ given, image, glimpses }, number) {
    if (!given) return this.clear();
    const { left, top, scale } = within(given);
    const place = ([x, y]) => [
      left + scale * (given.left + given.scale * x), top + scale * (given.top + given.scale * y),
    ];
    const outlines = glimpses.slice(0, number).map((glimpse) => ({
      number: glimpse.number, corners: glimpse.outline.map(place), colour: glimpse.colour,
    }));
    const edge = scale * given.scale * Math.max(image.width, image.height);
    const radius = Math.min(Math.max(BADGE * edge, SMALLEST * SIDE), LARGEST * SIDE);
    outlined(this.svg, outlines, number, radius);
  }

  clear() {
    this.svg.replaceChildren();
  }
}
