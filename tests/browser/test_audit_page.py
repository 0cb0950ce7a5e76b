from __future__ import annotations

import re

import pytest

from bonwise.auditing.result import Audit
from bonwise.metric_groups import unit_of
from bonwise.report.numbers import estimate, interval, number
from browser.opened import NARROW, contrasts, drawings_told, fits, ids_once, unfold
from browser.samples import audited, spoken
from report.readers import in_a_column

PROMPTS = 60
TABLE = "#prompt-table"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return the page of a simulated audit with words, and its document."""
    return audited(tmp_path_factory.mktemp("page"), spoken(PROMPTS))


@pytest.fixture(scope="module")
def arena(shared, tmp_path_factory):
    """Return the page of the arena sample, and its document."""
    scores = shared / "data" / "arena100" / "scores.csv"
    return audited(tmp_path_factory.mktemp("page"), scores, exclude=["unhelpful"])


def figures_are_there(page, document):
    """Assert that headings, verdict and every headline figure of a document can be read."""
    unfold(page)
    headings = page.locator("h1, h2, h3").all_inner_texts()
    assert headings[0].startswith("Audit of ")
    assert any(document["verdict"]["level"] in one for one in headings)
    assert "Where the judge lost most" in headings
    text = " ".join(page.locator("body").inner_text().split())
    for sentence in document["verdict"]["sentences"][:1]:
        assert sentence in text
    for key in ("recovery", "within_r", "global_r", "top1_accuracy", "tie_rate", "effective_agreement"):
        metric = Audit.model_validate(document)[key]
        name = page.locator("th bdi").filter(has_text=re.compile(rf"^{key}$"))
        row = page.locator("table.metrics tr").filter(has=name)
        cells = " ".join(row.first.inner_text().split())
        for figure in (estimate(metric, unit_of(key)), interval(metric, unit_of(key))):
            assert any(form in cells for form in in_a_column(figure)), key
        assert f"{metric.n:,}" in cells


@pytest.mark.shared
def test_the_arena_page_says_what_the_audit_says(show, arena):
    """On the arena sample verdict, figures and intervals of the page are those of the document."""
    path, document = arena
    with show(path) as page:
        figures_are_there(page, document)
        ids_once(page)
        assert drawings_told(page) >= 4


def test_the_page_says_what_the_audit_says(show, simulated):
    """Headings, verdict, figures and intervals of the page are those of the document; drawings are told in words."""
    path, document = simulated
    with show(path) as page:
        figures_are_there(page, document)
        ids_once(page)
        assert drawings_told(page) >= 4


def column(page, at):
    """Return the cells of one column as they stand."""
    return page.locator(f"{TABLE} > tbody > tr:first-child > :nth-child({at + 1})").evaluate_all(
        "(cells) => cells.map((one) => one.dataset.v ?? (one.querySelector('button bdi') ?? one).textContent.trim())"
    )


def ordered(cells, *, falling):
    """Tell whether figures, or words, are in order; what is unknown comes last."""
    known = [one for one in cells if one != ""]
    if cells[: len(known)] != known:
        return False
    try:
        values = [float(one) for one in known]
    except ValueError:
        values = [[int(part) if part.isdigit() else part for part in re.split(r"(\d+)", one)] for one in known]
    return values == sorted(values, reverse=falling)


def test_every_column_sorts_both_ways(show, simulated):
    """A click on a head sorts by it, a second click the other way; no row is lost and the head says how."""
    path, _ = simulated
    with show(path) as page:
        heads = page.locator(f"{TABLE} thead th")
        assert heads.first.get_attribute("scope") == "col"
        page.locator("#prompt-all").click()
        rows = sorted(column(page, 0))
        for at in range(heads.count()):
            seen = set()
            for _ in range(2):
                heads.nth(at).locator("button").click()
                how = heads.nth(at).get_attribute("aria-sort")
                seen.add(how)
                assert ordered(column(page, at), falling=how == "descending"), (at, how)
                assert page.locator(f"{TABLE} thead th[aria-sort]").count() == 1
            assert seen == {"ascending", "descending"}
            assert sorted(column(page, 0)) == rows


def test_search_narrows_and_counts(show, simulated):
    """A word leaves the prompts that hold it, in their names or in what was said, and says how many."""
    path, document = simulated
    with show(path) as page:
        shown, visible = page.locator("#prompt-shown"), page.locator(f"{TABLE} > tbody:visible")
        rows = document["data"]["prompts"]
        assert 25 < page.locator(f"{TABLE} > tbody").count() < rows
        one = column(page, 0)[3]
        page.get_by_role("searchbox").fill(f"UNDER {one}?")
        shown.filter(has_text=f"1 of {rows} shown").wait_for()
        assert visible.count() == 1
        page.get_by_role("searchbox").fill("nobody says this")
        shown.filter(has_text=f"0 of {rows} shown").wait_for()
        assert visible.count() == 0
        page.get_by_role("searchbox").fill("")
        shown.filter(has_text=f"{rows} of {rows} shown").wait_for()
        assert visible.count() == rows


def test_a_prompt_opens_by_mouse(show, simulated):
    """A click opens a prompt to its words, its candidates with scores and labels, and what the judge said."""
    path, _ = simulated
    frame = spoken(PROMPTS)
    with show(path) as page:
        button = page.locator(f"{TABLE} > tbody > tr > th button").first
        name = button.inner_text().strip()
        inside = page.locator(f"#{button.get_attribute('aria-controls')}")
        assert not inside.is_visible()
        button.click()
        assert (button.get_attribute("aria-expanded"), inside.is_visible()) == ("true", True)
        inside.locator("details > summary").click()
        text = inside.inner_text()
        for row in frame[frame["prompt_id"] == name].to_dict("records"):
            assert row["prompt"] in text
            assert row["text"] in text
            assert row["raw"] in text
            assert f"score {number(row['judge_score'])}, label {number(row['oracle_label'])}" in text
        assert "picked" in text
        button.click()
        assert (button.get_attribute("aria-expanded"), inside.is_visible()) == ("false", False)


def test_a_prompt_opens_by_keyboard(show, simulated):
    """Tab leads from the search through the heads to the first prompt, Enter opens it and Space closes it."""
    path, _ = simulated
    with show(path) as page:
        page.get_by_role("searchbox").focus()
        first = page.locator(f"{TABLE} > tbody > tr > th button").first
        for _ in range(20):
            page.keyboard.press("Tab")
            if first.evaluate("(one) => one === document.activeElement"):
                break
        assert first.evaluate("(one) => one === document.activeElement && one.matches(':focus-visible')")
        inside = page.locator(f"#{first.get_attribute('aria-controls')}")
        page.keyboard.press("Enter")
        assert inside.is_visible()
        page.keyboard.press("Space")
        assert not inside.is_visible()


def test_the_first_tab_leads_past_the_head(show, simulated):
    """The first stop of the keyboard is a link to the findings, seen when it is reached."""
    path, _ = simulated
    with show(path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
        assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(show, simulated, scheme):
    """All text, that of the drawings too, has a contrast of 4.5 at least to what lies behind it."""
    path, _ = simulated
    with show(path, color_scheme=scheme) as page:
        page.locator(f"{TABLE} > tbody > tr > th button").first.click()
        least, where = contrasts(page)
        assert least >= 4.5, where
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        dark = sum(map(int, re.findall(r"\d+", background)[:3])) < 3 * 128
        assert dark == (scheme == "dark")


def test_a_phone_needs_no_sideways_scrolling(show, simulated):
    """At 390 pixels, closed and opened, the page is no wider than the screen."""
    path, _ = simulated
    with show(path, viewport=NARROW) as page:
        assert fits(page)
        for button in page.locator(f"{TABLE} > tbody > tr > th button").all()[:3]:
            button.click()
        assert fits(page)


def test_paper_shows_the_findings(show, simulated):
    """In print the page is dark on light, whatever the screen, and what only a screen can use is left out."""
    path, document = simulated
    with show(path, color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert not page.get_by_role("searchbox").is_visible()
        ink, paper = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        assert sum(map(int, re.findall(r"\d+", ink)[:3])) < sum(map(int, re.findall(r"\d+", paper)[:3]))
        recovery = estimate(Audit.model_validate(document).metrics["recovery"], unit_of("recovery"))
        assert recovery in page.locator("body").inner_text()
        assert fits(page)


def test_without_scripts_everything_is_there(show, simulated):
    """With scripts switched off every prompt is open, and no button pretends to do something."""
    path, _ = simulated
    with show(path, java_script_enabled=False) as page:
        rows = page.locator(f"{TABLE} > tbody").count()
        assert page.locator("tr.inside:visible").count() == rows > 25
        assert page.locator("button:enabled").count() == 0
        assert page.get_by_role("searchbox").count() == 0
        assert "What is asked under" in page.locator("body").inner_text()


def test_the_page_stands_alone(simulated):
    """The file names no address to load anything from."""
    text = simulated[0].read_text("utf-8")
    loaded = re.findall(r"<(?:link|script|img|iframe|object|embed|source)\b[^>]*(?:src|href)=\"([^\"]*)\"", text)
    assert [one for one in loaded if not one.startswith("data:")] == []
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
