document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("prompt-table");
  if (!table) return;
  const field = document.getElementById("prompt-search");
  const kind = document.getElementById("prompt-kind");
  const shown = document.getElementById("prompt-shown");
  const all = document.getElementById("prompt-all");
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

  // Rows that open stand in the page; those that do not are data, and are written when they are to be seen.
  const data = JSON.parse(document.getElementById("prompt-lines")?.textContent ?? '{"words":[],"lines":[]}');
  const rows = [
    ...[...table.tBodies].map((body) => ({ body, kinds: (body.dataset.kinds ?? "").split(" ").filter(Boolean) })),
    ...data.lines.map((line) => ({ body: null, line, kinds: line.at(-1).map(String) })),
  ];
  rows.forEach((row, at) => Object.assign(row, { at, text: null }));
  const openers = rows.length - data.lines.length;
  const isWords = (column) => heads[column].classList.contains("words");
  const textOfCell = (line, column) => {
    const cell = line[column];
    if (Array.isArray(cell)) return cell[0];
    return isWords(column) && column > 0 ? data.words[cell] : String(cell);
  };
  const bodyOf = (row) => {
    if (row.body) return row.body;
    row.body = document.createElement("tbody");
    const cells = row.body.insertRow();
    heads.forEach((head, column) => {
      const cell = cells.appendChild(document.createElement(column ? "td" : "th"));
      if (!column) cell.scope = "row";
      if (column && isWords(column)) cell.className = head.className;
      const text = textOfCell(row.line, column);
      if (column && !isWords(column)) {
        cell.dataset.v = value(row, column) ?? "";
        cell.textContent = text;
      } else cell.appendChild(document.createElement("bdi")).textContent = text;
    });
    return row.body;
  };

  const value = (row, column) => {
    if (row.line) {
      const cell = row.line[column];
      if (column === 0 || isWords(column)) return textOfCell(row.line, column);
      const figure = Array.isArray(cell) ? cell[1] : Number(cell);
      return Number.isNaN(figure) ? null : figure;
    }
    const cell = row.body.rows[0].cells[column];
    const figure = cell.dataset.v;
    const name = cell.querySelector("button bdi") ?? cell;
    return figure === undefined ? name.textContent.trim() : figure === "" ? null : Number(figure);
  };
  const textOf = (row) => {
    row.text ??= row.line
      ? heads.map((_, column) => textOfCell(row.line, column)).join(" ").toLowerCase()
      : row.body.textContent.toLowerCase();
    return row.text;
  };

  const step = 500;
  let order = rows;
  let fitting = rows;
  let most = table.classList.contains("first") || data.lines.length ? 25 : rows.length;
  // Rows that fit and have room are shown, in their order.
  const show = () => {
    const there = fitting.slice(0, most);
    const seen = new Set(there);
    for (const row of rows) if (row.body) row.body.hidden = !seen.has(row);
    const bodies = new Map(there.map((row) => [bodyOf(row), row]));
    for (const body of bodies.keys()) body.hidden = false;
    table.append(...order.filter((row) => row.body).map((row) => row.body));
    const count = (many) => many.toLocaleString("en");
    shown.textContent = fitting.length === there.length || fitting.length === rows.length
      ? `${count(there.length)} of ${count(rows.length)} shown`
      : `${count(fitting.length)} of ${count(rows.length)} match, ${count(there.length)} shown`;
    if (!all) return;
    const left = fitting.length - there.length;
    all.parentElement.hidden = left <= 0;
    all.textContent = left > step
      ? `Show ${step} more rows`
      : `Show all ${count(fitting.length)} rows`;
  };
  const showMore = (many) => {
    table.classList.remove("first");
    most = Math.max(most, many);
  };
  if (all) {
    all.disabled = false;
    all.addEventListener("click", () => {
      const next = fitting[most];
      showMore(Math.max(most + step, openers));
      show();
      (buttonOf(next.body) ?? next.body.rows[0].cells[0]).focus();
    });
  }

  const sort = (column) => {
    const head = heads[column];
    const given = head.getAttribute("aria-sort");
    const first = head.classList.contains("words") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = given === first ? other : first;
    const sign = direction === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => ({ row, key: value(row, column) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.row.at - b.row.at;
      const by = typeof a.key === "number" ? a.key - b.key : words.compare(a.key, b.key);
      return sign * by || a.row.at - b.row.at;
    });
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    order = keyed.map(({ row }) => row);
    fit();
    show();
  };

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

  const there = () => [...table.tBodies].filter((body) => body.checkVisibility());
  const opening = () => there().filter(buttonOf);
  table.addEventListener("keydown", (event) => {
    const button = event.target.closest("tbody > tr > th button");
    if (!button || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const bodies = opening();
    const at = bodies.indexOf(button.closest("tbody"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: bodies.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0) field.focus();
    else if (to < bodies.length) buttonOf(bodies[to]).focus();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    const [first] = opening();
    if (!first) return;
    event.preventDefault();
    buttonOf(first).focus();
  });

  let asked = [];
  const fit = () => {
    const wanted = kind?.value ?? "";
    fitting = order.filter((row) => (!wanted || row.kinds.includes(wanted))
      && asked.every((word) => textOf(row).includes(word)));
  };
  const search = () => {
    asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (asked.length || kind?.value) showMore(Math.max(step, openers));
    fit();
    show();
    mark();
  };
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 60);
  });
  kind?.addEventListener("change", search);

  // Matches are painted, not wrapped: the text stays as it is. An older browser shows the rows without the paint.
  const painted = 2000;
  const mark = () => {
    if (!window.CSS?.highlights || typeof Highlight === "undefined") return;
    CSS.highlights.delete("match");
    if (!asked.length) return;
    const ranges = [];
    for (const body of there()) {
      for (const row of body.rows) {
        if (row.checkVisibility()) find(row, ranges);
      }
      if (ranges.length >= painted) break;
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
        let at = text.indexOf(word);
        while (at >= 0 && ranges.length < painted) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          ranges.push(range);
          at = text.indexOf(word, at + word.length);
        }
      }
    }
  };

  const visit = () => {
    const inside = /^#prompt-\d+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
    const body = inside?.closest("#prompt-table > tbody");
    if (!body) return;
    // What was typed a moment ago may still hide the row.
    clearTimeout(waiting);
    search();
    const at = () => fitting.findIndex((row) => row.body === body);
    if (at() < 0) {
      field.value = "";
      if (kind) kind.value = "";
      search();
    }
    if (at() >= most) {
      showMore(Math.max(at() + 1, openers));
      show();
    }
    open(body, true);
    body.scrollIntoView({ behavior: "instant" });
    buttonOf(body).focus({ preventScroll: true });
  };
  addEventListener("hashchange", visit);
  // A browser may bring back what stood in the field before a reload.
  if (field.value || kind?.value) search();
  else show();
  visit();
});
