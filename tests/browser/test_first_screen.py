from __future__ import annotations

import re
import time

import pandas as pd
import pytest

import bonwise as bw
from browser.judges import many_judges
from browser.kinds import KINDS, page_of_kind
from browser.opened import contrasts, fits, ids_once
from browser.samples import audited, spoken

SCREENS = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})

PLACES = """() => {
    const box = (name) => document.querySelector(name)?.getBoundingClientRect();
    const end = (name) => box(name) ? box(name).bottom + scrollY : null;
    return {
        word: end(".verdict .level"), line: end(".interval-bar .bar-line"), next: end(".next .command"),
        figure: box("figure")?.top ?? null, table: box("table")?.top ?? null,
        letters: getComputedStyle(document.querySelector(".verdict .level")).fontSize,
    };
}"""
"""Where what a reader needs first ends, in pixels from the top of the page."""

NAMES = ("arena", "arena-all", "useful", "harmful", "open", "labelled-only", "sampled", "single", "several", "ties")


def _with_judge(share, n=120):
    """Return a table whose judge is this near to the labels."""
    frame = spoken(n)
    score = share * frame["oracle_label"] + (1 - abs(share)) * frame["judge_score"] + max(-share, 0)
    return frame.assign(judge_score=score.round(3))


def _partly(whole, n=200):
    """Return a table of which every second prompt, or candidate, has no label."""
    frame = spoken(n)
    unlabelled = frame["prompt_id"].str[-1].isin(list("13579")) if whole else frame.index % 3 != 0
    return frame.assign(oracle_label=frame["oracle_label"].mask(unlabelled))


@pytest.fixture(scope="module")
def pages(shared, tmp_path_factory):
    """Return pages by what they show."""
    folder, arena = tmp_path_factory.mktemp("first"), shared / "data" / "arena100" / "scores.csv"
    made = {
        "arena": bw.audit(arena, exclude=["unhelpful"]),
        "arena-all": bw.audit(arena),
        "useful": bw.audit(_with_judge(0.95)),
        "harmful": bw.audit(_with_judge(-1.0)),
        "open": bw.audit(_with_judge(0.45)),
        "labelled-only": bw.audit(_partly(whole=True)),
        "sampled": bw.audit(_partly(whole=True), design="uniform"),
        "single": bw.audit(_partly(whole=False), design="cells"),
        "several": bw.audit(many_judges(12)),
        "ties": bw.audit(spoken(60).assign(judge_score=0.5)),
    }
    for name, audit in made.items():
        audit.to_html(folder / f"{name}.html")
    return {name: (folder / f"{name}.html", audit) for name, audit in made.items()}


@pytest.mark.shared
@pytest.mark.parametrize("screen", SCREENS, ids=["wide", "phone"])
@pytest.mark.parametrize("name", NAMES)
def test_the_first_screen_decides(show, pages, name, screen):
    """Word of 28 px, line of recovery and what to type next stand on the first screen; figures come before tables."""
    path, audit = pages[name]
    document = audit
    with show(path, viewport=screen) as page:
        places = page.evaluate(PLACES)
        assert places["letters"] == "28px"
        first = document.judges[document.judge] if document.judge else next(iter(document.judges.values()))
        known = first.metrics["recovery"].estimate is not None
        assert (places["line"] is not None) == known
        assert places["word"] < 200
        assert (places["line"] or 0) < (380 if screen["width"] > 400 else 500)
        assert places["next"] < screen["height"]
        assert places["figure"] < (100 if screen["width"] > 400 else 870)
        assert page.locator("header .facts").count() == 0
        assert page.locator("footer .facts").count() == 1
        assert fits(page)
        ids_once(page)
        visible = page.locator("table:visible, figure:visible").evaluate_all("(all) => all.map((one) => one.tagName)")
        assert visible[0] == "FIGURE"
        if not known:
            assert "undefined" in page.locator(".verdict").inner_text()


