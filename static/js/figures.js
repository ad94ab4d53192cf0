/* Figures answer: of the run, point, cell or bar under the pointer, or that arrow keys lead to, the name and the numbers
   are below the figure, with the way to its page. Without this script its marks have titles, and its table is beside it. */
"use strict";

(() => {
  const FINGER = 22; // pixels around a touch
  const marksOf = (figure) => [...figure.querySelectorAll(".mark")];

  function distance(mark, event) {
    const box = mark.getBoundingClientRect();
    return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
  }

  function prepare(figure) {
    for (const title of figure.querySelectorAll("svg * > title")) {
      const mark = title.parentElement;
      mark.ownerSVGElement.setAttribute("role", "group");
      mark.classList.add("mark");
      mark.setAttribute("role", mark.dataset.href ? "link" : "img");
      mark.setAttribute("aria-label", title.textContent);
      mark.tabIndex = -1;
      title.remove(); // the browser would show it over what is read
    }
    const marks = marksOf(figure);
    if (marks.length && !marks.some((mark) => mark.tabIndex === 0)) marks[0].tabIndex = 0;
  }

  // The marks of a drawing are asked for when somebody comes near, and again once a refreshed page has another drawing.
  async function load(figure) {
    const layer = figure.querySelector(".marks:empty");
    if (!layer || layer.ariaBusy) return;
    layer.ariaBusy = "true";
    try {
      const answer = await fetch(layer.dataset.marks);
      if (answer.ok) layer.innerHTML = await answer.text();
    } catch { /* without a network it is asked for when somebody comes again */ }
    layer.ariaBusy = null;
    prepare(figure);
  }

  function show(mark) {
    const figure = mark.closest("figure");
    for (const other of marksOf(figure)) {
      other.classList.toggle("current", other === mark);
      other.tabIndex = other === mark ? 0 : -1;
    }
    const line = document.createElement(mark.dataset.href ? "a" : "span");
    line.textContent = mark.ariaLabel;
    if (mark.dataset.href) line.href = mark.dataset.href;
    figure.querySelector(".readout").replaceChildren(line);
  }

  const figures = document.querySelectorAll("figure:has(.readout)");
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target);
  }, { rootMargin: "200px" });
  for (const figure of figures) {
    prepare(figure);
    near.observe(figure);
    for (const type of ["pointerover", "focusin"]) {
      figure.addEventListener(type, ({ target }) => {
        load(figure);
        if (target.matches(".mark")) show(target);
      });
    }
    figure.addEventListener("click", (event) => {
      if (event.target.matches(".mark")) {
        if (event.pointerType !== "touch" && event.target.dataset.href) window.location.href = event.target.dataset.href;
      } else if (event.target.closest("svg")) {
        const mark = marksOf(figure).find((each) => distance(each, event) < FINGER);
        if (mark) show(mark);
      }
    });
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("a, .readout")) return;
      const marks = marksOf(figure);
      const here = marks.indexOf(event.target);
      if (event.key === "Enter" && here >= 0) event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      const columns = Number(marks[0]?.ownerSVGElement.dataset.columns ?? 1);
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      const to = { Home: 0, End: marks.length - 1 }[event.key] ?? (here < 0 ? 0 : here + step);
      if (!marks[to] || (here < 0 && !(step > 0))) return;
      event.preventDefault();
      marks[to].focus();
    });
  }
})();
