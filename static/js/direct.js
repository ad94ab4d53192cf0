/* Large files are sent straight to the bucket, in parts. What breaks off goes on with the parts that are missing: by
   itself for a while, then when it is sent again, and when the same file is chosen again on another day's page. Without
   this script, or a bucket, the form sends its file itself. */
"use strict";

const TRIES = 6; // without any part in between

/* Send a file, and call `tell` with how many bytes have arrived. Gives its token; throws an error whose message is the
   site's, or empty where nothing answers. `area` is the element that says where to ask. */
async function sendDirectly(file, area, tell) {
  const key = `upload ${file.name} ${file.size} ${file.lastModified}`;

  async function ask(address, fields) {
    const headers = { Accept: "application/json", "X-CSRFToken": area.closest("form").elements.csrfmiddlewaretoken.value };
    const response = await fetch(address, { method: "POST", headers, body: new URLSearchParams(fields) });
    const answer = await response.json();
    if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
    return answer;
  }

  function put(part, received) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.upload.addEventListener("progress", (event) => tell(received + event.loaded));
      request.addEventListener("loadend", () => (request.status === 200 ? resolve() : reject(new Error(""))));
      request.open("PUT", part.url);
      request.send(file.slice(part.start, part.start + part.size));
    });
  }

  function keep(token) {
    try {
      localStorage.setItem(key, token);
    } catch {
      // a browser that keeps nothing begins again on the next page
    }
    return token;
  }

  let token = null;
  try {
    token = localStorage.getItem(key);
  } catch {
    // likewise
  }
  let tries = 0;
  for (;;) {
    try {
      const answer = await (token
        ? ask(`${area.dataset.direct}${encodeURIComponent(token)}/`, {})
        : ask(area.dataset.direct, { name: file.name, size: file.size }));
      token = keep(answer.token);
      tell(answer.received);
      if (!answer.parts.length) return answer.token;
      for (const part of answer.parts) {
        await put(part, answer.received);
        answer.received += part.size;
        tries = 0;
      }
    } catch (error) {
      if (error.status === 404) token = null; // used, or too old: from the beginning
      else if (error.status && error.status !== 503) throw error;
      tries += 1;
      if (tries === TRIES) throw new Error(error.status ? error.message : "");
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
    }
  }
}

function stayWhileSending(event) { // the browser asks before the page is left
  event.preventDefault();
}

/* A form of one file: its token is sent in its place. */
const single = document.querySelector("form [data-direct][role=status]");
single?.closest("form").addEventListener("submit", async (event) => {
  const form = event.target;
  const input = form.querySelector("input[type=file]");
  const file = input.files[0];
  if (!file || file.size < Number(single.dataset.large)) return;
  event.preventDefault();
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  window.addEventListener("beforeunload", stayWhileSending);
  try {
    const token = document.createElement("input");
    token.type = "hidden";
    token.name = `${input.name}-token`;
    token.value = await sendDirectly(file, single, (received) => {
      single.textContent = single.dataset.sending.replace("#", Math.floor((100 * received) / file.size));
    });
    form.append(token);
    input.disabled = true;
    window.removeEventListener("beforeunload", stayWhileSending);
    form.submit();
  } catch (error) {
    single.textContent = error.message || single.dataset.failed;
    button.disabled = false;
  } finally {
    window.removeEventListener("beforeunload", stayWhileSending);
  }
});