@pytest.mark.shared
@pytest.mark.parametrize("name", ["arena", "arena-all", "harmful"])
def test_the_line_is_drawn_to_scale(show, pages, name):
    """Dot, gate and interval stand where their figures are; below 0 the line goes on to the left."""
    path, audit = pages[name]
    found = audit.metrics["recovery"]
    with show(path) as page:
        line = page.locator(".bar-line").first.bounding_box()
        middle = {}
        for kind in ("bar-mark.random", "bar-mark.gate", "bar-mark.oracle", "bar-dot"):
            box = page.locator(f".bar-line .{kind}").first.bounding_box()
            middle[kind] = box["x"] + box["width"] / 2
        zero, one = middle["bar-mark.random"], middle["bar-mark.oracle"]
        assert abs(middle["bar-dot"] - (zero + found.estimate * (one - zero))) < 3
        assert abs(middle["bar-mark.gate"] - (zero + 0.5 * (one - zero))) < 3
        reach = page.locator(".bar-reach").first.bounding_box()
        assert abs(reach["x"] - (zero + found.low * (one - zero))) < 3
        assert abs(reach["width"] - (found.high - found.low) * (one - zero)) < 3
        assert (zero > line["x"] + 20) == (found.low < 0)
        told = page.locator(".interval-bar .unseen").text_content()
        assert "random 0%, gate 50%, oracle 100%" in told


@pytest.mark.shared
def test_an_easy_candidate_shows_both_figures(show, pages):
    """Named or not is the reader's choice, so the line shows recovery with the candidate and without it."""
    with show(pages["arena-all"][0]) as page:
        titles = page.locator(".bar-title").all_inner_texts()
        assert [" ".join(one.split()) for one in titles] == [
            "Recovery with unhelpful 66% [58%, 73%]",
            "Recovery without unhelpful 21% [8%, 34%]",
        ]
        assert "control=['unhelpful']" in page.locator(".next").inner_text()


@pytest.mark.shared
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_can_be_read(show, pages, scheme):
    """All its text has a contrast of 4.5 at least."""
    for name in ("arena", "several"):
        with show(pages[name][0], color_scheme=scheme) as page:
            least, where = contrasts(page, ".verdict")
            assert least >= 4.5, where


@pytest.mark.shared
def test_tables_open_on_demand(show, pages):
    """Metrics and levels are folded, with a script and without; an address inside opens what is around it."""
    path, _ = pages["arena"]
    for script in (True, False):
        with show(path, java_script_enabled=script) as page:
            assert not page.locator("table.metrics").is_visible()
            page.locator("details.folded > summary", has_text="21 metrics with").click()
            assert page.locator("table.metrics").is_visible()
            page.locator(".verdict details.folded > summary").click()
            assert page.locator(".verdict table").is_visible()
    with show(path) as page:
        page.locator("nav.contents").get_by_role("link", name="Metrics", exact=True).click()
        page.locator("table.metrics").wait_for()
        assert page.evaluate("location.hash") == "#metrics"


def test_a_page_from_the_command_says_the_command(show, tmp_path, capsys):
    """What to type next is the command that the terminal prints."""
    from bonwise.cli.entry import run  # noqa: PLC0415 - the others make pages in Python

    table = tmp_path / "the scores.csv"
    spoken(60).to_csv(table, index=False)
    run(["audit", str(table), "--html", str(tmp_path / "audit.html")])
    printed = capsys.readouterr().out.replace("\\\n", " ")
    with show(tmp_path / "audit.html") as page:
        commands = page.locator(".next .command code").all_inner_texts()
    assert commands
    assert all(" ".join(one.split()) in " ".join(printed.split()) for one in commands)


