/* A slash goes to the search, unless somebody is writing. */
"use strict";

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writing) return;
  const field = document.getElementById("search");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
