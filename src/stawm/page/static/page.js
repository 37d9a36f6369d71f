/** The page of `stawm serve`: draw, upload or pick; watch the model look. */

import { Asker, fetched, Refused } from "./asking.js";
import { Pad } from "./draw.js";
import { element, percent, pixels } from "./elements.js";
import { MemoryView } from "./memory.js";
import { Overlay } from "./overlay.js";
import { NOTHING, Player, several, strange } from "./player.js";
import { Remember } from "./remember.js";
import { tabbed } from "./tabs.js";
import { themed } from "./theme.js";

const LIVE = 120;
const KEYS = ["ArrowLeft", "ArrowRight", " "];

const at = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
const state = { models: [], question: null, player: null, memory: null, timer: null, look: null, sheet: null };

const remembering = new Remember(at("scene-desk"), { complain, still });
const tabs = tabbed(() => {
  complain("");
  state.player?.pause();
});
const pad = new Pad(at("pad"), { onStart: started, onChange: inked });
const overlay = new Overlay(at("overlay"));
const asker = new Asker({
  onLook: looked,
  onRefused: (sentence, again) => {
    if (!again) dropped();
    failed(sentence);
  },
  onGone: () => failed("The server does not answer. Start `stawm serve` again; this page goes on by itself."),
  onBack: () => complain(""),
});

/** Tell what went wrong; a sentence that opens with a word, not with a file's name, gets its capital. */
function complain(sentence) {
  at("alert").textContent = sentence.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
}

/** Tell why there is no look; the outlines of the last one would be of another picture. */
function failed(sentence) {
  state.sheet = null;
  outline();
  complain(sentence);
}

/** Ask for a look; `play` says whether it is then played from its first glimpse. */
function ask(image, name, play) {
  const sheet = pad.empty && !pad.picture ? null : pad.sheet;
  state.question = { image, name, play, sheet, model: at("model").value || undefined, memory: unfolded() };
  asker.ask(state.question);
}

function again(play) {
  if (state.question) ask(state.question.image, state.question.name, play);
}

function started() {
  at("hint").textContent = "";
  invite();
  outline();
}

function inked(finished) {
  at("undo").disabled = false;
  if (finished) {
    clearTimeout(state.timer);
    state.timer = null;
    ask(pad.exported(), "drawing", true);
  } else if (state.timer === null) {
    state.timer = setTimeout(() => {
      state.timer = null;
      ask(pad.exported(), "drawing", false);
    }, LIVE);
  }
}

function invite() {
  at("invitation").hidden = !pad.empty || pad.picture !== null;
  at("undo").disabled = pad.empty;
}

function looked(look, question) {
  complain("");
  const step = question.play || state.look?.name !== look.name ? null : state.player?.number;
  state.player?.pause();
  Object.assign(state, { look, sheet: question.sheet });
  state.player = new Player(look, { onStep: stepped });
  at("player").replaceChildren(state.player.element);
  const size = `${look.image.width} × ${look.image.height}`;
  const prepared = `The model sees it prepared as ${size} pixels: ${look.notes.join("; ")}.`;
  at("notes").textContent = look.notes.length ? prepared : "";
  const says = () =>
    (strange(look) || `It says ${look.prediction}, ${percent(look.confidence)}`) + several(look.found);
  const seen = look.found === 0 ? NOTHING : "It has looked";
  at("status").textContent = look.prediction === null ? seen : says();
  remember();
  if (question.play && !still.matches) state.player.play({ restart: true });
  else if (step && !drawing()) state.player.step(step, { quiet: true });
  outline();
}

function stepped(number) {
  state.memory?.show(number);
  outline();
}

/** Show where the model looked, on the pad, if what it looked at is what lies there. */
function outline() {
  const wanted = at("outlines").checked && state.sheet === pad.sheet;
  if (wanted && state.player) overlay.show(state.look, state.player.number);
  else overlay.clear();
}

at("outlines").addEventListener("change", outline);

function drawing() {
  return pad.open.size > 0;
}

/** Show no look: the last one is of what no longer lies on the pad. */
function dropped() {
  state.player?.pause();
  Object.assign(state, { player: null, memory: null, look: null, sheet: null });
  outline();
  at("player").replaceChildren(element("p", { class: "waiting", text: "Nothing to look at yet." }));
  at("memory").replaceChildren();
  at("notes").textContent = at("status").textContent = "";
}

function emptied() {
  asker.forget();
  clearTimeout(state.timer);
  Object.assign(state, { question: null, timer: null });
  dropped();
  at("hint").textContent = "";
  complain("");
  invite();
}

