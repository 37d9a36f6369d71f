/** A report: an overview, filters, and a player for each picture, made when it comes into sight. */

import { element, percent } from "./elements.js";
import { MemoryView } from "./memory.js";
import { NOTHING, Player, several, strange } from "./player.js";
import { themed } from "./theme.js";

const AHEAD = "900px";

const part = (id) => document.getElementById(id);

/** A card for each stored look; only what its tag says is read now, its JSON when it is seen. */
const cards = [...document.querySelectorAll("script.look")].map((stored, place) => {
  const { name, found, prediction = null, confidence = 0 } = stored.dataset;
  const says = () => (prediction === null ? null : `${prediction}, ${percent(Number(confidence))}${several(Number(found))}`);
  const told = found === "0" ? NOTHING : says();
  const sure = told && element("p", { text: told });
  const header = element("header", {}, element("h2", { text: name }), sure);
  const whole = element("article", { class: "look still card" }, header);
  return { stored, place, name, prediction, confidence: Number(confidence), whole, seen: false };
});
const cardOf = new Map(cards.map((card) => [card.whole, card]));
const chosen = { prediction: null, words: "", order: "given" };

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) seen(cardOf.get(target));
}, { rootMargin: AHEAD });

function seen(card) {
  watcher.unobserve(card.whole);
  if (card.seen) return;
  card.seen = true;
  const look = JSON.parse(card.stored.textContent);
  let memory = null;
  const player = new Player(look, { onStep: (number) => memory?.show(number) });
  const notes = look.notes.length ? element("p", { class: "faint", text: `${look.notes.join("; ")}.` }) : null;
  card.whole.classList.remove("still");
  if (strange(look)) card.whole.querySelector("header p")?.replaceChildren(strange(look));
  card.whole.append(player.element, ...(notes ? [notes] : []));
  if (!look.memory) return;
  const inside = element("details", {}, element("summary", { text: "Inside the memory" }));
  inside.addEventListener("toggle", () => {
    if (memory) return;
    memory = new MemoryView(look);
    memory.show(player.number);
    inside.append(memory.element);
  });
  card.whole.append(inside);
}

/** Put the cards that were asked for on the page, in the order that was asked for. */
function arrange() {
  const words = chosen.words.toLowerCase();
  const found = cards.filter(({ name, prediction }) =>
    (chosen.prediction === null || prediction === chosen.prediction) && name.toLowerCase().includes(words));
  if (chosen.order === "unsure") found.sort((one, other) => one.confidence - other.confidence);
  if (chosen.order === "name") found.sort((one, other) => byName(one.name, other.name));
  part("looks").replaceChildren(...found.map(({ whole }) => whole));
  found.filter((card) => !card.seen).forEach(({ whole }) => watcher.observe(whole));
  part("found").textContent = found.length === cards.length ? "" : `${found.length} of ${cards.length} shown`;
}

/** A button for each predicted class, with how many there are; pressing it shows only those. */
function chips() {
  const classes = part("classes");
  const counts = new Map();
  for (const { prediction } of cards) counts.set(prediction, (counts.get(prediction) ?? 0) + 1);
  counts.delete(null);
  const chip = (prediction, text, count) => {
    const button = element("button", { type: "button", "aria-pressed": String(prediction === null) },
      text, element("small", { text: String(count) }));
    button.addEventListener("click", () => {
      chosen.prediction = prediction;
      for (const other of classes.children) other.setAttribute("aria-pressed", String(other === button));
      arrange();
    });
    return button;
  };
  const names = [...counts.keys()].sort(byName);
  if (!names.length) return;
  classes.append(chip(null, "all", cards.length), ...names.map((name) => chip(name, name, counts.get(name))));
}

function byName(one, other) {
  return one.localeCompare(other, undefined, { numeric: true });
}

part("total").textContent = String(cards.length);
part("total-unit").textContent = cards.length === 1 ? "picture" : "pictures";
part("name").addEventListener("input", () => {
  chosen.words = part("name").value;
  arrange();
});
part("order").addEventListener("change", () => {
  chosen.order = part("order").value;
  arrange();
});
themed(part("theme"));
chips();
arrange();
