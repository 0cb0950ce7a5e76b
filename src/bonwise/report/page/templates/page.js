"use strict";
document.documentElement.classList.add("script");
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details.more:not([open])")) {
    one.open = true;
    addEventListener("afterprint", () => { one.open = false; }, { once: true });
  }
});
document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("prompt-table");
  if (!table) return;
  const bodies = [...table.tBodies];
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const heads = [...table.tHead.rows[0].cells];
  for (const button of table.getElementsByTagName("button")) button.disabled = false;

  const value = (body, column) => {
    const cell = body.rows[0].cells[column];
    const figure = cell.dataset.v;
    return figure === undefined ? cell.textContent.trim() : figure === "" ? null : Number(figure);
  };
  const sort = (column) => {
    const head = heads[column];
    const given = head.getAttribute("aria-sort");
    const first = head.classList.contains("words") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = given === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const keyed = bodies.map((body, at) => ({ body, at, key: value(body, column) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
      const by = typeof a.key === "number" ? a.key - b.key : words.compare(a.key, b.key);
      return sign * by || a.at - b.at;
    });
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    table.append(...keyed.map((one) => one.body));
  };

  table.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const head = button.closest("thead th");
    if (head) {
      sort(head.cellIndex);
      return;
    }
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    button.closest("tbody").rows[1].classList.toggle("open", open);
  });

  const field = document.getElementById("prompt-search");
  const shown = document.getElementById("prompt-shown");
  let texts = null;
  const search = () => {
    texts ??= bodies.map((body) => body.textContent.toLowerCase());
    const asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    bodies.forEach((body, at) => {
      const fits = asked.every((word) => texts[at].includes(word));
      body.hidden = !fits;
      count += fits;
    });
    shown.textContent = `${count.toLocaleString("en")} of ${bodies.length.toLocaleString("en")} shown`;
  };
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 60);
  });
  // A browser may bring back what stood in the field before a reload.
  if (field.value) search();
});
{% include "stepped.js" %}
