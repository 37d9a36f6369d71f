/** A pad to draw on with mouse, pen or finger; or to show a picture on, until drawing starts. */

/** The edge of the pad in its own units, whatever its size on the screen. */
export const SIDE = 560;
const SENT = 280;
/** A level of 255 below which ink cannot be seen on black. */
const DARK = 32;

/** The pad on a canvas; `onChange(finished)` hears of every new piece of ink, `finished` when the hand is lifted. */
export class Pad {
  constructor(canvas, { onStart, onChange }) {
    this.canvas = canvas;
    this.onStart = onStart;
    this.onChange = onChange;
    this.brush = 30;
    this.strokes = [];
    this.open = new Map();
    this.picture = null;
    this.sheet = {};
    canvas.width = canvas.height = SIDE;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.#up(event));
    this.#paint();
  }

  get empty() {
    return this.strokes.length === 0;
  }

  /** Take everything off; from here on `sheet` is another object. */
  clear() {
    this.sheet = {};
    this.strokes = [];
    this.open.clear();
    this.picture = null;
    this.#paint();
  }

  /** Take the last stroke off; if a hand is still drawing it, what follows of it is no stroke. */
  undo() {
    const last = this.strokes.pop();
    this.open.forEach((stroke, pointer) => stroke === last && this.open.delete(pointer));
    this.#paint();
  }

  /** Put a picture (anything that a canvas can draw) onto the pad, in place of the drawing. */
  show(picture) {
    this.clear();
    this.picture = picture;
    this.#paint();
  }

  /** The drawing as a PNG: white on black, as the digits that the model learnt from. */
  exported() {
    const sheet = document.createElement("canvas");
    sheet.width = sheet.height = SENT;
    const pen = sheet.getContext("2d");
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, SENT, SENT);
    pen.scale(SENT / SIDE, SENT / SIDE);
    this.strokes.forEach((stroke) => drawn(pen, stroke));
    return sheet.toDataURL("image/png");
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  }

  #down(event) {
    if (event.button !== 0 || this.open.has(event.pointerId)) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    if (this.picture) this.clear();
    const stroke = { brush: this.brush, points: [this.#place(event)] };
    this.strokes.push(stroke);
    this.open.set(event.pointerId, stroke);
    this.onStart();
    this.#paint();
    this.onChange(false);
  }

  #move(event) {
    const stroke = this.open.get(event.pointerId);
    if (!stroke) return;
    const moves = event.getCoalescedEvents?.() ?? [];
    stroke.points.push(...(moves.length ? moves : [event]).map((move) => this.#place(move)));
    this.#paint();
    this.onChange(false);
  }

  #up(event) {
    if (!this.open.delete(event.pointerId)) return;
    this.onChange(this.open.size === 0);
  }

  #paint() {
    const pen = this.canvas.getContext("2d");
    pen.clearRect(0, 0, SIDE, SIDE);
    if (this.picture) contained(pen, this.picture);
    this.strokes.forEach((stroke) => drawn(pen, stroke));
  }
}

/** Where on the pad a picture of this size lies: as large as fits, in the middle. */
export function within({ width, height }) {
  const scale = SIDE / Math.max(width, height);
  return { left: (SIDE - width * scale) / 2, top: (SIDE - height * scale) / 2, scale };
}

/** A stroke through the middles of its segments, so that corners of a fast hand become curves. */
function drawn(pen, { brush, points }) {
  Object.assign(pen, { strokeStyle: "#fff", lineWidth: brush, lineCap: "round", lineJoin: "round" });
  const [[x, y], ...rest] = points;
  pen.beginPath();
  pen.moveTo(x, y);
  if (!rest.length) pen.lineTo(x + 0.01, y);
  points.slice(1).forEach(([nextX, nextY], place) => {
    const [lastX, lastY] = points[place];
    pen.quadraticCurveTo(lastX, lastY, (lastX + nextX) / 2, (lastY + nextY) / 2);
  });
  if (rest.length) pen.lineTo(...points.at(-1));
  pen.stroke();
}

function contained(pen, picture) {
  const width = picture.naturalWidth || picture.width;
  const height = picture.naturalHeight || picture.height;
  const { left, top, scale } = within({ width, height });
  const place = [left, top, width * scale, height * scale];
  const sheet = document.createElement("canvas");
  sheet.width = sheet.height = SIDE;
  const look = sheet.getContext("2d", { willReadFrequently: true });
  look.imageSmoothingEnabled = pen.imageSmoothingEnabled = scale < 1;
  look.drawImage(picture, ...place);
  if (unseen(look.getImageData(left, top, Math.ceil(place[2]), Math.ceil(place[3])).data)) {
    pen.fillStyle = "#fff";
    pen.fillRect(...place);
  }
  pen.drawImage(picture, ...place);
}

/** Whether pixels are transparent in parts and the others dark: they get white behind them, as for the model. */
function unseen(pixels) {
  let some = false;
  let clear = false;
  for (let at = 0; at < pixels.length; at += 4) {
    const share = pixels[at + 3] / 255;
    if (share * Math.max(pixels[at], pixels[at + 1], pixels[at + 2]) >= DARK) return false;
    some ||= share > 0;
    clear ||= share < 1;
  }
  return some && clear;
}
