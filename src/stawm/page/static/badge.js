/** Numbers of glimpses, each on the colour that its glimpse has in the look, as in the figures of `stawm figure`. */

import { element } from "./elements.js";

/** The ink that is read on a colour (#rrggbb). */
export function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "#fff" : "#14171c";
}

/** A number on its colour. */
export function numbered(number, colour) {
  const badge = element("span", { class: "number", text: String(number) });
  Object.assign(badge.style, { backgroundColor: colour, color: inkOn(colour) });
  return badge;
}
