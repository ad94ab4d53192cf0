/* A page whose state changes is asked for again as a whole, and takes over what has changed in one step, so that what it
   says agrees with itself. What the reader does stays: focus, folds, what is typed. What has changed is announced once. */
"use strict";

(() => {
  const page = document.getElementById("main");
  const announcement = document.getElementById("announcement");
  let timer;
  let isAsking = false;

  // --- what is the same thing in both pages: never a button, link or row that does something else

  function key(node) {
    const own = node.id || node.getAttribute("aria-labelledby") || node.getAttribute("action") || node.getAttribute("href");
    if (own) return own;
    if (node.nodeName === "BUTTON") return `${node.name} ${node.value} ${node.textContent.trim()}`;
    const about = ["TR", "LI", "ARTICLE"].includes(node.nodeName) && node.querySelector("a[href], form");
    return about ? about.getAttribute("href") ?? about.getAttribute("action") : node.getAttribute("name") ?? "";
  }

  const isSame = (old, fresh) =>
    old.nodeName === fresh.nodeName && (old.nodeType !== Node.ELEMENT_NODE || key(old) === key(fresh));

  function change(old, fresh) {
    if (old === announcement || old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value, namespaceURI } of fresh.attributes) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttributeNS(namespaceURI, name, value);
    }
    let here = old.firstChild;
    for (const wanted of fresh.childNodes) {
      let found = here;
      while (found && !isSame(found, wanted)) found = wanted.nodeType === Node.ELEMENT_NODE ? found.nextSibling : null;
      if (!found) {
        old.insertBefore(document.importNode(wanted, true), here);
        continue;
      }
      if (found === here) here = here.nextSibling;
      else old.insertBefore(found, here);
      change(found, wanted);
    }
    while (here) {
      const gone = here;
      here = here.nextSibling;
      gone.remove();
    }
  }

  // --- what the reader would lose

  const isTyped = (field) =>
    field.matches("input:not([type=hidden]), textarea") &&
    (field.value !== field.defaultValue || Boolean(field.checked) !== Boolean(field.defaultChecked));

  function wouldLose(fresh) {
    const selection = document.getSelection();
    if (!selection.isCollapsed && selection.containsNode(page, true)) return true;
    const forms = [...fresh.querySelectorAll("form")];
    return [...page.querySelectorAll("form")].some(
      (form) => [...form.elements].some(isTyped) && !forms.some((other) => isSame(form, other)),
    );
  }

  // What was said when the page came is true until its state changes. What comes later of itself is asked for anew then.
  function keep(fresh, hasChanged) {
    const messages = page.querySelector(".messages");
    if (messages && !hasChanged && !fresh.querySelector(".messages")) {
      fresh.querySelector(".breadcrumbs").after(messages.cloneNode(true));
    }
    for (const part of page.querySelectorAll("[hx-trigger=load]")) {
      const other = fresh.querySelector(`[hx-trigger=load][hx-get="${part.getAttribute("hx-get")}"]`);
      if (other && !hasChanged) other.innerHTML = part.innerHTML;
      else part.remove();
    }
    for (const part of hasChanged ? [] : page.querySelectorAll(".marks, .readout")) {
      const other = fresh.querySelector(`#${part.id}`);
      if (other) other.innerHTML = part.innerHTML;
    }
  }

  // --- asking

  function wait() {
    clearTimeout(timer);
    if (page.dataset.refresh) timer = setTimeout(ask, 1000 * page.dataset.refresh);
  }

  // A page that nobody sees asks for nothing, and catches up as soon as somebody looks, or the network is back.
  async function ask() {
    if (document.hidden || isAsking || !page.dataset.refresh) return;
    isAsking = true;
    let text = "";
    try {
      const answer = await fetch(window.location.href, { headers: { "HX-Request": "true" }, redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        window.location.reload(); // it leads on, or the log-in has ended
        return;
      }
      if (answer.ok) text = await answer.text();
    } catch { /* without a network it is asked for again */ }
    isAsking = false;
    wait();
    if (text) show(new DOMParser().parseFromString(text, "text/html"));
  }

  function show(document_) {
    const fresh = document_.getElementById("main");
    if (!fresh || wouldLose(fresh)) return;
    const said = page.dataset.announce;
    const focused = document.activeElement;
    keep(fresh, fresh.dataset.announce !== said);
    document.title = document_.title;
    change(page, fresh);
    htmx.process(page);
    wait();
    if (focused !== document.activeElement) (focused.isConnected ? focused : page).focus({ preventScroll: true });
    if (page.dataset.announce !== said) announcement.textContent = page.dataset.announce;
  }

  document.addEventListener("visibilitychange", ask);
  window.addEventListener("online", ask);
  window.addEventListener("pageshow", (event) => event.persisted && ask()); // brought back from the history
  wait();
})();
