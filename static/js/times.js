// Times are sent in UTC, and shown in the reader's own time zone and in the page's language.
(() => {
  "use strict";

  const shown = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = time.textContent.trim();
    time.textContent = shown.format(at);
  }
})();