@pytest.mark.parametrize(("judges", "wide", "narrow"), [(12, 8_000, 11_000), (60, 12_100, 17_200)])
def test_many_judges_stay_readable(show, tmp_path, judges, wide, narrow):
    """The page of many judges is bounded in height and bytes: a forest in order of recovery, the others folded."""
    path, document = audited(tmp_path, many_judges(judges))
    assert path.stat().st_size < 1_420_000
    for screen, most in ((SCREENS[0], wide), (SCREENS[1], narrow)):
        with show(path, viewport=screen) as page:
            assert page.evaluate("document.documentElement.scrollHeight") < most
            assert fits(page)
    found = pd.Series({name: one["metrics"]["recovery"]["estimate"] for name, one in document["judges"].items()})
    ordered = found.sort_values(ascending=False).index.tolist()
    with show(path) as page:
        ids_once(page)
        drawn = page.locator("#judges figure svg text").all_text_contents()
        assert [one for one in drawn if one in set(ordered)] == ordered
        folded = page.locator("main > details.folded > summary h2").all_inner_texts()
        assert [one for one in folded if one in set(ordered)] == ordered
        third = ordered.index(list(document["judges"])[2])
        section = page.locator("main > details.folded").filter(has=page.locator("#judge-3"))
        assert section.locator("summary h2").first.inner_text() == ordered[third]
        assert section.get_attribute("open") is None
        page.evaluate("location.hash = '#judge-3-metrics'")
        page.locator("#judge-3-metrics table.metrics").wait_for()
        assert section.get_attribute("open") is not None


# The ten-second test, on a page of every kind: answer, certainty and next step without scrolling, by the clock.


SECONDS, WORDS_A_SECOND = 10, 5
"""Of a reader who skims: 300 words a minute."""

CERTAINTY = re.compile(r"\[[^\]]*\d[^\]]*\]")

NO_INTERVAL = ("factor", "pick", "plan", "preferences", "select", "study-requirements")
"""Kinds whose answer counts or plans, so that no interval belongs to it."""

NO_NEXT = ("pick", "preferences", "watch")
"""Kinds that may have nothing to do next."""

NO_VERDICT = ("factor-predict",)
"""Kinds without an answer in one word."""

READ = """() => {
    const box = document.querySelector(".verdict");
    const end = (element) => element ? element.getBoundingClientRect().bottom : null;
    const text = (element) => element ? element.innerText.replace(/\\s+/g, " ").trim() : "";
    const certain = box?.querySelector(".answer b") ?? box?.querySelector(".bar-title");
    const next = box?.querySelector(".next");
    const picture = box?.querySelector("figure svg");
    return {
        word: text(box?.querySelector(".level")), word_end: end(box?.querySelector(".level")),
        answer: text(box?.querySelector(".answer")), certainty: text(certain), certainty_end: end(certain),
        next: text(next), next_end: end(next), picture: picture !== null && picture !== undefined,
        start: picture ? picture.getBoundingClientRect().top : null, scrolled: scrollY,
        title: text(document.querySelector("h1")),
    };
}"""
"""What a reader needs, and where each ends on the screen."""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Return the folder of the pictures of first screens, which stays with the other folders of this run."""
    folder = tmp_path_factory.getbasetemp() / "first-screens"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module", params=[kind for kind in KINDS if kind not in NO_VERDICT])
def made(request, kinds_folder):
    """Return a kind and its page, made before a browser's loop runs."""
    return request.param, page_of_kind(request.param, kinds_folder)


@pytest.mark.parametrize("screen", SCREENS, ids=["wide", "phone"])
def test_ten_seconds_are_enough(show, made, pictures, screen):
    """Answer, certainty, next step and picture of every kind of page are on the first screen, and read in 10 s."""
    kind, path = made
    started = time.monotonic()
    with show(path, viewport=screen) as page:
        seen = page.evaluate(READ)
        opened = time.monotonic() - started
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            least, where = contrasts(page, ".verdict")
            assert least >= 4.5, (scheme, where)
            page.screenshot(path=pictures / f"{kind}-{screen['width']}-{scheme}.png", animations="disabled")
        assert fits(page)
    height = screen["height"]
    assert seen["scrolled"] == 0
    assert seen["word"]
    assert seen["word_end"] < height / 3
    if kind not in NO_INTERVAL:
        assert CERTAINTY.search(seen["certainty"]), seen["answer"]
        assert seen["certainty_end"] < height
    assert seen["next"] or kind in NO_NEXT
    assert (seen["next_end"] or 0) < height
    assert seen["picture"]
    assert seen["start"] < (100 if screen["width"] > 400 else height)
    assert "/" not in seen["title"]
    words = " ".join((seen["title"], seen["word"], seen["answer"])).split()
    assert len(words) / WORDS_A_SECOND <= SECONDS, f"{len(words)} words"
    assert opened < SECONDS
