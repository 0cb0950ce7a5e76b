"""Figures of every kind of page, and what axe-core finds on them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from bonwise.cli.entry import run
from browser.axe import EMULATED, violations
from browser.kinds import KINDS, page_of_kind
from browser.opened import NARROW

# Figures of every kind of page: letters that a phone shows, values on hover, files to take away; commands.


LEAST = 12
"""Pixels of the smallest letters on a phone."""

LETTERS = """() => [...document.querySelectorAll("figure svg text")].map((text) => {
    const scale = text.getScreenCTM();
    return [parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b), text.textContent];
}).filter((one) => one[0] > 0)"""
"""Heights of the letters of drawings that are shown, with their words."""


@pytest.fixture(params=KINDS)
def page_of(request, kinds_folder):
    """Return the page of a kind; a browser is lent only afterwards, because some pages need a loop of their own."""
    return page_of_kind(request.param, kinds_folder)


def test_letters_of_figures_can_be_read_on_a_phone(page_of, show):
    """At 390 pixels no letter of a drawing is smaller than 12 pixels."""
    with show(page_of, viewport=NARROW) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        letters = page.evaluate(LETTERS)
        assert [one for one in letters if one[0] < LEAST] == []
        assert bool(letters) == (page.locator("figure svg").count() > 0)


def test_figures_say_their_values_and_can_be_taken_away(page_of, show):
    """Each figure has its numbers as CSV; drawings but clouds of points say values where a reader points at them."""
    with show(page_of) as page:
        for figure in page.locator("figure").all():
            link = figure.locator("a[download]")
            head, data = link.get_attribute("href").split(",", 1)
            assert head == "data:text/csv;charset=utf-8"
            rows = list(csv.reader(io.StringIO(unquote(data))))
            assert len(rows) >= 2
            assert {len(row) for row in rows} == {len(rows[0])}
            told = figure.locator("svg .told title").evaluate_all("(titles) => titles.map((one) => one.textContent)")
            assert all(told)
            assert told or figure.locator("svg image").count(), link.get_attribute("download")


@pytest.mark.parametrize("page_of", ["compare"], indirect=True)
def test_a_figure_is_saved_as_svg_and_csv(page_of, show, tmp_path):
    """The files hold what the page shows: SVG with colours of its own, CSV with the same rows."""
    with show(page_of) as page:
        figure = page.locator("figure").first
        saved = {}
        for kind, press in (("csv", figure.locator("a[download]")), ("svg", figure.locator(".take button"))):
            with page.expect_download() as waited:
                press.click()
            saved[kind] = tmp_path / waited.value.suggested_filename
            waited.value.save_as(saved[kind])
        assert saved["csv"].name == "compare-shares.csv"
        assert saved["svg"].name == "compare-shares.svg"
        assert "recovery" in saved["csv"].read_text("utf-8")
        text = saved["svg"].read_text("utf-8")
        assert "var(--" not in text
        assert re.search(r'width="[\d.]+pt"', text)
    with show(saved["svg"]) as page:
        assert page.evaluate("document.documentElement.tagName") == "svg"


@pytest.mark.parametrize("page_of", ["plan"], indirect=True)
def test_commands_are_copied(page_of, show, browser):
    """A button puts the command on the clipboard and says so; where there is no clipboard, by a selection."""
    with show(page_of, permissions=["clipboard-read", "clipboard-write"]) as page:
        command = page.locator("p.command").first
        button = command.locator("button.copy")
        button.click()
        page.locator("[role=status]").filter(has_text=re.compile("^Copied$")).wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == command.locator("code").inner_text()
        page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        last = page.locator("p.command").last
        last.locator("button.copy").click()
        assert last.locator("button.copy").inner_text() == "Copied"
    with show(page_of, java_script_enabled=False) as page:
        assert page.locator("button").count() == 0


# axe-core finds nothing on any kind of page: wide and light, narrow and dark.


def checked(page):
    """Return what axe-core finds at each width with its colour scheme."""
    found = {}
    for width, scheme in EMULATED:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        if there := violations(page):
            found[width, scheme] = there
    return found


def test_axe_finds_nothing_on_any_page(page_of, show):
    """A page of any kind has no violation; the first row of a page with prompts is open."""
    with show(page_of) as page:
        rows = page.locator("#prompt-table > tbody > tr > th button")
        if rows.count():
            rows.first.click()
        assert checked(page) == {}


@pytest.fixture
def label_sheet(tmp_path, monkeypatch):
    """Return the page on which a person labels two prompts."""
    monkeypatch.chdir(tmp_path)
    pools = [{"prompt_id": f"p{at}", "prompt": f"Say {at}", "candidates": ["one", "two", "three"]} for at in (1, 2)]
    Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    assert run(["labels", "draw", "--pools", "pools.jsonl", "--sheet", "sheet.html", "--seed", "7"]) == 0
    return tmp_path / "sheet.html"


def test_axe_finds_nothing_on_a_label_sheet(label_sheet, show):
    """The page for labelling has no violation either."""
    with show(label_sheet) as page:
        assert checked(page) == {}


@pytest.mark.parametrize("page_of", ["plan"], indirect=True)
def test_axe_finds_what_is_wrong(page_of, show):
    """The check itself fails on a page without a name for a field and with text too pale to read."""
    with show(page_of) as page:
        page.evaluate("""() => {
            document.querySelector("h1").style.color = "#bbb";
            document.querySelector("main").append(document.createElement("input"));
        }""")
        assert {one.split(":")[0] for one in violations(page)} >= {"label", "color-contrast"}
