/** A picture, enlarged, with numbered outlines over it that may reach past its edges. */

import { inkOn } from "./badge.js";
import { element, pixels, shape } from "./elements.js";

const MARGIN = 0.14;
const BADGE = 0.052;

/** A stage for pictures of one size; `picture(source)` changes what is on it, `outline(…)` what is over it. */
export class Stage {
  constructor({ width, height }, title, description) {
    this.width = width;
    this.height = height;
    this.edge = Math.max(width, height);
    this.margin = MARGIN * this.edge;
    const across = width + 2 * this.margin;
    const down = height + 2 * this.margin;
    this.image = pixels(null, description, { class: "pixels" });
    Object.assign(this.image.style, {
      left: share(this.margin, across), top: share(this.margin, down),
      width: share(width, across), height: share(height, down),
    });
    const view = [-this.margin, -this.margin, across, down].join(" ");
    this.overlay = shape("svg", { viewBox: view, class: "outlines", "aria-hidden": "true" });
    this.frame = element("div", { class: "stage" }, this.image, this.overlay);
    this.frame.style.aspectRatio = `${across} / ${down}`;
    this.caption = element("figcaption", { text: title });
    this.element = element("figure", {}, this.frame, this.caption);
  }

  picture(source) {
    if (this.image.getAttribute("src") !== source) this.image.src = source;
  }

  /** Draw these outlines, `{number, corners, colour}`; that of `current` is strong, the others are faint. */
  outline(outlines, current) {
    outlined(this.overlay, outlines, current, BADGE * this.edge);
  }
}

/** Draw outlines over an SVG's view box, their numbers on discs of this radius, which stay inside. */
export function outlined(overlay, outlines, current, radius) {
  const { x: left, y: top, width, height } = overlay.viewBox.baseVal;
  const when = (number) => (number === current ? "now" : "before");
  const drawn = outlines.map(({ number, corners, colour }) => shape("polygon", {
    points: corners.map((corner) => corner.join(",")).join(" "),
    stroke: colour, class: when(number),
  }));
  const badges = outlines.map(({ number, corners: [[cornerX, cornerY]], colour }) => {
    const x = clamp(cornerX, left + radius, left + width - radius);
    const y = clamp(cornerY, top + radius, top + height - radius);
    const size = radius * (number > 9 ? 1.05 : 1.35);
    return shape("g", { class: `${when(number)} badge`, transform: `translate(${x} ${y})` },
      shape("circle", { r: radius, fill: colour }),
      shape("text", { "font-size": size, fill: inkOn(colour), y: size * 0.36, text: String(number) }));
  });
  overlay.replaceChildren(...drawn, ...badges);
}

function share(part, whole) {
  return `${(100 * part) / whole}%`;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}
