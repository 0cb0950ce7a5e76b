"""The page for labelling: three prompts by keyboard, kept over a reload, exported, and audited."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import pytest

from bonwise.labels.blind_sheet import BlindSheet, SheetRow
from browser.hostile import HOSTILE
from browser.hostile_tables import ALL
from browser.opened import NARROW, WIDE, contrasts, fits, ids_once, opened
from cli.commands import strict, typed

MODELS = ("gpt-5", "claude-opus-5", "gemini")
LENGTHS = {"gpt-5": 10, "claude-opus-5": 20, "gemini": 30}


def pools_of(prompts):
    """Return pools whose candidates are told by their number of words."""
    return [
        {
            "prompt_id": f"p{at}",
            "prompt": f"Question {at}: what is a lighthouse for?",
            "candidates": [{"id": name, "text": "word " * (LENGTHS[name] + at)} for name in MODELS],
        }
        for at in range(prompts)
    ]


@pytest.fixture
def sheet(capsys, tmp_path, monkeypatch):
    """Write pools, scores and the page of three prompts, and work beside them."""
    monkeypatch.chdir(tmp_path)
    pools = pools_of(3)
    Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    rows = [f"{p['prompt_id']},{c['id']},{len(c['text'])}\n" for p in pools for c in p["candidates"]]
    Path("scores.csv").write_text("prompt_id,candidate,judge_score\n" + "".join(rows), encoding="utf-8")
    done = typed(capsys, "labels", "draw", "--pools", "pools.jsonl", "--sheet", "sheet.html", "--seed", 7)
    assert done.code == 0
    assert "bonwise audit SCORES.csv --labels sheet-labels.csv" in done.out
    return tmp_path / "sheet.html"


def marked(page):
    """Return the heading of the prompt and of the marked response."""
    name = page.locator(".response.marked h4 span").first.inner_text()
    return page.locator("#prompt-heading").inner_text(), name


def words(page):
    """Return how many words the responses of the prompt have, from the top."""
    return [len(text.split()) for text in page.locator(".response .words").all_inner_texts()]


def exported(page, folder):
    """Click on the export, and return where the file is."""
    with page.expect_download() as waited:
        page.locator("#export").click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    return path


def test_three_prompts_are_labelled_by_keyboard_and_audited(browser, capsys, sheet):
    """Keys alone label all; a reload keeps them; the export is audited without a further flag."""
    with opened(browser, sheet) as page:
        assert marked(page) == ("Prompt 1 of 3", "Response A")
        for shown in range(3):
            assert page.locator("#prompt-heading").inner_text() == f"Prompt {shown + 1} of 3"
            question = page.locator("#prompt").inner_text()
            # The longer a response, the better: 10, 20 and 30 words get 1, 3 and 5.
            for length in words(page):
                at = int(re.search(r"Question (\d)", question)[1])
                label = {10: 1, 20: 3, 30: 5}[length - at]
                page.keyboard.press(str(label))
            if shown == 1:
                page.reload()
        assert "9 of 9 responses have a label" in page.locator("#progress-text").inner_text()
        assert "export the CSV" in page.locator("#status").inner_text()
        page.reload()
        assert "9 of 9 responses have a label" in page.locator("#progress-text").inner_text()
        assert page.locator("button[aria-pressed=true]").count() == 3
        page.locator("#annotator").fill("=Ann, 1")
        path = exported(page, sheet.parent)
    assert path.name == "sheet-labels-Ann-1.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["annotator"] for row in rows} == {"'=Ann, 1"}
    assert not any(model in path.read_text("utf-8") for model in MODELS)
    done = typed(capsys, "audit", "scores.csv", "--labels", path.name, "--json", "audit.json")
    assert done.code == 0, done.err
    audit = strict(Path("audit.json").read_text("utf-8"))
    # The judge scores by length, as the labels do: what it picks has the best label everywhere.
    assert audit["data"]["labelled_prompts"] == 3
    assert audit["metrics"]["value_judge"]["estimate"] == 5
    assert audit["metrics"]["value_random"]["estimate"] == 3
    assert audit["metrics"]["recovery"]["estimate"] == 1


def test_keys_move_undo_and_remove(browser, sheet):
    """Arrows move, u takes a label back and returns to its place, Backspace removes one, n finds what is missing."""
    with opened(browser, sheet) as page:
        page.keyboard.press("ArrowDown")
        assert marked(page)[1] == "Response B"
        page.keyboard.press("4")
        assert marked(page)[1] == "Response C"
        page.keyboard.press("2")
        assert marked(page) == ("Prompt 1 of 3", "Response A") or marked(page)[0] == "Prompt 2 of 3"
        page.keyboard.press("u")
        assert marked(page) == ("Prompt 1 of 3", "Response C")
        assert page.locator("#progress-text").inner_text().startswith("1 of 9")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert marked(page)[0] == "Prompt 3 of 3"
        page.keyboard.press("ArrowLeft")
        assert marked(page)[0] == "Prompt 2 of 3"
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        assert marked(page) == ("Prompt 1 of 3", "Response B")
        page.keyboard.press("Backspace")
        assert page.locator("#progress-text").inner_text().startswith("0 of 9")
        page.keyboard.press("u")
        assert page.locator("#progress-text").inner_text().startswith("1 of 9")
        page.keyboard.press("n")
        assert marked(page)[1] == "Response C"
        page.keyboard.press("7")  # no label of this scale
        page.keyboard.press("Control+1")
        assert page.locator("#progress-text").inner_text().startswith("1 of 9")
        page.locator("#annotator").press("5")
        assert page.locator("#annotator").input_value() == "5"
        assert page.locator("#progress-text").inner_text().startswith("1 of 9")


def test_a_mouse_labels_too(browser, sheet):
    """A click on a label of any response gives it."""
    with opened(browser, sheet) as page:
        page.locator("#response-1").get_by_role("button", name="4").click()
        assert page.locator("#response-1 h4").inner_text().endswith("label 4")
        page.get_by_role("button", name="Undo").click()
        assert page.locator("#progress-text").inner_text().startswith("0 of 9")


def test_two_sheets_do_not_mix(browser, capsys, sheet):
    """Another sheet under the same name has labels of its own; what is not of this sheet is left as it is."""
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto(sheet.as_uri())
    page.keyboard.press("4")
    store = page.evaluate("Object.keys(localStorage)")
    other = sheet.with_name("other.html")
    assert typed(capsys, "labels", "draw", "--pools", "pools.jsonl", "--sheet", other.name, "--seed", 8).code == 0
    other.replace(sheet)
    page.goto(sheet.as_uri())
    assert page.locator("#progress-text").inner_text().startswith("0 of 9")
    page.keyboard.press("2")
    assert len(page.evaluate("Object.keys(localStorage)")) == 2
    [mine] = set(page.evaluate("Object.keys(localStorage)")) - set(store)
    strange = json.dumps({"sheet": "0" * 16, "annotator": "", "labels": [1] * 9})
    for content in (strange, "{", json.dumps({"sheet": mine.split()[-1], "annotator": "", "labels": [1]}), "null"):
        page.evaluate("([name, text]) => localStorage.setItem(name, text)", [mine, content])
        page.reload()
        assert "something else" in page.locator("#problem").inner_text()
        page.keyboard.press("3")
        assert page.evaluate("(name) => localStorage.getItem(name)", mine) == content
        page.on("dialog", lambda one: one.accept())
    context.close()


def test_two_tabs_of_one_sheet_share_labels(browser, sheet):
    """A label that one tab gives stands in the other, and is not lost by what that one gives."""
    context = browser.new_context(viewport=WIDE)
    one, two = context.new_page(), context.new_page()
    one.goto(sheet.as_uri())
    two.goto(sheet.as_uri())
    one.keyboard.press("4")
    two.locator("#progress-text").filter(has_text=re.compile("^1 of 9")).wait_for()
    two.keyboard.press("ArrowDown")
    two.keyboard.press("5")
    one.locator("#progress-text").filter(has_text=re.compile("^2 of 9")).wait_for()
    context.close()


def hostile_sheet(path):
    """Write a page on which every text is hostile, one of a megabyte among them."""
    texts = [*ALL, "x" * 1_000_000, "w o r d " * 120_000, "", " \n"]
    rows = [
        SheetRow(text, name, text, texts[(at + step) % len(texts)])
        for at, text in enumerate(texts)
        for step, name in ((1, "a"), (2, HOSTILE[at % len(HOSTILE)]))
    ]
    made = BlindSheet(tuple(rows))
    path.write_text(made.page(), encoding="utf-8")
    return made, texts


def squeezed(text):
    """Return text without gaps of any kind."""
    return re.sub(r"\s|\\[nrt]|\\x85|\\u2028", "", text)


def test_hostile_words_are_words(browser, tmp_path):
    """Nothing in a prompt or a response runs, makes an element or leaves the page; each is read as it is."""
    made, texts = hostile_sheet(tmp_path / "sheet.html")
    with opened(browser, tmp_path / "sheet.html", viewport=NARROW) as page:
        pools = len({row.prompt_id for row in made.rows})
        for shown in range(pools):
            assert page.locator("#prompt-heading").inner_text() == f"Prompt {shown + 1} of {pools}"
            if len(texts[shown]) < 10_000 and texts[shown].strip():
                seen = squeezed(page.locator("#prompt").text_content())
                start = squeezed(texts[shown])[:20]
                assert seen[:20] == start or not start.isprintable()
            assert fits(page), texts[shown][:40]
            page.keyboard.press("3")
            page.keyboard.press("4")
        assert page.evaluate("'__pwned' in window") is False
        assert page.locator("script:not(head script), iframe, img, object, form, base, svg, video").count() == 0
        ids_once(page)
        path = exported(page, tmp_path)
    raw = path.read_text("utf-8")
    assert len(raw.splitlines()) == 1 + len(made.rows)
    assert "script" not in raw.replace("sheet_key", "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read_and_reached(browser, sheet, viewport, scheme):
    """Text has contrast, nothing has to be scrolled sideways, and axe finds nothing where BONWISE_AXE names it."""
    with opened(browser, sheet, viewport=viewport, color_scheme=scheme) as page:
        page.keyboard.press("4")
        assert fits(page)
        least, where = contrasts(page)
        assert least >= 4.5, where
        ids_once(page)
        axe = os.environ.get("BONWISE_AXE")
        if axe:
            page.evaluate(Path(axe).read_text("utf-8"))
            found = page.evaluate("axe.run(document)")
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
            assert len(found["passes"]) > 20


def test_without_scripts_it_says_so(browser, sheet):
    """With scripts switched off the page says that it needs them."""
    with opened(browser, sheet, java_script_enabled=False) as page:
        assert page.get_by_text("needs JavaScript").is_visible()
