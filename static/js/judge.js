// One item of the judging page: save each choice at once, keep trying until it is saved, and say so.
//
// Without this script the page works too: its buttons submit the form. The rules here:
// - `wanted` is what the person chose last, `saved` what the server is known to hold: null while a request is under
//   way, and after one whose fate is unknown;
// - one request is under way at a time, then the newest choice goes, so answers cannot overtake each other;
// - a double click sends its choice once; a later click says it again, which the server stores only if it is news;
// - another tab on the same question shows what was saved here;
// - Continue and Back wait until the choice is saved; other ways out ask first;
// - a press belongs to the page on which it was made.
"use strict";

// ---- Whose press it is ----
//
// What appears by itself, once a choice is saved, may do so between the two presses of a double click, or under a finger
// that is still down. This runs before anything is drawn (the page loads this script without `defer`), so that nothing
// is pressed before it.

const DOUBLE_CLICK = 400; // ms
const WENT_ON = "bestknown.went-on";

let quietUntil = 0; // no press that began before this counts: ms, as an event's timeStamp
let pressedAt = null; // when a pointer last went down on this page

function cameByItself() {
  try {
    const came = window.sessionStorage.getItem(WENT_ON) !== null;
    window.sessionStorage.removeItem(WENT_ON);
    return came;
  } catch {
    return true; // a frame without storage: it may have
  }
}

if (cameByItself()) {
  quietUntil = Infinity;
  document.addEventListener("DOMContentLoaded", () => {
    // The second frame begins once the first has been drawn.
    requestAnimationFrame(() => {
      requestAnimationFrame((drawn) => {
        quietUntil = drawn + DOUBLE_CLICK;
      });
    });
  });
}

document.addEventListener(
  "pointerdown",
  (event) => {
    pressedAt = event.timeStamp;
  },
  true,
);
document.addEventListener(
  "click",
  (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("button")) return;
    // A pointer's click (detail > 0) that did not go down here is of a finger that went down on the last page, or of
    // some screen reader: it counts a moment later.
    const began = event.detail > 0 ? (pressedAt ?? event.timeStamp - DOUBLE_CLICK) : event.timeStamp;
    if (began >= quietUntil) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);

