from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from bonwise.cli.entry import run
from bonwise.printable import printable
from browser import hostile_tables
from browser.hostile import HOSTILE
from browser.hostile_pages import FIRST, PAGES
from browser.hostile_tables import ALL, COLUMNS, JUDGES, of_columns, of_judges, values_of
from browser.opened import NARROW, fits, ids_once, unfold
from browser.samples import audited, spoken


def squeezed(text):
    """Return text without gaps of any kind: how a browser breaks lines is no matter here."""
    return re.sub(r"\s|\\[nrt]|\\x85|\\u2028", "", text)


def one(at):
    """Return a hostile text by its place, going round."""
    return ALL[at % len(ALL)]


def hostile_frame(judge, prompts):
    """Return a table in which prompts, candidates' texts, ids, a column, the judge and its words are hostile."""
    frame = spoken(prompts)
    place = {name: at for at, name in enumerate(dict.fromkeys(frame["prompt_id"]))}
    at = frame["prompt_id"].map(place)
    number = frame["candidate"].str[1:].astype(int)
    label = (0.2 * number + 0.3 * frame["oracle_label"]).round(2)
    return frame.assign(
        prompt_id=[one(x) for x in at],
        candidate=[HOSTILE[7 * k] for k in number],
        judge=judge,
        # Every pick is the worst candidate, so that every prompt has a row.
        oracle_label=label,
        judge_score=1 - label,
        prompt=[one(x) for x in at],
        text=[one(x + 1 + k) for x, k in zip(at, number, strict=True)],
        raw=[one(x + 2 + k) for x, k in zip(at, number, strict=True)],
    ).rename(columns={"topic": HOSTILE[0]})


def harmless(page, texts):
    """Assert that nothing ran, that no element came out of a text, and that each text can be read."""
    assert page.evaluate("'__pwned' in window") is False
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll(
            "script:not(head script, #prompt-lines[type='application/json']), iframe, object, embed, img, form, " +
                "base, video, math, input:not(#prompt-search, .stepped input)"
        )].map((one) => one.outerHTML)"""
        )
        == []
    )
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes])
            .filter((one) => one.name.startsWith("on") || /^\\s*javascript:/i.test(one.value)).length"""
        )
        == 0
    )
    body = squeezed(page.evaluate("document.body.textContent"))
    missing = [text for text in texts if squeezed(seen(text)) not in body]
    assert missing == []


def seen(text):
    """Return a text as a page shows it: letters that cannot be seen are written out, but for joiners."""
    return "".join(
        letter if letter in "\n\t\r\u200c\u200d" or (letter.isspace() and letter.isprintable()) else printable(letter)
        for letter in text.replace("\r\n", "\n")
    )


def stand(page, selector, names):
    """Assert that elements hold names, each as it is."""
    shown = {squeezed(text) for text in page.locator(selector).all_text_contents()}
    assert {squeezed(printable(name)) for name in names} <= shown


def tables_whole(page):
    """Assert that every row of a table has as many cells as its head."""
    assert (
        page.evaluate("""() => [...document.querySelectorAll("table")].flatMap((table) => {
        const wide = (row) => [...row.cells].reduce((cells, cell) => cells + cell.colSpan, 0);
        const head = wide(table.tHead.rows[0]);
        return [...table.rows].filter((row) => wide(row) !== head).map((row) => row.outerHTML.slice(0, 200));
    })""")
        == []
    )


def drawn_texts(page):
    """Return what is written in the drawings."""
    return squeezed(" ".join(page.locator("svg text").all_text_contents()))


def open_all(page):
    """Open every prompt."""
    page.evaluate(
        """() => document.querySelectorAll("#prompt-table [aria-controls]").forEach((button) => button.click())"""
    )


def test_every_text_stands_in_every_place():
    """Each text is a judge, a column, a drawn value, a candidate and a prompt; a table refuses none of them."""
    assert sorted(name for page in JUDGES for name in page) == sorted(ALL)
    assert sorted(name for page in COLUMNS for name in page) == sorted(ALL)
    tables = [of_columns(page) for page in range(len(COLUMNS))]
    assert {name for table in tables for name in table.strata} == set(ALL)
    drawn = {value for table in tables for name in table.strata[:4] for value in table.frame[name]}
    assert drawn == {name for table in tables for name in table.candidates} == set(ALL)
    assert {name for table in tables for name in table.prompts} == set(ALL)
    assert {name for page in range(len(JUDGES)) for name in of_judges(page).judges} == set(ALL)


