/** What heads answer that have no place of their own on the page: a line for each, and the pictures among it. */

import { element, pixels } from "./elements.js";

/** An element with a line for each of the answers of a look; nothing if there are none. */
export function answered(answers) {
  const lines = Object.entries(answers).map(([name, values]) => {
    const pictures = [];
    const line = element("p", { text: `${name}: ${worded(values, pictures)}` });
    line.append(...pictures.map((source) => pixels(source, name, { class: "pixels" })));
    return line;
  });
  return lines.length ? element("div", { class: "answers" }, ...lines) : null;
}

function worded(value, pictures) {
  if (Array.isArray(value)) return value.map((one) => worded(one, pictures)).join(" ");
  if (value !== null && typeof value === "object") {
    return Object.entries(value).map(([name, one]) => `${name} ${worded(one, pictures)}`).join(", ");
  }
  if (!String(value).startsWith("data:image/")) return String(value);
  pictures.push(value);
  return "";
}
