/** Light or dark: as the system says, until the reader chooses. */

const KEPT = "stawm-theme";

/** Let `button` switch between light and dark, and remember the choice where the browser allows it. */
export function themed(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered();
  const apply = () => {
    if (chosen) document.documentElement.dataset.theme = chosen;
    const dark = (chosen ?? (system.matches ? "dark" : "light")) === "dark";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    chosen = (chosen ?? (system.matches ? "dark" : "light")) === "dark" ? "light" : "dark";
    remember(chosen);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

function remembered() {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "dark" || kept === "light" ? kept : null;
  } catch {
    return null;
  }
}

function remember(choice) {
  try {
    localStorage.setItem(KEPT, choice);
  } catch {
    // A page from disk may keep nothing: the choice lasts as long as the page.
  }
}