@pytest.mark.parametrize("at", range(len(JUDGES)))
def test_judges_may_have_any_name(show, tmp_path, at):
    """Every text is the name of a judge once: headings, tables and drawings hold it, and nothing of it runs."""
    path, document = audited(tmp_path, of_judges(at))
    assert set(document["judges"]) == set(JUDGES[at])
    with show(path, viewport=NARROW) as page:
        harmless(page, ())
        ids_once(page)
        tables_whole(page)
        assert page.locator("main > details.folded:has(> section[id^='judge-']) > summary > h2 > bdi").count() == len(
            JUDGES[at]
        )
        stand(page, "main > details.folded:has(> section[id^='judge-']) > summary > h2 > bdi", JUDGES[at])
        stand(page, "#judges th bdi", JUDGES[at])
        drawn = drawn_texts(page)
        assert [name for name in JUDGES[at] if squeezed(printable(name))[:9] not in drawn] == []
        open_all(page)
        assert fits(page)


@pytest.mark.parametrize("at", range(len(COLUMNS)))
def test_columns_values_and_candidates_may_have_any_name(show, tmp_path, at):
    """Every text is once a column and a value of one, and a candidate on every page: each can be read, none runs."""
    path, document = audited(tmp_path, of_columns(at))
    with show(path, viewport=NARROW) as page:
        harmless(page, ())
        ids_once(page)
        tables_whole(page)
        stand(page, "#strata thead th", COLUMNS[at])
        values = [value for place in range(len(COLUMNS[at])) for value in values_of(at, place)]
        stand(page, "#strata tbody tr > :first-child", values)
        drawn = drawn_texts(page)
        assert [value for value in values[:20] if squeezed(printable(value))[:9] not in drawn] == []
        rows = page.locator("#prompt-table > tbody")
        assert rows.count() == document["data"]["prompts"]
        open_all(page)
        stand(page, "#prompt-table .candidates bdi", [printable(name, longest=300) for name in ALL])
        assert fits(page)


@pytest.fixture(scope="module")
def page_of_judges(tmp_path_factory):
    """Return the page of an audit of a judge with a hostile name, and its document."""
    frame = hostile_frame(HOSTILE[2], len(ALL))
    return audited(tmp_path_factory.mktemp("page"), frame)


def holding(frame, words):
    """Return how many prompts of a table hold words in a cell that the page shows."""
    cells = frame[["prompt_id", "candidate", "prompt", "text", "raw"]]
    held = cells.apply(lambda column: column.str.contains(words, regex=False)).any(axis=1)
    return int(held.groupby(frame["prompt_id"]).any().sum())


def test_hostile_words_are_words(show, page_of_judges):
    """Of 60 hostile texts in every place none runs, none makes an element, and each is read as it is."""
    path, document = page_of_judges
    with show(path) as page:
        harmless(page, ALL)
        ids_once(page)
        rows = page.locator("#prompt-table > tbody")
        assert rows.count() == document["data"]["prompts"] == len(ALL)
        widths = {row.count() for row in (rows.nth(at).locator("> tr:first-child > *") for at in range(rows.count()))}
        assert widths == {page.locator("#prompt-table thead th").count()}
        page.locator("#prompt-all").click()
        for at in (0, len(ALL) - 1):
            rows.nth(at).locator("> tr > th button").click()
        words = "</textarea><script>"
        held = holding(hostile_frame(HOSTILE[2], len(ALL)), words)
        assert 0 < held < len(ALL)
        page.get_by_role("searchbox").fill(words)
        page.locator("#prompt-shown").filter(has_text=re.compile(rf"^{held} of {len(ALL)} shown")).wait_for()
        assert page.locator("#prompt-table > tbody:not([hidden])").count() == held
        harmless(page, ())


