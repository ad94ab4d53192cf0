/* The tables of work: choosing rows with the keyboard, a page at once, and a count of what is chosen. Without scripts the
   checkboxes and the buttons do the same. */
"use strict";

const KEPT = "bestknown shortcuts";
const dialog = document.querySelector("[data-shortcuts]");
const opener = document.querySelector("[data-shortcuts-open]");
const benches = [...document.querySelectorAll("[data-bench]")];

const boxesOf = (bench) => [...bench.querySelectorAll('input[name="row"]')];

function showChosen(bench) {
  if (!bench.querySelector("[data-page]")) return; // somebody who may look, and decide nothing
  const boxes = boxesOf(bench), chosen = boxes.filter((box) => box.checked).length;
  const page = bench.querySelector("[data-page]"), said = bench.querySelector("[data-chosen]");
  page.checked = chosen === boxes.length;
  page.indeterminate = chosen > 0 && chosen < boxes.length;
  said.textContent = chosen ? `${said.dataset.words} ${chosen}` : "";
}

for (const bench of benches) {
  const page = bench.querySelector("[data-page]");
  if (!page) continue;
  page.parentElement.hidden = false;
  page.addEventListener("change", () => {
    for (const box of boxesOf(bench)) box.checked = page.checked;
    showChosen(bench);
  });
  bench.addEventListener("change", () => showChosen(bench));
  showChosen(bench);
}

function areOn() {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

function step(by) {
  const focused = document.activeElement;
  const bench = focused.closest("[data-bench]") ?? benches[0];
  const boxes = boxesOf(bench), row = focused.closest("tr");
  const at = row ? boxes.findIndex((box) => row.contains(box)) : -1;
  boxes[Math.max(0, Math.min(boxes.length - 1, at + by))]?.focus();
}

if (benches.length && dialog) {
  const on = dialog.querySelector("[data-shortcuts-on]");
  on.checked = areOn();
  on.addEventListener("change", () => {
    try {
      localStorage.setItem(KEPT, on.checked ? "on" : "off");
    } catch { /* it holds for this page then */ }
  });
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest('select, textarea, input:not([type="checkbox"])');
    if (typing || dialog.open || event.ctrlKey || event.metaKey || event.altKey || !on.checked) return;
    const row = document.activeElement.closest("[data-bench] tr");
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x" && row) row.querySelector('input[name="row"]')?.click();
    else if (event.key === "o" && row) row.querySelector("th a")?.click();
    else if (event.key === "?") dialog.showModal();
    else return;
    event.preventDefault();
  });
}