document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("item");
  if (!form || !window.fetch) return;
  document.documentElement.classList.add("js");

  const PATIENCE = 20_000; // ms until an unanswered request counts as failed
  const LONGEST_WAIT = 15_000; // ms between tries, unless the server asks for more

  const text = form.dataset;
  const language = document.documentElement.lang;
  const buttons = [...form.querySelectorAll("button[name=preferred]")];
  const cards = [...form.querySelectorAll(".passage")];
  const state = document.getElementById("state");
  const onward = document.getElementById("continue");
  const back = document.getElementById("back");
  const refused = document.getElementById("refused");
  const next = onward.href;

  let saved = text.preferred || null;
  let wanted = saved;
  let reported = "reported" in text; // the worker said that something is wrong: it is answered until they choose
  let acknowledged = saved; // what stands if a choice is refused
  let sending = false;
  let failures = 0;
  let timer = 0;
  let goingTo = null; // where to, as soon as the choice is saved
  let gone = false;
  let goesOn = false; // by itself, once a choice is saved: only if the person turned it on

  // ---- What the page shows ----

  function show(kind) {
    const words = kind ? text["text" + kind[0].toUpperCase() + kind.slice(1)] : "";
    if (state.textContent !== words) state.textContent = words;
    state.className = kind ? `state ${kind}` : "state";
  }

  function mark() {
    for (const card of cards) {
      const chosen = card.dataset.side === wanted;
      card.classList.toggle("chosen", chosen);
      card.querySelector(".mark").hidden = !chosen;
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === wanted));
    if (wanted || reported) {
      onward.href = next;
      onward.removeAttribute("aria-disabled");
      onward.removeAttribute("role");
    } else {
      onward.removeAttribute("href");
      onward.setAttribute("role", "link");
      onward.setAttribute("aria-disabled", "true");
    }
  }

  // What a browser's translation leaves in a page: Chrome's class and <font>, Edge's attribute, Firefox's language.
  function isTranslated() {
    const { lang, classList } = document.documentElement;
    const classes = ["translated-ltr", "translated-rtl"];
    return (
      lang !== language ||
      classes.some((name) => classList.contains(name)) ||
      form.querySelector("font, [_msttexthash]") !== null
    );
  }

  // ---- Saving ----

  function choose(side) {
    refused.hidden = true;
    if (side === wanted && sending) return;
    if (side !== wanted) goingTo = null;
    reported = false;
    wanted = side;
    if (!sending) saved = null; // another tab or device may have saved something else since
    mark();
    failures = 0;
    if (goesOn) goingTo = next;
    save();
  }

  async function save() {
    clearTimeout(timer);
    timer = 0;
    if (sending) return; // settle() goes on with the newest choice
    if (wanted === saved) return settle();
    sending = true;
    guard();
    if (state.className !== "state unsaved") show("saving");

    const side = wanted;
    saved = null;
    let wait = Math.min(LONGEST_WAIT, 1000 * 2 ** failures);
    let refusal = null;
    const patience = new AbortController();
    const alarm = setTimeout(() => patience.abort(), PATIENCE);
    try {
      const answer = await fetch(text.save, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify({ preferred: side, shown: form.elements.shown.value, translated: isTranslated() }),
        credentials: "omit",
        redirect: "error",
        cache: "no-store",
        keepalive: true,
        signal: patience.signal,
      });
      const later = [408, 425, 429].includes(answer.status) || answer.status >= 500;
      if (answer.status >= 400 && !later) {
        refusal = text.textRefused;
        refusal = (await answer.json().catch(() => ({}))).error || refusal;
      } else if (answer.ok) {
        const told = await answer.json(); // a page of some café's network is not an acknowledgment
        if (told.saved === true && told.preferred === side) {
          saved = acknowledged = side;
          failures = 0;
          progress(told);
          if (tabs) tabs.postMessage(told);
        }
      } else {
        wait = Math.max(wait, Math.min(60, Number(answer.headers.get("Retry-After")) || 0) * 1000);
      }
    } catch {
      // No network, no answer in time, or no JSON: not saved, and tried again below.
    }
    clearTimeout(alarm);
    sending = false;
    if (refusal && wanted === side) return refuse(refusal);
    if (wanted !== side || saved === side) return save(); // a newer choice, or nothing left to do
    failures += 1;
    show("unsaved");
    timer = setTimeout(save, wait);
  }

  function settle() {
    guard();
    if (goingTo) return goByItself(goingTo);
    show(saved ? "saved" : null);
  }

  function refuse(sentence) {
    wanted = saved = acknowledged;
    goingTo = null;
    mark();
    show(null);
    guard();
    document.getElementById("refused-text").textContent = sentence;
    refused.hidden = false;
    refused.scrollIntoView({ block: "nearest" });
  }

  function progress(told) {
    const meter = document.getElementById("progress");
    if (meter && Number.isFinite(told.answered)) meter.value = told.answered;
    const owed = document.getElementById("owed");
    if (owed && told.owed) owed.textContent = told.owed;
  }

  // ---- Going on ----

  function ask(event) {
    event.preventDefault();
    event.returnValue = true;
  }

  // Warn of leaving only while there is something to lose: a standing listener would keep the page out of bfcache.
  function guard() {
    if (wanted !== saved) window.addEventListener("beforeunload", ask);
    else window.removeEventListener("beforeunload", ask);
  }

  function go(url) {
    if (gone) return;
    gone = true;
    window.location.assign(url);
  }

  function goByItself(url) {
    try {
      window.sessionStorage.setItem(WENT_ON, "1");
    } catch {
      // the next page takes it that it may have come by itself
    }
    go(url);
  }

  function leaveFor(url) {
    if (wanted === saved) return go(url);
    goingTo = url;
    if (!sending) save();
  }

  onward.hidden = false;
  onward.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (wanted || reported) leaveFor(next);
    else show("choose");
  });
  if (back) {
    back.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      leaveFor(back.href);
    });
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter && event.submitter.name === "preferred") choose(event.submitter.value);
  });
  for (const button of buttons) {
    // After a click with a pointer, Enter means Continue; after the keyboard, the button stays the keyboard's.
    button.addEventListener("click", (event) => {
      if (event.detail > 0) setTimeout(() => button.blur());
    });
  }

  window.addEventListener("online", () => {
    if (timer) save();
  });
  // What is not saved yet here is said after it was said there, so it stands.
  const tabs = window.BroadcastChannel ? new BroadcastChannel(`bestknown.${text.name}`) : null;
  if (tabs) {
    tabs.addEventListener("message", (event) => {
      if (wanted !== saved) return;
      wanted = saved = acknowledged = event.data.preferred;
      mark();
      progress(event.data);
      show("saved");
    });
  }
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload(); // what stands here may be older than what is saved
  });

  // ---- Keys, which can be turned off ----

  // A switch that this browser remembers. Inside some frames there is no storage: it holds for the page, then.
  function remember(name, change) {
    let on = false;
    try {
      on = window.localStorage.getItem(name) === "1";
    } catch {
      // off
    }
    change(on);
    return () => {
      on = !on;
      change(on);
      try {
        window.localStorage.setItem(name, on ? "1" : "0");
      } catch {
        // until the page is left
      }
    };
  }

  const keys = document.getElementById("keys");
  let keysOff = false;
  const turnKeys = remember("bestknown.keys-off", (off) => {
    keysOff = off;
    keys.classList.toggle("off", off);
  });
  document.getElementById("keys-toggle").addEventListener("click", turnKeys);

  const onwards = document.getElementById("goes-on");
  onwards.addEventListener(
    "click",
    remember("bestknown.goes-on", (on) => {
      goesOn = on;
      onwards.setAttribute("aria-pressed", String(on));
    }),
  );
  onwards.hidden = false;

  // ---- Long passages: in full or folded to one height, and one's place in them for when one comes back ----

  const texts = [...form.querySelectorAll(".passage .text")];
  const unfolds = document.getElementById("unfolds");
  unfolds.hidden = !texts.some((passage) => passage.scrollHeight > passage.clientHeight + 1);
  unfolds.addEventListener(
    "click",
    remember("bestknown.unfolded", (on) => {
      form.classList.toggle("unfolded", on);
      unfolds.setAttribute("aria-pressed", String(on));
    }),
  );

  const place = `bestknown.place.${text.name}`;
  const scrolled = [document.scrollingElement, ...texts];
  try {
    JSON.parse(window.sessionStorage.getItem(place) || "[]").forEach((top, n) => (scrolled[n].scrollTop = top));
  } catch {
    // from the top
  }
  window.addEventListener("pagehide", () => {
    try {
      window.sessionStorage.setItem(place, JSON.stringify(scrolled.map((element) => element.scrollTop)));
    } catch {
      // a frame without storage
    }
  });

  const SIDE = { a: "left", 1: "left", arrowleft: "left", b: "right", 2: "right", arrowright: "right" };

  // The letter or digit that is meant: where a layout has another script there, or a sign, the one of the key's place.
  function keyOf(event) {
    const key = event.key.toLowerCase();
    if (event.shiftKey || [...key].length > 1 || /[a-z0-9]/.test(key)) return key;
    const place = /^(?:Key|Digit)(.)$/.exec(event.code);
    return place ? place[1].toLowerCase() : key;
  }

  document.addEventListener("keydown", (event) => {
    if (keysOff || event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (!(event.target instanceof Element) || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const key = keyOf(event);
    if (event.shiftKey && key.startsWith("arrow")) return; // that selects text
    if (SIDE[key]) {
      event.preventDefault();
      if (event.timeStamp >= quietUntil) choose(SIDE[key]);
    } else if (key === "enter" && !event.target.closest("a, button, summary")) {
      event.preventDefault();
      onward.click();
    } else if (key === "p" && back) {
      event.preventDefault();
      back.click();
    }
  });

  // ---- Time left, by the minute; measured from the page's arrival, so that a wrong clock does no harm ----

  const left = document.getElementById("left");
  if (left && left.dataset.minutes) {
    const arrived = Date.now();
    const atFirst = Number(left.dataset.minutes);
    const tell = () => {
      const passed = (Date.now() - arrived) / 60_000;
      const minutes = Math.max(0, Math.ceil(atFirst - passed));
      const late = passed > atFirst + 1; // the server gave whole minutes
      const words = late
        ? left.dataset.textLate
        : minutes >= 180
          ? left.dataset.textHours.replace("{n}", Math.round(minutes / 60))
          : left.dataset.textMinutes.replace("{n}", minutes);
      left.classList.toggle("late", late);
      if (left.textContent.trim() !== words) left.textContent = words;
      if (late) clearInterval(ticking);
    };
    const ticking = setInterval(tell, 5_000);
  }

  // A question so long that it scrolls must scroll with keys too.
  const question = document.getElementById("ask");
  if (question.scrollHeight > question.clientHeight + 1) question.tabIndex = 0;

  mark();
});
