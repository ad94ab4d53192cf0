/* The parts of a page that htmx asks for again. A part in which somebody is reading or typing waits for its next turn,
   so nobody loses their place. What has changed is announced once. */
"use strict";

const announcement = document.getElementById("announcement");
let before;

function isInUse(part) {
  const selection = document.getSelection();
  return part.contains(document.activeElement) || (!selection.isCollapsed && selection.containsNode(part, true));
}

// A page that nobody sees asks for nothing, and catches up as soon as somebody looks, or the network is back.
const parts = () => document.querySelectorAll("[hx-get][hx-trigger^='every']");

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();
});

function catchUp() {
  if (document.hidden) return;
  for (const part of parts()) {
    htmx.ajax("GET", part.getAttribute("hx-get"), { source: part, target: part, swap: "outerHTML", select: part.getAttribute("hx-select") ?? undefined });
  }
}
document.addEventListener("visibilitychange", catchUp);
window.addEventListener("online", catchUp);
window.addEventListener("pageshow", (event) => event.persisted && catchUp()); // brought back from the history

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
