/* Settling disagreements with single keys. Without scripts the buttons do the same. */
"use strict";

const KEPT = "bestknown shortcuts"; // as in the tables of work
const on = document.querySelector("[data-shortcuts-on]");

if (on) {
  try {
    on.checked = localStorage.getItem(KEPT) !== "off";
  } catch { /* they are on then */ }
  on.addEventListener("change", () => {
    try {
      localStorage.setItem(KEPT, on.checked ? "on" : "off");
    } catch { /* it holds for this page then */ }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest('select, textarea, input:not([type="checkbox"])');
    if (typing || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !on.checked) return;
    const pressed = [...document.querySelectorAll("[data-press]")].find((button) => button.dataset.press === event.key);
    if (!pressed) return;
    event.preventDefault();
    pressed.click();
  });
}
