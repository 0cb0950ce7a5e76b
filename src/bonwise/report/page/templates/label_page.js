"use strict";
document.documentElement.classList.add("script");
document.addEventListener("DOMContentLoaded", () => {
  const sheet = JSON.parse(document.getElementById("sheet").textContent);
  const part = (id) => document.getElementById(id);
  const responses = sheet.prompts.flatMap((prompt, shown) =>
    prompt.responses.map(([key, text, label], at) => ({ key, text, label, shown, at })));
  const first = [];
  responses.forEach((one, place) => { if (one.at === 0) first[one.shown] = place; });
  const store = `bonwise label sheet ${sheet.digest}`;
  const undone = [];
  let marked = 0;
  let keeps = true;
  let exported = true;

  const letter = (at) => {
    const rest = Math.floor(at / 26);
    return (rest ? letter(rest - 1) : "") + String.fromCharCode(65 + at % 26);
  };
  const labelled = () => responses.filter((one) => one.label !== null).length;
  const of = (shown) => responses.filter((one) => one.shown === shown);
  const say = (words) => { part("status").textContent = words; };
  const warn = (words) => {
    part("problem").textContent = words;
    part("problem").hidden = false;
  };

  const fits = (kept) => kept !== null && typeof kept === "object" && kept.sheet === sheet.digest &&
    typeof kept.annotator === "string" && Array.isArray(kept.labels) && kept.labels.length === responses.length &&
    kept.labels.every((label) => label === null || Number.isFinite(label));
  const take = (text) => {
    let kept = null;
    try { kept = JSON.parse(text); } catch { kept = null; }
    if (!fits(kept)) {
      keeps = false;
      warn("This browser holds something else under the name of this sheet. It is left as it is, and labels are not " +
        "kept: export the CSV before you close the page.");
      return;
    }
    responses.forEach((one, place) => { one.label = kept.labels[place]; });
    part("annotator").value = kept.annotator;
  };
  const load = () => {
    let text = null;
    try {
      text = localStorage.getItem(store);
    } catch {
      keeps = false;
      warn("This browser keeps nothing for this page: export the CSV before you close it.");
    }
    if (text !== null) take(text);
  };
  const keep = () => {
    exported = false;
    if (!keeps) return;
    const kept = { sheet: sheet.digest, annotator: part("annotator").value, labels: responses.map((one) => one.label) };
    try {
      localStorage.setItem(store, JSON.stringify(kept));
    } catch {
      keeps = false;
      warn("This browser cannot keep more: export the CSV before you close the page.");
    }
  };

  const words = (element, text) => {
    element.classList.toggle("empty", !text.trim());
    element.textContent = text.trim() ? text : "(no words)";
  };
  const reachable = (element, name) => {
    // Only what has to be scrolled is a stop of the keyboard.
    if (element.scrollHeight <= element.clientHeight) return;
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", name);
  };
  const button = (point, place) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = point;
    made.dataset.point = point;
    made.addEventListener("click", () => { mark(place); give(point); });
    return made;
  };
  const card = (one, place) => {
    const item = document.createElement("li");
    const made = document.createElement("div");
    const head = document.createElement("h4");
    const name = document.createElement("span");
    const given = document.createElement("span");
    const text = document.createElement("div");
    const points = document.createElement("div");
    made.className = "response";
    made.id = `response-${place}`;
    made.tabIndex = -1;
    made.setAttribute("role", "group");
    name.textContent = `Response ${letter(one.at)}`;
    name.id = `name-${place}`;
    made.setAttribute("aria-labelledby", name.id);
    given.className = "given";
    head.append(name, given);
    text.className = "words";
    words(text, one.text);
    points.className = "points";
    points.setAttribute("role", "group");
    points.setAttribute("aria-label", `Label of response ${letter(one.at)}`);
    points.append(...sheet.points.map((point) => button(point, place)));
    made.append(head, text, points);
    item.append(made);
    return item;
  };
  const at = (place) => part(`response-${place}`);

  const refresh = () => {
    const done = labelled();
    part("progress").value = done;
    part("progress-text").textContent =
      `${done.toLocaleString("en")} of ${responses.length.toLocaleString("en")} responses have a label`;
    part("undo").disabled = !undone.length;
    part("previous").disabled = responses[marked].shown === 0;
    part("next").disabled = responses[marked].shown === sheet.prompts.length - 1;
    part("unlabelled").disabled = done === responses.length;
    part("export").disabled = false;
    for (const one of of(responses[marked].shown)) {
      const place = first[one.shown] + one.at;
      const made = at(place);
      made.classList.toggle("marked", place === marked);
      made.classList.toggle("labelled", one.label !== null);
      made.querySelector(".given").textContent =
        one.label === null ? (place === marked ? "marked, no label" : "no label") : `label ${one.label}`;
      for (const point of made.querySelectorAll("button")) {
        point.setAttribute("aria-pressed", String(Number(point.dataset.point) === one.label));
      }
    }
  };
  const show = (shown) => {
    const prompt = sheet.prompts[shown];
    part("prompt-heading").textContent = `Prompt ${shown + 1} of ${sheet.prompts.length}`;
    for (const name of ["tabindex", "role", "aria-label"]) part("prompt").removeAttribute(name);
    words(part("prompt"), prompt.text);
    part("responses").replaceChildren(...of(shown).map((one) => card(one, first[shown] + one.at)));
    reachable(part("prompt"), "The prompt");
    for (const one of of(shown)) {
      reachable(at(first[shown] + one.at).querySelector(".words"), `Words of response ${letter(one.at)}`);
    }
    scrollTo({ top: 0 });
  };
  const mark = (place, focus = false) => {
    const moved = responses[place].shown !== responses[marked].shown;
    marked = place;
    if (moved) show(responses[place].shown);
    refresh();
    if (!focus) return;
    if (moved) {
      part("prompt-heading").focus({ preventScroll: true });
    } else {
      at(place).focus({ preventScroll: true });
      at(place).scrollIntoView({ block: "nearest" });
    }
  };
  const missing = (from) => {
    for (let step = 1; step <= responses.length; step += 1) {
      const place = (from + step) % responses.length;
      if (responses[place].label === null) return place;
    }
    return null;
  };
  const start = (shown) => {
    const open = of(shown).findIndex((one) => one.label === null);
    return first[shown] + Math.max(open, 0);
  };
  const give = (label) => {
    undone.push([marked, responses[marked].label]);
    responses[marked].label = label;
    keep();
    const name = `Prompt ${responses[marked].shown + 1}, response ${letter(responses[marked].at)}`;
    const place = label === null ? null : missing(marked);
    if (place !== null) mark(place, true);
    refresh();
    const done = label !== null && place === null ? " Every response has a label: export the CSV." : "";
    say(`${name}: ${label === null ? "no label" : `label ${label}`}.${done}`);
  };
  const undo = () => {
    const last = undone.pop();
    if (!last) return;
    const [place, label] = last;
    responses[place].label = label;
    keep();
    mark(place, true);
    say(`Undone: response ${letter(responses[place].at)} has ${label === null ? "no label" : `label ${label}`} again.`);
  };
  const page = (by) => {
    const shown = responses[marked].shown + by;
    if (shown >= 0 && shown < sheet.prompts.length) mark(start(shown), true);
  };
  const step = (by) => {
    const place = marked + by;
    if (responses[place]?.shown === responses[marked].shown) mark(place, true);
  };
  const open = () => {
    const place = missing(marked);
    if (place !== null) mark(place, true);
  };

  const cell = (text) => {
    // As bonwise writes cells: an apostrophe before what a spreadsheet would run as a formula.
    const safe = /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/.test(text) ? `'${text}` : text;
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = () => {
    const annotator = part("annotator").value.trim();
    const head = ["sheet_key", "oracle_label", ...(annotator ? ["annotator"] : [])];
    const rows = responses.map((one) =>
      [cell(one.key), one.label === null ? "" : String(one.label), ...(annotator ? [cell(annotator)] : [])]);
    return [head, ...rows].map((row) => `${row.join(",")}\n`).join("");
  };
  const write = () => {
    const address = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    const link = document.createElement("a");
    const annotator = part("annotator").value.trim().replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
    link.href = address;
    link.download = `${sheet.export}-labels${annotator ? `-${annotator}` : ""}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    exported = true;
    const left = responses.length - labelled();
    say(`${link.download} is exported.${left ? ` ${left.toLocaleString("en")} responses have no label yet.` : ""}`);
  };

  const keys = {
    ArrowUp: () => step(-1), ArrowDown: () => step(1), ArrowLeft: () => page(-1), ArrowRight: () => page(1),
    Backspace: () => { if (responses[marked].label !== null) give(null); }, n: open, u: undo,
  };
  keys.Delete = keys.Backspace;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === part("annotator")) return;
    if (event.key.startsWith("Arrow") && event.target.classList?.contains("words")) return;
    const point = sheet.points.find((one) => String(one) === event.key);
    const does = point === undefined ? keys[event.key] : () => give(point);
    if (!does || event.repeat && point !== undefined) return;
    event.preventDefault();
    does();
  });
  part("previous").addEventListener("click", () => page(-1));
  part("next").addEventListener("click", () => page(1));
  part("unlabelled").addEventListener("click", open);
  part("undo").addEventListener("click", undo);
  part("export").addEventListener("click", write);
  part("annotator").addEventListener("input", keep);
  // The same sheet in another tab: its labels are these labels.
  addEventListener("storage", (event) => {
    if (event.key !== store || event.newValue === null || !keeps) return;
    take(event.newValue);
    refresh();
  });
  addEventListener("beforeunload", (event) => { if (!keeps && !exported) event.preventDefault(); });

  load();
  marked = responses.findIndex((one) => one.label === null);
  marked = Math.max(marked, 0);
  show(responses[marked].shown);
  refresh();
  if (labelled() === responses.length) say("Every response has a label: export the CSV.");
});
