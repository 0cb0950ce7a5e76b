"""Sliders over outcomes that were computed before: mouse, keyboard, without a script, on a phone and on paper."""

from __future__ import annotations

import pytest

import bonwise as bw
from browser.opened import NARROW, contrasts, fits, ids_once
from routing.tables import weak_judge

SLIDERS = ("gate-slider", "share-slider", "labels-slider")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the page of an audit with all three sliders."""
    path = tmp_path_factory.mktemp("page") / "audit.html"
    frame = weak_judge(60, seed=4)
    bw.audit(frame).to_html(path, also=[bw.route(frame)])
    return path


def box(page, slider):
    """Return a slider's part of the page."""
    return page.locator(f"#{slider}-box")


def shown(page, slider):
    """Return what is shown beside a slider: its value, word, figures and sentence, as they stand in the table."""
    return [one.strip() for one in box(page, slider).locator("[data-cell]").all_text_contents()]


def row(page, slider, at):
    """Return a row of the slider's table."""
    cells = box(page, slider).locator("tbody tr").nth(at).locator("th, td")
    return [one.strip() for one in cells.all_text_contents()]


@pytest.mark.parametrize("slider", SLIDERS)
def test_each_step_shows_its_row(show, made, slider):
    """Every value, by keyboard: what is shown, what a screen reader hears and the colour are those of the row."""
    with show(made) as page:
        field = page.locator(f"#{slider}")
        field.focus()
        page.keyboard.press("Home")
        rows = box(page, slider).locator("tbody tr")
        assert rows.count() >= 21
        for at in range(rows.count()):
            want = row(page, slider, at)
            assert shown(page, slider) == want
            assert field.get_attribute("aria-valuetext") == f"{want[0]}: {want[1]}"
            state = rows.nth(at).get_attribute("class").split()[0]
            assert box(page, slider).locator(".outcome").get_attribute("class") == f"outcome {state}"
            page.keyboard.press("ArrowRight")
        assert field.input_value() == str(rows.count() - 1)


def test_the_mouse_moves_a_slider(show, made):
    """A click at the right end shows the last row, and the remark on this audit goes."""
    with show(made) as page:
        field, here = page.locator("#gate-slider"), box(page, "gate-slider").locator(".here")
        assert here.is_visible()
        field.scroll_into_view_if_needed()
        place = field.bounding_box()
        page.mouse.click(place["x"] + place["width"] - 3, place["y"] + place["height"] / 2)
        assert shown(page, "gate-slider") == row(page, "gate-slider", 20)
        assert shown(page, "gate-slider")[0] == "100%"
        assert here.is_hidden()


def test_the_page_begins_at_the_audit(show, made):
    """Before anything is moved each slider shows the row of the audit, and the tables are folded."""
    with show(made) as page:
        ids_once(page)
        for slider in SLIDERS:
            at = int(page.locator(f"#{slider}").input_value())
            assert shown(page, slider) == row(page, slider, at)
            assert "strong" in box(page, slider).locator("tbody tr").nth(at).get_attribute("class")
            assert not box(page, slider).locator("table").is_visible()
        verdict = page.locator("section.verdict .level").first.inner_text()
        assert verdict == shown(page, "gate-slider")[1] == shown(page, "labels-slider")[1]


def test_the_sliders_come_after_the_first_figures(show, made):
    """The section follows the verdict and what the picks are worth, before any other figure."""
    with show(made) as page:
        order = page.locator("main > section").evaluate_all("(all) => all.map((one) => one.id)")
        assert order.index("what-if") == order.index("verdict") + 2


def test_without_a_script_there_is_the_table(browser, made):
    """No slider that does nothing: the tables stand open, with every row."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(made.as_uri())
        for slider in SLIDERS:
            assert page.locator(f"#{slider}").is_hidden()
            assert box(page, slider).locator(".outcome").is_hidden()
            rows = box(page, slider).locator("tbody tr")
            assert rows.count() >= 21
            assert all(rows.nth(at).is_visible() for at in range(rows.count()))
    finally:
        context.close()


def test_without_data_there_is_no_slider(show, tmp_path):
    """Without routing no share; a judge that ties everything has no section at all."""
    frame = weak_judge(40, seed=4)
    bw.audit(frame).to_html(tmp_path / "alone.html")
    with show(tmp_path / "alone.html") as page:
        assert page.locator("#what-if input[type=range]").count() == 2
        assert page.locator("#share-slider").count() == 0
    bw.audit(frame.assign(judge_score=0.5)).to_html(tmp_path / "ties.html")
    with show(tmp_path / "ties.html") as page:
        assert page.locator("#what-if, input[type=range]").count() == 0


def test_a_phone_and_the_dark(show, made):
    """At 390 px nothing scrolls sideways, at any step, with the tables open too; all text can be read in the dark."""
    with show(made, viewport=NARROW) as page:
        assert fits(page)
        for slider in SLIDERS:
            page.locator(f"#{slider}").focus()
            page.keyboard.press("End")
            box(page, slider).locator("summary").click()
        assert fits(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            least, where = contrasts(page, "#what-if")
            assert least >= 4.5, (scheme, where)


def test_paper_holds_what_is_shown(show, made):
    """In print the outcome stands without slider and table."""
    with show(made) as page:
        page.emulate_media(media="print")
        for slider in SLIDERS:
            assert page.locator(f"#{slider}").is_hidden()
            assert box(page, slider).locator("output").is_visible()
            assert not box(page, slider).locator("tbody tr").first.is_visible()
        assert fits(page)


def test_every_slider_is_labelled(show, made):
    """Each has a label, a value in words, and an output that is read out when it changes."""
    with show(made) as page:
        for slider in SLIDERS:
            labels = page.locator(f"#{slider}").evaluate("(one) => [...one.labels].map((label) => label.innerText)")
            assert len(labels) == 1
            assert labels[0].strip()
            out = box(page, slider).locator("output")
            assert out.get_attribute("for") == slider
            assert out.get_attribute("aria-live") == "polite"
