/* A task in progress: counts down, and notices when the work has been submitted. The page works without this script. */
"use strict";

const bar = document.querySelector(".workbar");
const left = document.getElementById("left");
const announcement = document.getElementById("announcement");
const words = document.getElementById("words").dataset;
const frame = document.querySelector("iframe");
const end = performance.now() + bar.dataset.seconds * 1000;
let before = Infinity;
let over = false;
let ticks = 0;

const announce = (text) => { announcement.textContent = text; };

function draw() {
  const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
  const parts = [[86400, words.day], [3600, words.hour], [60, words.minute], [1, words.second]];
  let rest = seconds;
  const shown = parts.map(([size, unit]) => { const count = Math.floor(rest / size); rest -= count * size; return [count, unit]; });
  const first = Math.min(shown.findIndex(([count]) => count) < 0 ? 3 : shown.findIndex(([count]) => count), 3);
  left.textContent = shown.slice(first, first + 2).map((part) => part.join(" ")).join(" ");
  for (const [limit, text] of [[300, words.five], [60, words.one]]) {
    if (before > limit && seconds <= limit && before !== Infinity) announce(text);
  }
  bar.classList.toggle("soon", seconds <= 300);
  before = seconds;
  if (!seconds && ticks++ % 5 === 0) check();
}

async function check() {
  if (over) return;
  let answer;
  try {
    const response = await fetch(bar.dataset.state, { headers: { Accept: "application/json" } });
    if (!response.ok) return;
    answer = await response.json();
  } catch { return; }
  if (answer.state === "Accepted" || over) return;
  over = true;
  clearInterval(clock);
  if (answer.state !== "Abandoned" && answer.state !== "Returned") {
    window.location.reload(); // it says what became of the work, and what comes next
    return;
  }
  document.getElementById("over").hidden = false;
  for (const done of [document.getElementById("not-in"), document.getElementById("check"), bar.querySelector("a")]) done.hidden = true;
}

const clock = setInterval(draw, 1000);
draw();
/* The answer page in the frame says so; but it is believed only when the marketplace says the same. */
document.getElementById("check").addEventListener("click", async (event) => {
  event.preventDefault();
  await check();
  if (!over) document.getElementById("not-in").hidden = false;
});
addEventListener("message", (event) => { if (event.source === frame.contentWindow && event.data === "marketplace:submitted") check(); });
frame.addEventListener("load", check);

/* The keyboard starts in the task: the next Tab, or a key of the task's own, is for it. */
addEventListener("load", () => { if (!document.activeElement || document.activeElement === document.body) frame.focus({ preventScroll: true }); });
