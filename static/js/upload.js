/* Files and folders that are chosen or dropped are sent one by one, with progress; without this script, the form sends
   them all at once. A form that has no address for files yet (a new collection) is sent first, without them: the answer
   leads to the page that takes them. */
"use strict";

const form = document.querySelector("form[data-upload]");
const area = form.querySelector("[data-drop]");
const plain = area.querySelector("#id_files");
const folder = area.querySelector("#id_folder");
const list = area.querySelector("[data-chosen]");
const status = area.querySelector("[data-status]");
const button = form.querySelector("button[type=submit]");
const chosen = [];
let address = "takes" in form.dataset ? form.action : null;

area.querySelector("[data-folder]").hidden = false; // with buttons for files and for a folder
plain.classList.add("visually-hidden"); // it says that no file is chosen, since those that were are in the list
area.querySelector("[data-plain]").hidden = true;

function add(file) {
  if (file.name.startsWith(".")) return; // what systems leave in folders
  const row = document.createElement("li");
  const name = document.createElement("span");
  const told = document.createElement("span");
  const remove = document.createElement("button");
  const entry = { file, row, told, sent: false };
  name.textContent = file.name;
  told.className = "quiet";
  told.textContent = list.dataset.waiting;
  remove.type = "button";
  remove.className = "link-button";
  remove.textContent = list.dataset.remove;
  remove.setAttribute("aria-label", `${list.dataset.remove}: ${file.name}`);
  remove.addEventListener("click", () => {
    chosen.splice(chosen.indexOf(entry), 1);
    row.remove();
  });
  row.append(name, " ", told, " ", remove);
  list.append(row);
  chosen.push(entry);
}

function take(input) {
  [...input.files].forEach(add);
  input.value = "";
}

plain.addEventListener("change", () => take(plain));
folder.addEventListener("change", () => take(folder));

async function addEntry(entry) {
  if (entry.isFile) {
    add(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a browser gives a folder's entries in parts
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return;
    for (const inner of part) await addEntry(inner);
  }
}

area.addEventListener("dragover", (event) => {
  event.preventDefault();
  area.classList.add("over");
});
area.addEventListener("dragleave", () => area.classList.remove("over"));
area.addEventListener("drop", async (event) => {
  event.preventDefault();
  area.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  for (const entry of entries) await addEntry(entry);
});

async function send(entry) {
  const data = new FormData();
  data.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  if (list.dataset.direct && entry.file.size >= Number(list.dataset.large)) {
    try {
      const token = await sendDirectly(entry.file, list, (received) => {
        entry.told.textContent = `${Math.floor((100 * received) / entry.file.size)}%`;
      });
      data.append("files-token", token);
    } catch (error) {
      entry.told.textContent = error.message || list.dataset.failed;
      entry.told.classList.add("wrong");
      return;
    }
  } else {
    data.append("files", entry.file, entry.file.name);
  }
  await post(data, entry);
}

function post(data, entry) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable && data.has("files")) entry.told.textContent = `${Math.floor((100 * event.loaded) / event.total)}%`;
    });
    request.addEventListener("loadend", () => {
      entry.sent = request.status === 201;
      let error = request.status ? list.dataset.broken : list.dataset.failed; // 0: no answer came
      try {
        error = JSON.parse(request.responseText).error || error;
      } catch {
        // not an answer of the page's own
      }
      entry.told.textContent = entry.sent ? list.dataset.sent : error;
      entry.told.classList.toggle("wrong", !entry.sent);
      resolve();
    });
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.send(data);
  });
}

async function open() {
  const data = new FormData(form);
  data.delete("files");
  const response = await fetch(form.action, { method: "POST", body: data });
  return new URL(response.url).pathname.includes("/files/") ? response.url : null;
}

function stay(event) { // while files are sent, the browser asks before the page is left
  event.preventDefault();
}

form.addEventListener("submit", async (event) => {
  if (!chosen.length) return; // the form goes on by itself, and says what is missing
  event.preventDefault();
  button.disabled = true;
  try {
    address ??= await open();
  } catch {
    button.disabled = false;
    status.textContent = list.dataset.failed;
    return;
  }
  if (!address) {
    form.submit(); // the page says what is wrong with its fields
    return;
  }
  window.addEventListener("beforeunload", stay);
  const waiting = chosen.filter((entry) => !entry.sent);
  for (const [index, entry] of waiting.entries()) {
    const numbers = [index + 1, waiting.length];
    status.textContent = status.dataset.sending.replace(/#/g, () => numbers.shift());
    await send(entry);
  }
  window.removeEventListener("beforeunload", stay);
  if (chosen.every((entry) => entry.sent)) {
    window.location.assign(address);
    return;
  }
  button.disabled = false;
  status.textContent = status.dataset.some;
  const see = area.querySelector("[data-see]");
  see.hidden = false;
  see.querySelector("a").href = address;
});
