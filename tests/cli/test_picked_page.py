from __future__ import annotations

from pathlib import Path

import pytest

from bonwise.cli.picks import MOST_ROWS, PickedPage
from bonwise.judges.calling import as_judge
from bonwise.routing.router import Router
from bonwise.selection.selection import Comparison
from bonwise.selection.totals import Totals
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, typed
from cli.picked import picks
from cli.served import served
from selection.test_totals import SETTINGS, selection

COMMAND = ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--html", "pages/page.html")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with six pools of three, and another one for the page."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {f"p{at}": ["one", "two", "three"] for at in range(6)})
    Path("pages").mkdir()
    return tmp_path


def noted(collected, pick):
    """Take in a pick as the command does."""
    collected.totals.note(pick)
    collected.note(pick)


def test_a_page_that_can_no_longer_be_written_ends_a_run_as_bad(capsys, folder, monkeypatch):
    """Where the page's folder goes during the run all picks are written, one line names it, and the code is 2."""
    with served(monkeypatch, folder) as script:
        receive = script.receive

        def received(*arguments):
            if Path("pages").is_dir():
                Path("pages").rmdir()
            return receive(*arguments)

        script.receive = received
        done = typed(capsys, *COMMAND)
    assert (done.code, len(picks(done))) == (2, 6)
    assert [line for line in done.err.splitlines() if "no such folder" in line] == [
        "bonwise: pages: no such folder (make the folder first)"
    ]


def test_a_page_says_that_a_failure_ended_the_run(capsys, folder, monkeypatch):
    """A run that ends at the first answer that does not arrive leaves a page of the picks before, which says so."""
    with served(monkeypatch, folder):
        done = typed(capsys, *COMMAND, "--on-failure", "raise", "--max-calls", "9")
    assert done.code != 0
    assert 0 < len(picks(done)) < 6
    assert "Not all pools are here: an error ended the run." in Path("pages/page.html").read_text("utf-8")


def test_comparisons_take_the_room_of_rows(tmp_path):
    """Of pools that have few candidates and many comparisons as many are shown as have 20,000 rows of both."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())
    compared = (Comparison("a", "b", 1.0, None),) * (MOST_ROWS // 4 - 2)
    pools = (Pool(f"p{at}", "q", (Candidate("a", "x"), Candidate("b", "y"))) for at in range(6))
    for pool in collected.passing(pools):
        noted(collected, selection(prompt_id=pool.prompt_id, comparisons=compared))
    assert len(collected.document("").picks) == 4


def test_the_settings_are_those_of_all_picks(tmp_path):
    """Sets of parameters of every pick are kept once, and a router adds its signal and its share."""
    router = Router(as_judge(lambda *_: 1.0), "interval_width", 0.125)
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals(), router)
    for at, warmth in enumerate((0.0, 1.0, 0.0)):
        settings = {**SETTINGS, "parameters": [{"temperature": warmth}]}
        noted(collected, selection(prompt_id=f"p{at}", settings=settings))
    settings = collected.document("").settings
    assert settings.parameters == [{"temperature": 0.0}, {"temperature": 1.0}]
    assert (settings.signal, settings.share) == ("interval_width", 0.125)


def test_the_words_of_judges_take_the_room_of_words(tmp_path):
    """What a judge said is cut like any text, with a mark, and is left out where the page is full."""
    collected = PickedPage(tmp_path / "page.html", "pools.jsonl", Totals())
    verdicts = (Score(1.0, raw="x" * 9_000), Unscored("empty answer", "short"))
    pools = (Pool(f"p{at}", "q", (Candidate("a", "t" * 9_000), Candidate("b", "y"))) for at in range(500))
    for pool in collected.passing(pools):
        noted(collected, selection(prompt_id=pool.prompt_id, verdicts=verdicts))
    shown = collected.document("").picks
    said = shown[0].pick.raw
    assert said == ["x" * 4_000 + "\n[5000 characters left out here]", "short"]
    whole = sum(len(one.pick.raw[0] or "") for one in shown if one.pick.raw)
    assert whole + sum(len(one.candidates[0].text) for one in shown) < 6_000_000
