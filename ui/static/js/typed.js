/* What somebody types, chooses or ticks in a form stays in this tab until the server has taken it (typed.py), and is
   there again after Back, a reload or a failure. It is kept for one person, and forgotten when that person logs out. */
"use strict";

(() => {
  const template = document.getElementById("typed");
  const typist = template.dataset.typist;
  const boxes = "input:is([type=checkbox], [type=radio])";
  const kept = `textarea, select, ${boxes}, input:is(:not([type]), [type=text], [type=search], [type=email], [type=url], [type=tel], [type=number], [type=date])`;
  const changing = new Set(["csrfmiddlewaretoken", "typed_by", "typed_id", "seen", "expected"]);
  const isVolatile = (field) => changing.has(field.name) || field.name.endsWith("as_shown");
  const hidden = (form) => [...form.elements].filter((field) => field.type === "hidden");
  const secret = /password|secret|token|private|passphrase|^code$/i;
  const isBox = (field) => field.matches(boxes);
  const isRow = (field) => isBox(field) && field.closest("[data-bench]"); // what to do with it is asked on another page
  const isTyped = (field) => field.name && field.matches(kept) && !secret.test(field.name) && !isRow(field);
  const fields = (form) => [...form.elements].filter(isTyped);
  const chosen = (options) => options.map((option) => option.value).join("\n");
  function cookie(name) {
    try {
      return document.cookie.split("; ").find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    } catch {
      return undefined; // in a frame that may not have any
    }
  }

  const pathOf = (form) => new URL(form.getAttribute("action") ?? "", window.location.href).pathname;

  // --- what is kept

  function valueOf(field) {
    if (isBox(field)) return field.checked ? "on" : "";
    return field.options ? chosen([...field.selectedOptions]) : field.value;
  }

  // What the page came with.
  function defaultOf(field) {
    if (isBox(field)) return field.defaultChecked ? "on" : "";
    if (!field.options) return field.defaultValue;
    const selected = [...field.options].filter((option) => option.defaultSelected);
    return chosen(field.multiple || selected.length ? selected : [...field.options].slice(0, 1));
  }

  // A form is known by where it goes, by what it is about, and by what can be typed, chosen or ticked in it.
  const nameOf = (field) => (isBox(field) ? `${field.name}=${field.value}` : field.name);
  function key(form) {
    const about = hidden(form).filter((field) => !isVolatile(field)).map((field) => `${field.name}=${field.value}`);
    return `typed ${JSON.stringify([typist, pathOf(form), ...about, ...fields(form).map(nameOf)])}`;
  }

  function read(name) {
    try {
      return JSON.parse(sessionStorage.getItem(name));
    } catch {
      return null; // this browser keeps nothing
    }
  }

  function write(name, entry) {
    try {
      if (entry) sessionStorage.setItem(name, JSON.stringify(entry));
      else sessionStorage.removeItem(name);
    } catch { /* this browser keeps nothing, or is full */ }
  }

  function names() {
    try {
      return Object.keys(sessionStorage).filter((name) => name.startsWith("typed "));
    } catch {
      return [];
    }
  }

  function keep(form) {
    const name = key(form);
    const before = read(name);
    const typed = fields(form).map(valueOf);
    if (!before && fields(form).every((field) => valueOf(field) === defaultOf(field))) return null;
    const shown = hidden(form).find((field) => field.name.endsWith("as_shown"))?.value ?? "";
    const entry = { id: before?.id ?? Math.random().toString(36).slice(2), typed, shown };
    write(name, entry);
    return entry;
  }

  // --- what is there again

  function restore(form) {
    const name = key(form);
    const entry = read(name);
    if (!entry || entry.typed.length !== fields(form).length) return;
    const shown = hidden(form).find((field) => field.name.endsWith("as_shown"));
    const differing = fields(form).filter((field, index) => valueOf(field) !== entry.typed[index]);
    if (!differing.length) {
      keep(form); // the page shows it, beside what is stored now
      return;
    }
    const before = new Map(differing.map((field) => [field, valueOf(field)]));
    const shownBefore = shown?.value;
    fields(form).forEach((field, index) => put(field, entry.typed[index]));
    if (shown) shown.value = entry.shown; // it was written beside what was stored then
    const notice = template.content.firstElementChild.cloneNode(true);
    notice.querySelector("button").addEventListener("click", () => {
      before.forEach((value, field) => put(field, value));
      if (shown) shown.value = shownBefore;
      write(name, null);
      notice.remove();
      differing[0].focus();
    });
    form.prepend(notice);
  }

  function put(field, value) {
    if (valueOf(field) === value) return;
    if (isBox(field)) field.checked = value === "on";
    else if (field.multiple) [...field.options].forEach((option) => (option.selected = value.split("\n").includes(option.value)));
    else field.value = value;
    const folded = field.closest("details");
    if (folded) folded.open = true;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // --- when

  const isKept = (form) => form?.getAttribute("method") === "post" && fields(form).length > 0;

  // The address says what has been taken, or a cookie does.
  const [, named, onward] = window.location.hash.match(/^#taken-(\w+)(?:\.(.*))?$/) ?? [];
  const taken = [named, cookie("taken")].filter(Boolean);
  names().filter((name) => taken.includes(read(name)?.id)).forEach((name) => write(name, null));
  if (onward) window.location.replace(`#${onward}`);
  else if (named) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  if (cookie("taken")) document.cookie = "taken=; path=/; max-age=0; samesite=lax";
  // Of another person nothing stays here.
  if (typist) names().filter((name) => !name.startsWith(`typed ["${typist}"`)).forEach((name) => write(name, null));
  const known = new Set();
  for (const form of document.forms) {
    if (!isKept(form) || known.has(key(form))) continue;
    known.add(key(form));
    restore(form);
  }

  document.addEventListener("input", ({ target }) => {
    if (target.matches(kept) && isKept(target.form)) keep(target.form);
  });

  // Before anything else hears of it: what is sent says by which name it is kept, and has the token of the log-in of now.
  document.addEventListener("submit", ({ target: form }) => {
    if (form.getAttribute("method") !== "post") return;
    const token = form.querySelector("[name=csrfmiddlewaretoken]");
    const current = cookie(template.dataset.token);
    if (token && current) token.value = current;
    if (pathOf(form) === template.dataset.logout) names().forEach((name) => write(name, null));
    const entry = isKept(form) && keep(form);
    if (!entry) return;
    let field = form.querySelector("[name=typed_id]");
    if (!field) {
      field = Object.assign(document.createElement("input"), { type: "hidden", name: "typed_id" });
      form.append(field);
    }
    field.value = entry.id;
  }, true);
})();
