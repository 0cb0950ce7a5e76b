from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from bonwise.cli.entry import run
from browser.kinds import KINDS, page_of_kind
from browser.opened import fits
from browser.paper import MARGINS, sheets
from browser.samples import audited, spoken

PAPER = {"width": 680, "height": 1000}
"""What A4 leaves within margins of 15 mm, in pixels."""

BROKEN = """() => [...document.querySelectorAll("td:not(.words, .code)")]
    .filter((cell) => !cell.closest(".prompts") && /[0-9]/.test(cell.textContent))
    .filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map((one) => Math.round(one.top / 4))).size > 1;
    }).map((cell) => cell.textContent)"""


DISPLAYED = "(buttons) => buttons.map((one) => getComputedStyle(one).display)"

FULL = 2 / 3
"""Of each sheet but the last at least so much is used."""


def printed(page):
    """Return the number of pages that a printer would take."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", margin=MARGINS)))


@pytest.fixture(params=KINDS)
def page_of(request, kinds_folder):
    """Return the page of a kind; a browser is lent only afterwards, because some pages need a loop of their own."""
    return page_of_kind(request.param, kinds_folder)


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    """Make the page of picks from 90 pools: a table of three sheets."""
    folder = tmp_path_factory.mktemp("pools")
    lines = [
        json.dumps({"prompt_id": f"p{at:02d}", "prompt": "Say much", "candidates": ["a", "bb", "ccc"]})
        for at in range(90)
    ]
    (folder / "pools.jsonl").write_text("\n".join(lines), encoding="utf-8")
    path = folder / "pools.html"
    assert run(["select", str(folder / "pools.jsonl"), "--judge", "local:length", "--html", str(path)]) == 0
    return path


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


def test_no_third_of_a_sheet_is_empty(page_of, show):
    """A page of any kind leaves no third of a sheet empty before the last, and no sheet to the footer alone."""
    with show(page_of) as page:
        found = sheets(page)
        footer = "".join(page.locator("footer").inner_text().split())
    filled = [round(one.filled, 2) for one in found]
    assert all(one >= FULL for one in filled[:-1]), filled
    assert found[-1].words not in footer


@pytest.mark.parametrize("page_of", ["plan"], indirect=True)
def test_a_short_table_stays_on_one_sheet(page_of, show):
    """The seven rows of a plan stand where their title does, however much stands above them."""
    with show(page_of) as page:
        for lines in range(0, 40, 4):
            page.evaluate(
                "(height) => { document.querySelector('header').style.height = `${height}px`; }", 20 * lines
            )
            (sheet,) = (one.words for one in sheets(page) if "Whatastudyshows" in one.words)
            assert "384192" in sheet, lines


@pytest.mark.parametrize("page_of", ["audit"], indirect=True)
def test_a_slider_stands_below_its_heading(page_of, show):
    """The heading of the sliders, and the sentence above them, end no sheet."""
    with show(page_of) as page:
        page.evaluate("document.querySelector('#what-if').before(document.createElement('div'))")
        for height in range(0, 1000, 30):
            page.evaluate(
                "(high) => { document.querySelector('div:has(+ #what-if)').style.height = `${high}px`; }", height
            )
            (sheet,) = (one.words for one in sheets(page) if "Everyoutcomewascomputed" in one.words)
            assert "Thegate" in sheet, height


def test_the_head_of_a_table_is_repeated(pools, show):
    """On each sheet that holds rows of the pools the heads of the columns stand once, as words without a control."""
    with show(pools) as page:
        page.locator("#prompt-all").click()
        assert page.locator("#prompt-table thead button").count() > 5
        found = sheets(page)
        page.emulate_media(media="print")
        assert set(page.locator("#prompt-table thead button").evaluate_all(DISPLAYED)) == {"contents"}
    rows = [len(re.findall(r"p\d\dc2score", one.words)) for one in found]
    assert sum(rows) == 90
    assert sum(many > 0 for many in rows) >= 3
    heads = [one.words.count("tiedattopnotscoredcalls") for one in found]
    assert heads == [int(many > 0) for many in rows]


def test_paper_says_which_rows_it_leaves_out(pools, show):
    """Of a long table the first rows are printed, and a sentence counts them; it goes when all rows are shown."""
    told = "Printed:thefirst25of90rows."
    with show(pools) as page:
        assert not page.locator(".on-paper").is_visible()
        words = "".join(one.words for one in sheets(page))
        assert told in words
        assert len(re.findall(r"p\d\dc2score", words)) == 25
        page.locator("#prompt-all").click()
        assert told not in "".join(one.words for one in sheets(page))


def test_the_interval_is_printed_without_backgrounds(tmp_path, show):
    """Dot and interval of the line of recovery are on paper too, where a browser leaves backgrounds out."""
    path, _ = audited(tmp_path, spoken(40))
    inked = []
    with show(path) as page:
        page.evaluate("document.querySelector('main').replaceChildren(document.querySelector('.interval-bar'))")
        for gone in (".bar-mark", ".bar-reach", ".bar-dot"):
            page.evaluate("(name) => document.querySelectorAll(name).forEach((one) => one.remove())", gone)
            (sheet,) = sheets(page)
            inked.append(int((np.asarray(sheet.picture) < 200).sum()))
    reach, dot = inked[0] - inked[1], inked[1] - inked[2]
    assert dot > 5, inked
    assert reach > 100, inked


def test_a_page_without_a_script_has_no_button_in_a_head(pools, show):
    """The heads of a page are words, which its script makes buttons of."""
    with show(pools, java_script_enabled=False) as page:
        assert page.locator("thead button").count() == 0
        assert page.locator("#prompt-table thead th").first.inner_text() == "prompt"


def test_paper_shows_what_the_reader_opened(folding, show):
    """Folded findings stay folded on paper; those that were opened are printed."""
    with show(folding) as page:
        folded = page.locator("details.more").first
        inside = "".join(folded.locator("p").first.text_content().split())[:60]
        closed = " ".join(one.words for one in sheets(page))
        folded.locator("summary").click()
        opened = " ".join(one.words for one in sheets(page))
    assert inside not in closed
    assert "morefindings" in closed
    assert inside in opened


@pytest.fixture
def folding(kinds_folder):
    """Return a page with findings that are folded."""
    return page_of_kind("study-calibration", kinds_folder)


def test_twelve_judges_take_fifteen_sheets_at_most(tmp_path, show):
    """An audit of twelve judges prints its summary on at most fifteen sheets, none of them two thirds empty."""
    first = spoken(60)
    frames = [
        first.assign(
            judge=f"judge-{at:02d}",
            judge_score=((1 - at / 14) * first["judge_score"] + at / 14 * first["oracle_label"]).round(2),
        )
        for at in range(12)
    ]
    path, _ = audited(tmp_path, pd.concat(frames, ignore_index=True))
    with show(path) as page:
        found = sheets(page)
    assert len(found) <= 15
    assert all(one.filled >= FULL for one in found[:-1])
    assert "judge-11" in found[0].words
