document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("prompt-table");
  if (!table) return;
  const bodies = [...table.tBodies];
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const heads = [...table.tHead.rows[0].cells];
  // A page without a script has no button here, and paper shows the words alone.
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
  }
  for (const button of table.getElementsByTagName("button")) button.disabled = false;

  const value = (body, column) => {
    const cell = body.rows[0].cells[column];
    const figure = cell.dataset.v;
    const name = cell.querySelector("button bdi") ?? cell;
    return figure === undefined ? name.textContent.trim() : figure === "" ? null : Number(figure);
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

  const all = document.getElementById("prompt-all");
  const showAll = () => {
    table.classList.remove("first");
    if (all) all.parentElement.hidden = true;
  };
  if (all) {
    all.disabled = false;
    all.addEventListener("click", () => {
      const hidden = bodies.find((body) => !body.checkVisibility());
      showAll();
      if (hidden) buttonOf(hidden).focus();
    });
  }

  const buttonOf = (body) => body.rows[0].cells[0].querySelector("button");
  const open = (body, opened) => {
    buttonOf(body).setAttribute("aria-expanded", String(opened));
    body.rows[1].classList.toggle("open", opened);
    if (opened) history.replaceState(null, "", `#${body.rows[1].id}`);
    mark();
  };
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const head = button.closest("thead th");
    if (head) {
      sort(head.cellIndex);
      return;
    }
    open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });

  const field = document.getElementById("prompt-search");
  const shown = document.getElementById("prompt-shown");
  const there = () => [...table.tBodies].filter((body) => body.checkVisibility());
  table.addEventListener("keydown", (event) => {
    const button = event.target.closest("tbody > tr > th button");
    if (!button || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const rows = there();
    const at = rows.indexOf(button.closest("tbody"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0) field.focus();
    else if (to < rows.length) buttonOf(rows[to]).focus();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    const [first] = there();
    if (!first) return;
    event.preventDefault();
    buttonOf(first).focus();
  });

  let texts = null;
  let asked = [];
  const search = () => {
    texts ??= bodies.map((body) => body.textContent.toLowerCase());
    asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (asked.length) showAll();
    let count = 0;
    bodies.forEach((body, at) => {
      const fits = asked.every((word) => texts[at].includes(word));
      body.hidden = !fits;
      count += fits;
    });
    shown.textContent = `${count.toLocaleString("en")} of ${bodies.length.toLocaleString("en")} shown`;
    mark();
  };
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 60);
  });

  // Matches are painted, not wrapped: the text stays as it is. An older browser shows the rows without the paint.
  const most = 2000;
  const mark = () => {
    if (!window.CSS?.highlights || typeof Highlight === "undefined") return;
    CSS.highlights.delete("match");
    if (!asked.length) return;
    const ranges = [];
    for (const body of there()) {
      for (const row of body.rows) {
        if (row.checkVisibility()) find(row, ranges);
      }
      if (ranges.length >= most) break;
    }
    CSS.highlights.set("match", new Highlight(...ranges));
  };
  const find = (row, ranges) => {
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.textContent.toLowerCase();
      // A letter that changes its length in lower case would move what is painted.
      if (text.length !== node.textContent.length) continue;
      for (const word of asked) {
        for (let at = text.indexOf(word); at >= 0 && ranges.length < most; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          ranges.push(range);
        }
      }
    }
  };

  const visit = () => {
    const row = /^#prompt-\d+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
    const body = row?.closest("#prompt-table > tbody");
    if (!body) return;
    if (field.value) {
      // What was typed a moment ago may still hide the row.
      clearTimeout(waiting);
      search();
      if (body.hidden) {
        field.value = "";
        search();
      }
    }
    if (!body.checkVisibility()) showAll();
    open(body, true);
    body.scrollIntoView({ behavior: "instant" });
    buttonOf(body).focus({ preventScroll: true });
  };
  addEventListener("hashchange", visit);
  // A browser may bring back what stood in the field before a reload.
  if (field.value) search();
  visit();
});
