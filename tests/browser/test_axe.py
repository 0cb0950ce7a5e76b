"""axe-core finds nothing on any kind of page, at both widths, light and dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bonwise.cli.entry import run
from browser.axe import EMULATED, violations
from browser.kinds import KINDS, page_of_kind


def checked(page):
    """Return what axe-core finds at each width in each colour scheme."""
    found = {}
    for width, scheme in EMULATED:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        if there := violations(page):
            found[width, scheme] = there
    return found


@pytest.fixture(params=KINDS)
def page_of(request, kinds_folder):
    """Return the page of a kind; a browser is lent only afterwards, because some pages need a loop of their own."""
    return page_of_kind(request.param, kinds_folder)


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
