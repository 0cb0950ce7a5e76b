from __future__ import annotations

import json
import math
import re

import pytest

from bonwise.cli.entry import run
from browser.opened import fits

PAPER = {"width": 680, "height": 1000}
"""What A4 leaves within margins of 15 mm, in pixels."""

MARGINS = dict.fromkeys(("top", "bottom", "left", "right"), "15mm")

BROKEN = """() => [...document.querySelectorAll("td:not(.words, .code)")]
    .filter((cell) => !cell.closest(".prompts") && /[0-9]/.test(cell.textContent))
    .filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map((one) => Math.round(one.top / 4))).size > 1;
    }).map((cell) => cell.textContent)"""


def printed(page):
    """Return the number of pages that a printer would take."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", margin=MARGINS)))


@pytest.fixture
def verdicts(tmp_path):
    """Make the page of a study of 44 judges whose names are long."""
    rows = ["judge,item,gold,first,second"]
    for judge in range(44):
        rows += [
            f"model-{judge:02d} / Vanilla_NoRules,{item},{1 + item % 2},{1 + (item * judge) % 2},{1 + item % 3 % 2}"
            for item in range(12)
        ]
    table = tmp_path / "verdicts.csv"
    table.write_text("\n".join(rows), encoding="utf-8")
    path = tmp_path / "verdicts.html"
    asked = ("--verdict-col", "first", "--verdict-col", "second", "--label-col", "gold")
    matched = ("--prompt-col", "item", "--judge-col", "judge")
    assert run(["study", "label-strategy", str(table), *asked, *matched, "--html", str(path)]) == 0
    return path


@pytest.fixture
def picks(tmp_path):
    """Make the page of four picks among six candidates of 80 lines each."""
    lines = " ".join(f"line {at} of what was said and done" for at in range(80))
    pools = [
        {"prompt_id": f"p{at}", "prompt": "Say much", "candidates": [f"{one}. {lines}" for one in range(6)]}
        for at in range(4)
    ]
    (tmp_path / "pools.jsonl").write_text("\n".join(map(json.dumps, pools)), encoding="utf-8")
    path = tmp_path / "picks.html"
    assert run(["select", str(tmp_path / "pools.jsonl"), "--judge", "local:length", "--html", str(path)]) == 0
    return path


def test_no_figure_is_broken_on_paper(verdicts, show):
    """On A4 every figure and interval of a wide table is on one line, and no table is wider than the paper."""
    with show(verdicts, viewport=PAPER) as page:
        page.emulate_media(media="print")
        assert page.locator("td").count() > 400
        assert page.evaluate(BROKEN) == []
        assert fits(page)


def test_a_tall_drawing_leaves_no_page_empty(verdicts, show):
    """A forest of 44 judges takes less than two thirds of a page, so that it stands below the head of its page."""
    with show(verdicts, viewport=PAPER) as page:
        page.emulate_media(media="print")
        heights = page.evaluate("[...document.querySelectorAll('figure svg')].map((one) => one.clientHeight)")
        assert 0.4 * PAPER["height"] < max(heights) < 2 / 3 * PAPER["height"]


def test_opened_pools_fill_the_paper(picks, show):
    """Long candidates of opened pools go on from page to page: no page is left before what would not fit whole."""
    with show(picks, viewport=PAPER) as page:
        for button in page.locator("#prompt-table > tbody > tr > th button").all():
            button.click()
        page.emulate_media(media="print")
        filled = page.evaluate("document.documentElement.scrollHeight") / PAPER["height"]
        assert filled > 4
        assert printed(page) <= math.ceil(1.1 * filled) + 1