def test_hostile_words_fit_a_phone(show, page_of_judges):
    """Text without a break, however long, widens nothing."""
    path, _ = page_of_judges
    with show(path, viewport=NARROW) as page:
        page.locator("#prompt-all").click()
        for button in page.locator("#prompt-table > tbody > tr > th button").all()[:: len(ALL) // 8]:
            button.click()
        assert fits(page)


def test_several_hostile_judges(show, tmp_path):
    """Names of judges that are markup are in headings, tables and drawings as text."""
    names = (HOSTILE[15] + HOSTILE[40], HOSTILE[44] + HOSTILE[55])
    frames = [hostile_frame(name, 24).assign(raw="") for name in names]
    for at, frame in enumerate(frames):
        frame["judge_score"] = ((1 - at / 2) * frame["judge_score"] + at / 2 * frame["oracle_label"]).round(2)
    path, document = audited(tmp_path, pd.concat(frames, ignore_index=True))
    assert set(document["judges"]) == set(names)
    with show(path) as page:
        harmless(page, [printable(name) for name in names])
        ids_once(page)
        headings = " ".join(page.locator("h2").all_inner_texts())
        assert all(squeezed(seen(name)) in squeezed(headings) for name in names)


def test_hostile_pools_are_picked_from(show, picked_from_hostile_pools):
    """On the page of picks prompts, candidates and their ids are text; every pool has its row."""
    path = picked_from_hostile_pools
    with show(path) as page:
        harmless(page, ALL)
        ids_once(page)
        assert page.locator("#prompt-table > tbody").count() == len(ALL)
        page.locator("#prompt-table > tbody > tr > th button").first.click()
    with show(path, viewport=NARROW) as page:
        page.locator("#prompt-table > tbody > tr > th button").nth(3).click()
        assert fits(page)


@pytest.fixture(scope="module")
def picked_from_hostile_pools(tmp_path_factory):
    """Select from pools that hold the texts as prompts, candidates and ids, and return the page."""
    folder = tmp_path_factory.mktemp("picked")
    pools = [
        {
            "prompt_id": text,
            "prompt": text,
            "candidates": [{"id": text, "text": one(at + 1)}, {"id": one(at + 2), "text": text}],
        }
        for at, text in enumerate(ALL)
    ]
    source, page = folder / "pools.jsonl", folder / "page.html"
    source.write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    assert run(["select", str(source), "--judge", "local:length", "--html", str(page)]) == 0
    return page


EACH = [(kind, FIRST[at % len(FIRST)]) for at, kind in enumerate(PAGES)]
EVERY = [pytest.param(kind, first, marks=pytest.mark.slow) for kind in PAGES for first in FIRST]


@pytest.mark.parametrize(("kind", "first"), [*EACH, *EVERY])
def test_pages_of_other_kinds_hold_hostile_names(show, tmp_path, kind, first):
    """Judges, candidates, prompts, strata, raters, models, files and settings may have any name on every page."""
    found, names = PAGES[kind](tmp_path, first)
    path = tmp_path / "page.html"
    found.to_html(path)
    for viewport in ({"width": 1280, "height": 900}, NARROW):
        with show(path, viewport=viewport) as page:
            unfold(page)
            harmless(page, ())
            ids_once(page)
            tables_whole(page)
            body = squeezed(page.evaluate("document.body.textContent"))
            assert [name for name in names if squeezed(printable(name))[:24] not in body] == []
            assert fits(page)


LONG = tuple(
    f"{at} " + ("unbroken" * 1250, "many words " * 909, "שלום" * 2500, "<b>&amp;" * 1250)[at % 4] for at in range(65)
)
"""Names of 10,000 letters."""
USUAL = ("audit", "watch", "compare", "route", "requirements", "factor")
LARGEST = 20_000_000
"""Bytes of a page; 65 names of 10,000 letters in a few places each."""


@pytest.mark.parametrize(
    "kind", [*USUAL, *[pytest.param(kind, marks=pytest.mark.slow) for kind in PAGES if kind not in USUAL]]
)
def test_names_of_ten_thousand_letters_fit_a_page(show, tmp_path, monkeypatch, kind):
    """Of prompts, candidates, judges, strata, models and raters: the page stays small, and scrolls down only."""
    monkeypatch.setattr(hostile_tables, "ALL", LONG)
    path = tmp_path / "page.html"
    if kind == "audit":
        renamed = {"prompt_id": 0, "candidate": 7, "topic": 20}
        audited(tmp_path, hostile_tables.renamed(spoken(24), **renamed).assign(judge=LONG[1]))[0].rename(path)
    else:
        PAGES[kind](tmp_path, 0)[0].to_html(path)
    assert path.stat().st_size < LARGEST
    for viewport in ({"width": 1280, "height": 900}, NARROW):
        with show(path, viewport=viewport) as page:
            unfold(page)
            harmless(page, ())
            tables_whole(page)
            assert fits(page)


def test_there_are_sixty():
    """The list holds what it promises, each text once."""
    assert len(set(ALL)) == len(ALL) >= 60
