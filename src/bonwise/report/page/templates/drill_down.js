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

  // Rows that open stand in the page; the others are data, of which only those to be seen are put there.
  const data = JSON.parse(document.getElementById("prompt-lines")?.textContent ?? '{"words":[],"lines":[]}');
  const written = (line) => {
    const body = document.createElement("tbody");
    const row = body.insertRow();
    body.dataset.kinds = line.at(-1).join(" ");
    heads.forEach((head, column) => {
      const cell = row.appendChild(document.createElement(column ? "td" : "th"));
      const [text, figure] = Array.isArray(line[column]) ? line[column] : [line[column], Number(line[column])];
      if (!column) cell.scope = "row";
      if (column && !head.classList.contains("words")) {
        cell.dataset.v = Number.isNaN(figure) ? "" : figure;
        cell.textContent = text;
        return;
      }
      if (column) cell.className = head.className;
      cell.appendChild(document.createElement("bdi")).textContent = column ? data.words[text] : text;
    });
    return body;
  };
  const openers = [...table.tBodies];
  const bodies = [...openers, ...data.lines.map(written)];

  const value = (body, column) => {
    const cell = body.rows[0].cells[column];
    const figure = cell.dataset.v;
    const name = cell.querySelector("button bdi") ?? cell;
    return figure === undefined ? name.textContent.trim() : figure === "" ? null : Number(figure);
  };

  const step = 500;
  let order = bodies;
  let fitting = bodies;
  let most = table.classList.contains("first") || data.lines.length ? 25 : bodies.length;
  const count = (many) => many.toLocaleString("en");
  const show = () => {
    const seen = new Set(fitting.slice(0, most));
    for (const body of bodies) {
      body.hidden = !seen.has(body);
      if (body.hidden && !body.rows[1]) body.remove();
    }
    table.append(...order.filter((body) => body.rows[1] || seen.has(body)));
    shown.textContent = fitting.length === seen.size || fitting.length === bodies.length
      ? `${count(seen.size)} of ${count(bodies.length)} shown`
      : `${count(fitting.length)} of ${count(bodies.length)} match, ${count(seen.size)} shown`;
    if (!all) return;
    const left = fitting.length - seen.size;
    all.parentElement.hidden = left <= 0;
    all.textContent = left > step ? `Show ${step} more rows` : `Show all ${count(fitting.length)} rows`;
  };
  const showMore = (many) => {
    table.classList.remove("first");
    most = Math.max(most, many);
  };
  if (all) {
    all.disabled = false;
    all.addEventListener("click", () => {
      const next = fitting[most];
      showMore(Math.max(most + step, openers.length));
      show();
      buttonOf(next)?.focus();
    });
  }

  const sort = (column) => {
    const head = heads[column];
    const given = head.getAttribute("aria-sort");
    const first = head.classList.contains("words") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = given === first ? other : first;
    const sign = direction === "ascending" ? 1 : -1;
    const keyed = bodies.map((body, at) => ({ body, at, key: value(body, column) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
      const by = typeof a.key === "number" ? a.key - b.key : words.compare(a.key, b.key);
      return sign * by || a.at - b.at;
    });
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    order = keyed.map((one) => one.body);
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

  let texts = null;
  let asked = [];
  const fit = () => {
    const wanted = kind?.value ?? "";
    if (asked.length) texts ??= new Map(bodies.map((body) => [body, body.textContent.toLowerCase()]));
    fitting = order.filter((body) => (!wanted || (body.dataset.kinds ?? "").split(" ").includes(wanted))
      && asked.every((word) => texts.get(body).includes(word)));
  };
  const search = () => {
    asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (asked.length || kind?.value) showMore(Math.max(step, openers.length));
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
    const at = () => fitting.indexOf(body);
    if (at() < 0) {
      field.value = "";
      if (kind) kind.value = "";
      search();
    }
    if (at() >= most) {
      showMore(Math.max(at() + 1, openers.length));
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
