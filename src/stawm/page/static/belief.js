/** What the model believes after a glimpse, as bars. */

import { element, percent } from "./elements.js";

const FEW = 12;
const SHORT = 3;
const ROWS = 8;

/** A bar chart for one look; `show(belief)` moves its bars. */
export class Belief {
  constructor(look) {
    const few = look.classes.length <= FEW;
    const short = look.classes.every((name) => name.length <= SHORT);
    this.classes = look.classes;
    this.places = few ? look.classes.map((_, place) => place) : likeliest(look);
    this.bars = this.places.map((place) => bar(look.classes[place]));
    this.chart = element("div", { class: few && short ? "bars columns" : "bars rows", role: "img" });
    this.chart.append(...this.bars.map(({ whole }) => whole));
    const rest = look.classes.length - this.places.length;
    const more = rest ? element("p", { class: "faint", text: `and ${rest} classes that were never likelier` }) : null;
    this.element = element("div", { class: "belief" }, this.chart, more);
  }

  show(belief, number) {
    const best = belief.indexOf(Math.max(...belief));
    this.places.forEach((place, row) => {
      const { whole, fill, value } = this.bars[row];
      fill.style.setProperty("--share", belief[place]);
      value.textContent = belief[place] >= 0.005 ? percent(belief[place]) : "";
      whole.classList.toggle("best", place === best);
    });
    const told = this.places
      .filter((place) => belief[place] >= 0.005)
      .sort((one, other) => belief[other] - belief[one])
      .map((place) => `${this.classes[place]} ${percent(belief[place])}`);
    this.chart.setAttribute("aria-label", `Belief after glimpse ${number}: ${told.join(", ")}`);
  }
}

/** The class that a belief holds likeliest, and how likely. */
export function answerOf(belief, classes) {
  const share = Math.max(...belief);
  return { name: classes[belief.indexOf(share)] ?? "?", share };
}

function bar(name) {
  const fill = element("span", { class: "fill" });
  const value = element("span", { class: "value" });
  const label = element("span", { class: "label", text: name, title: name });
  const whole = element("div", { class: "bar" }, label, element("span", { class: "track" }, fill), value);
  return { whole, fill, value };
}

/** The classes that were likeliest at any time; their order stays, so that no bar changes its place. */
function likeliest(look) {
  const peak = look.classes.map((_, place) => Math.max(...look.glimpses.map(({ belief }) => belief?.[place] ?? 0)));
  const order = peak.map((_, place) => place).sort((one, other) => peak[other] - peak[one]);
  return order.slice(0, ROWS);
}
