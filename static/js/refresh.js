/* The parts of a page that htmx asks for again. A part in which somebody is reading or typing waits for its next turn,
   so nobody loses their place. What has changed is announced once. */
"use strict";

const announcement = document.getElementById("announcement");
let before;

function isInUse(part) {
  const selection = document.getSelection();
  return part.contains(document.activeElement) || (!selection.isCollapsed && selection.containsNode(part, true));
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, xhr, requestConfig } = event.detail;
  before = target.dataset.announce;
  if (new URL(xhr.responseURL).pathname !== new URL(requestConfig.path, window.location.href).pathname) {
    event.detail.shouldSwap = false;
    window.location.reload(); // the log-in has ended
  } else if (isInUse(target)) {
    event.detail.shouldSwap = false;
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  const after = document.getElementById(event.detail.target.id)?.dataset.announce;
  if (after && after !== before) announcement.textContent = after;
});
