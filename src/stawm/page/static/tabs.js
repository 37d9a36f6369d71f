/** Two tabs of one page, by the part of its address after #: links, so that they are reached and go back like any. */

const NAMES = ["look", "remember"];

/** Show the parts of the page (`data-tab`) that belong to its address; `onChange` hears when that is another one. */
export function tabbed(onChange) {
  let now = null;
  const show = () => {
    const named = location.hash.slice(1);
    if (now !== null && !NAMES.includes(named)) return; // a place on the page
    const next = NAMES.includes(named) ? named : NAMES[0];
    if (next === now) return;
    const before = now;
    now = next;
    document.querySelectorAll("[data-tab]").forEach((part) => (part.hidden = part.dataset.tab !== now));
    for (const name of NAMES) {
      const link = document.getElementById(`to-${name}`);
      if (name === now) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (before !== null) {
      window.scrollTo(0, 0);
      onChange(now);
    }
  };
  addEventListener("hashchange", show);
  show();
  return { at: (name) => name === now };
}
