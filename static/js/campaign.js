/* The form of a campaign: choosing many runs at once, and finding them by name; having pairs judged again. Without this
   script, each run is ticked, and the settings say what is reused. */
"use strict";

(() => {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-reuse]");
    if (!button) return;
    const reuse = document.getElementById("id_reuse");
    reuse.value = button.dataset.reuse;
    reuse.dispatchEvent(new Event("change", { bubbles: true }));
  });

  const tools = document.getElementById("run-tools");
  const boxes = [...document.querySelectorAll("input[name=runs]")];
  const all = document.querySelector("input[name=all_runs]");
  if (!tools || !boxes.length) return;

  const list = boxes[0].closest("fieldset");
  list.insertBefore(tools.content.cloneNode(true), list.querySelector("legend").nextSibling);
  const filter = document.getElementById("run-filter");
  const count = document.getElementById("run-count");
  const row = (box) => box.closest("label").parentElement;
  const shown = () => boxes.filter((box) => !row(box).hidden);

  function tell() {
    list.disabled = Boolean(all && all.checked); // then no box counts
    const ticked = boxes.filter((box) => box.checked).length;
    count.textContent = list.disabled ? "" : count.dataset.text.replace("{n}", ticked);
  }

  function tick(checked) {
    for (const box of shown()) box.checked = checked;
    tell();
    boxes[0].dispatchEvent(new Event("change", { bubbles: true }));
  }

  filter.addEventListener("input", (event) => {
    event.stopPropagation();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const box of boxes) {
      const name = row(box).textContent.toLowerCase();
      row(box).hidden = !words.every((word) => name.includes(word));
    }
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  document.getElementById("run-all").addEventListener("click", () => tick(true));
  document.getElementById("run-none").addEventListener("click", () => tick(false));
  list.form.addEventListener("change", tell);
  tell();
})();
