/** Elements made in one line. Text never becomes markup, whatever a file is called. */

const SHAPES = "http://www.w3.org/2000/svg";

/** An HTML element: functions become listeners, `text` its text, `true` an empty attribute; the rest attributes. */
export function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** An SVG element, filled in the same way. */
export function shape(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SHAPES, tag), properties, children);
}

/** A picture of few pixels that stays crisp when enlarged. */
export function pixels(source, description, properties = {}) {
  return element("img", { src: source, alt: description, draggable: "false", ...properties });
}

/** 0.98 as "98 %". */
export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