function unfolded() {
  return at("memory-toggle").getAttribute("aria-expanded") === "true";
}

function remember() {
  state.memory = unfolded() && state.look?.memory ? new MemoryView(state.look) : null;
  at("memory").replaceChildren(...(state.memory ? [state.memory.element] : []));
  at("memory").hidden = !unfolded();
  if (state.memory) state.memory.show(state.player.number);
}

at("memory-toggle").addEventListener("click", () => {
  const open = !unfolded();
  at("memory-toggle").setAttribute("aria-expanded", String(open));
  at("memory-toggle").textContent = open ? "Hide the memory" : "Show the memory";
  remember();
  if (open && !state.memory) again(false);
});

at("brush").addEventListener("input", () => (pad.brush = Number(at("brush").value)));
pad.brush = Number(at("brush").value);
at("clear").addEventListener("click", () => {
  pad.clear();
  emptied();
});
at("undo").addEventListener("click", undo);

function undo() {
  pad.undo();
  if (pad.empty) return emptied();
  invite();
  ask(pad.exported(), "drawing", false);
}

/** Look at a file of the reader's; what is no picture is told by the server, in its words. */
async function opened(files) {
  if (!files.length) return;
  const [file] = files;
  const source = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("loadend", () => resolve(reader.result));
    reader.readAsDataURL(file);
  });
  if (!source) return complain(`${file.name} could not be read; choose another file`);
  await shown(source);
  const more = files.length > 1 ? `; the first of ${files.length}` : "";
  at("hint").textContent = `${file.name}${more}`;
  ask(source.slice(source.indexOf(",") + 1), file.name, true);
}

/** Put a picture onto the pad, if the browser can show it. */
async function shown(source) {
  const picture = new Image();
  picture.src = source;
  try {
    await picture.decode();
    pad.show(picture);
  } catch {
    pad.clear();
  }
  invite();
  outline();
}

async function picked(example) {
  await shown(example.png);
  at("hint").textContent = `An example: ${example.label}. Draw over it to try your own.`;
  ask(example.png, example.name, true);
}

at("upload").addEventListener("click", () => at("file").click());
at("file").addEventListener("change", async () => {
  await opened([...at("file").files]);
  at("file").value = "";
});
document.addEventListener("paste", (event) => {
  if (tabs.at("look")) opened([...(event.clipboardData?.files ?? [])]);
});
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  if (tabs.at("look")) document.body.classList.add("dropping");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (tabs.at("look")) opened([...(event.dataTransfer?.files ?? [])]);
});
document.addEventListener("keydown", (event) => {
  if (!tabs.at("look")) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && !pad.empty) undo();
  else if (event.target === document.body && KEYS.includes(event.key)) state.player?.key(event);
});

at("model").addEventListener("change", () => {
  describe();
  again(true);
});

function describe() {
  const model = state.models.find(({ name }) => name === at("model").value);
  if (!model) return;
  at("glimpses").textContent = String(model.glimpses);
  const digits = model.classes.every((name) => /^\d$/.test(name)) && model.image.channels === 1;
  at("task").textContent = digits ? "Draw a digit." : "Draw or upload a picture.";
  const tasks = [model.classifies && "says what it is", model.draws && "redraws what it saw"].filter(Boolean);
  at("tasks").textContent = tasks.join(" and ");
  at("model").title = model.about ?? "";
}

async function begin() {
  const [models, examples] = await Promise.all([fetched("/api/models"), fetched("/api/examples")]);
  const askable = models.filter(({ grid }) => grid);
  state.models = askable.length < models.length ? models.filter(({ grid }) => !grid) : models;
  remembering.begin(askable, examples);
  at("model").replaceChildren(...state.models.map((model) =>
    element("option", { value: model.name, text: model.name, selected: model.default, title: model.about })));
  describe();
  at("examples").replaceChildren(...examples.map((example) => element("button", {
    type: "button", "aria-label": `Example: a ${example.label}`, click: () => picked(example),
  }, pixels(example.png, "", { class: "pixels" }))));
  const first = examples.find(({ label }) => label === "3") ?? examples[0];
  if (first && pad.empty) await picked(first);
}

async function beginUntilAnswered() {
  try {
    await begin();
  } catch (failure) {
    if (failure instanceof Refused) return complain(failure.message);
    await asker.untilBack();
    await beginUntilAnswered();
  }
}

themed(at("theme"));
invite();
beginUntilAnswered();
