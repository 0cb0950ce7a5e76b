"""The state of an answer follows the interval, and each result says its limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.estimates import EstimateRecord
from bonwise.report.answers import StatedVerdict, outcome_of, verdict_of_judges
from bonwise.report.blocks import Part, next_of
from bonwise.report.limits import limits
from bonwise.report.numbers import Ends
from bonwise.report.page.rendered import made_on
from bonwise.report.show import describe, markdown, text
from bonwise.results import Document
from docs.stock import stock


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.1, 0.3, "above"), (-0.3, -0.1, "below"), (-0.1, 0.1, "open"), (0.0, 0.2, "open"), (None, None, "open")],
)
def test_an_outcome_follows_the_interval(low, high, outcome):
    """Only an interval that excludes the value decides."""
    assert outcome_of(Ends(0.1, low, high)) == outcome


def test_judges_that_differ_leave_the_state_open():
    """A verdict on several judges is green or red only where all agree."""
    good, bad = StatedVerdict("helps", "good", "It helps."), StatedVerdict("hurts", "bad", "It hurts.")
    (both,) = verdict_of_judges({"a": good, "b": bad})
    (alike,) = verdict_of_judges({"a": good, "b": good})
    assert (both.state, alike.state, alike.title) == ("open", "good", "helps")
    assert list(verdict_of_judges({})) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with scores, picks, labels and verdicts."""
    place = tmp_path_factory.mktemp("answers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        stock()
    return place


MAKERS = {
    "compare": lambda: bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv"),
    "plan": lambda: bw.plan(question="recovery>0", candidates=4, within_r=0.3),
    "route": lambda: bw.route("scores.csv"),
    "requirements": lambda: bw.study_requirements("scores.csv"),
    "label-strategy": lambda: bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
    "calibration": lambda: bw.study_calibration("scores.csv"),
    "mix": lambda: bw.study_mix("scores.csv", control="c3"),
}


def made(kind):
    """Return a result as its document."""
    result = MAKERS[kind]()
    return result if isinstance(result, Document) else result.document()


@pytest.mark.parametrize("kind", MAKERS)
def test_an_answer_comes_first(kind, folder, monkeypatch):
    """Terminals begin with the word and one sentence with a figure; pages say the limits, terminals do not."""
    monkeypatch.chdir(folder)
    document = made(kind)
    first, second, *_ = text(document).splitlines()
    assert first.startswith("Verdict: ")
    assert re.search(r"\d", second)
    verdicts = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    assert len(verdicts) == 1
    assert first == f"Verdict: {verdicts[0].title}"
    titles = [one.title for one in describe(document).blocks if isinstance(one, Part)]
    assert titles.count("What this does not establish") == 1
    assert "What this does not establish" not in text(document)


def test_a_watch_says_its_limits_on_its_page_alone(folder, monkeypatch):
    """An alarm says that a signal moved, not why."""
    monkeypatch.chdir(folder)
    document = bw.watch("picks/*.jsonl", labels="picks_labels.csv")
    titles = [one.title for one in describe(document).blocks if isinstance(one, Part)]
    assert titles[-1] == "What this does not establish"
    assert "does not establish" not in text(document)


def test_routing_is_green_where_its_interval_excludes_nothing_gained(folder, monkeypatch):
    """The state of a route is that of the part of the lift that it captures."""
    monkeypatch.chdir(folder)
    document = bw.route("scores.csv")
    captured = document.judges["judge"].recommendation.captured
    (verdict,) = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    assert isinstance(captured, EstimateRecord)
    assert (verdict.state == "good") == (captured.low > 0)


def test_an_audit_says_its_limits_in_full(folder, monkeypatch):
    """The short form leaves the limits out, the full one has them; a reference is not called labels."""
    monkeypatch.chdir(folder)
    document = bw.audit("scores.csv")
    assert "does not establish" not in text(document)
    assert "What this does not establish" in text(document, full=True)
    words = " ".join(one.text for one in limits("audit", reference="another judge").blocks)
    assert "label" not in words


def test_the_date_of_a_page_can_be_set(folder, monkeypatch):
    """SOURCE_DATE_EPOCH gives the same bytes on any day."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert made_on() == "1970-01-02"
    pages = []
    for name in ("a.html", "b.html"):
        MAKERS["plan"]().to_html(name)
        pages.append(Path(name).read_bytes())
    assert pages[0] == pages[1]
    assert b"Made on 1970-01-02 by bonwise" in pages[0]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", made_on())


@pytest.mark.parametrize("kind", MAKERS)
def test_what_comes_next_is_said_last_and_once(kind, folder, monkeypatch):
    """A page says it in the verdict; a terminal and Markdown end with it."""
    monkeypatch.chdir(folder)
    document = made(kind)
    verdicts = [one for one in describe(document).blocks if isinstance(one, Part) and one.role == "verdict"]
    (last,) = next_of(verdicts)
    assert " ".join(text(document).split()).endswith(" ".join(["Next:", *(one.text for one in last.blocks)]))
    for one in last.blocks:
        assert " ".join(text(document).split()).count(one.text) == 1
    assert markdown(document).count("\n### Next\n") == 1
