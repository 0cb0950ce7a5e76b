"""What selections give back: their totals, their documents, and the page of what was picked."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.calls.bill import Bill
from bonwise.cli.picks import MOST_ROWS, PickedPage
from bonwise.judges.calling import as_judge
from bonwise.routing.router import Router
from bonwise.selection.recorded import pick_record
from bonwise.selection.result import ComparisonRecord, PickRecord, RoutedRecord, SelectionsDocument
from bonwise.selection.selection import Selection
from bonwise.selection.totals import UNASKED, Totals
from bonwise.table.pools import Candidate, Pool
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, typed
from cli.picked import picks
from cli.served import served
from results.round_trips import read_back, refusal

SETTINGS = {
    "judge": "j",
    "judge_version": "1",
    "strategy": "greedy",
    "seed": 0,
    "parameters": [],
    "on_failure": "owe",
    "version": "1.2.3",
}


def comparison(a, b, value, order_effect):
    """Return a comparison of a pick."""
    return ComparisonRecord(a=a, b=b, value=value, order_effect=order_effect)


def routed(strong, signal, reason, first_pick=None):
    """Return what a router made of a pool."""
    return RoutedRecord(strong=strong, signal=signal, reason=reason, first_pick=first_pick)


def selection(**more):
    """Return a pick of two candidates."""
    given = {
        "prompt_id": "p",
        "best": "a",
        "best_id": "a",
        "index": 0,
        "text": "the text",
        "ids": ("a", "b"),
        "scores": (1.0, None),
        "ranking": ("a",),
        "tied": (),
        "decided_by": "score",
        "unscored": {"b": "empty answer"},
        "settings": SETTINGS,
        "stopped": "every candidate was scored once",
    }
    return Selection(**{**given, **more})


def totals(*picks):
    """Return the totals of picks."""
    found = Totals()
    for pick in picks:
        found.note(pick)
    return found.record().to_dict()


def test_counts_are_those_of_the_picks():
    """Pools, candidates, ties, reasons and failures are counted."""
    found = totals(
        selection(),
        selection(decided_by="tie-break", tied=("a", "b"), unscored={}),
        selection(decided_by="owed", best_id=None, index=None, failure="no answer", unscored={"a": "x", "b": "x"}),
    )
    assert (found["pools"], found["candidates"], found["picked"], found["tied"]) == (3, 6, 2, 1)
    assert found["decided_by"] == {"score": 1, "tie-break": 1, "owed": 1}
    assert found["unscored"] == {"x": 2, "empty answer": 1}
    assert found["failures"] == {"no answer": 1}


def test_an_unknown_cost_hides_no_other():
    """The cost is that of the pools whose cost is known, and the others are counted; tokens are of all."""
    bills = Bill(calls=1, input_tokens=5, cost=0.5), Bill(calls=2, input_tokens=7, cost=None), Bill(from_ledger=3)
    found = totals(*(selection(bill=bill) for bill in bills))
    assert (found["cost"], found["unpriced"]) == (0.5, 1)
    assert (found["calls"], found["answers"], found["input_tokens"]) == (3, 6, 12)


def test_order_and_routes_are_summed():
    """The order effect is the mean over pairs in both orders; what a router sent and changed is counted."""
    pairs = (comparison("a", "b", 1.0, 0.0), comparison("a", "b", 0.5, 1.0), comparison("a", "b", None, None))
    sent = routed("strong", 0.3, "signal above", first_pick="b")
    kept = routed(None, 0.1, "signal below", first_pick="a")
    found = totals(selection(comparisons=pairs, routed=sent), selection(routed=kept))
    assert found["order"] == {"pairs": 2, "advantage": 0.5, "differing": 1, "without_verdict": 1}
    assert found["routed"] == {"seen": 2, "sent": 1, "changed": 1, "reasons": {"signal above": 1, "signal below": 1}}


def test_a_lead_of_whichever_was_shown_differs():
    """A pair differs with its order where being shown first helped, and where it hurt."""
    pairs = (comparison("a", "b", 0.5, 1.0), comparison("a", "b", 0.5, -1.0), comparison("a", "b", 1.0, 0.0))
    assert totals(selection(comparisons=pairs))["order"]["differing"] == 2


def test_a_change_of_strength_is_none_of_side():
    """Pairs where one candidate is preferred in both orders, or where rounding alone differs, do not differ."""
    pairs = (comparison("a", "b", 0.8, 0.2), comparison("a", "b", 0.5, 1e-16), comparison("a", "b", 0.55, 0.1))
    assert totals(selection(comparisons=pairs))["order"]["differing"] == 1


def test_a_second_opinion_that_agrees_changes_nothing():
    """A pool that was sent on and kept its first pick is sent, and not changed."""
    agreed = routed("strong", 0.3, "signal above", first_pick="a")
    found = totals(selection(routed=agreed))["routed"]
    assert (found["sent"], found["changed"]) == (1, 0)


def test_one_candidate_ties_with_nobody():
    """A tie takes two: a single best candidate is none."""
    assert totals(selection(tied=("a",)), selection(tied=("a", "b")))["tied"] == 1


@pytest.mark.parametrize("how", sorted(UNASKED))
def test_where_no_strategy_came_to_its_end_none_stopped(how):
    """Why a strategy stopped is counted of the pools that it decided, and of no others."""
    found = totals(selection(decided_by=how), selection(stopped="time"))
    assert found["stopped"] == {"time": 1}


def test_a_known_reason_keeps_its_name():
    """A reason that has its place is counted there also when all places are taken."""
    others = (selection(unscored={"b": f"request {at} refused"}) for at in range(150))
    found = totals(selection(), *others, selection())["unscored"]
    assert (found["empty answer"], found["other reasons"]) == (2, 51)


def test_reasons_are_bounded():
    """A thousand reasons that all differ take a hundred places and one for the others."""
    found = totals(*(selection(unscored={"b": f"request {at} refused"}) for at in range(1000)))
    assert len(found["unscored"]) == 101
    assert sum(found["unscored"].values()) == 1000


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=60))
def test_latencies_are_exact_to_a_hundredth(seconds):
    """The quantile is the latency of the pool at that place, within 1 % (and a thousandth of a second)."""
    found = totals(*(selection(latency=one) for one in seconds))["latency"]
    for name, part in (("half", 0.5), ("most", 0.95)):
        exact = sorted(seconds)[math.ceil(part * len(seconds)) - 1]
        assert math.isclose(found[name], exact, rel_tol=0.011, abs_tol=0.002)
    assert math.isclose(found["mean"], math.fsum(seconds) / len(seconds), abs_tol=0.001)
    assert found["longest"] == round(max(seconds), 3)


def test_totals_of_nothing_are_json():
    """Without a pool the figures are 0 or null."""
    assert json.loads(json.dumps(totals(), allow_nan=False))["latency"] is None


def made(*picks, words=None, **settings):
    """Return the document of picks, each with the words of its pool."""
    totals = Totals()
    for pick in picks:
        totals.note(pick)
    shown = [
        {
            "pick": pick_record(pick, whole=False).to_dict(),
            "prompt": "the prompt",
            "prompt_left_out": 0,
            "candidates": [
                {"id": name, "text": (words or {}).get(name, f"text of {name}"), "text_left_out": 0}
                for name in pick.ids
            ],
        }
        for pick in picks
    ]
    written = {
        "schema": "bonwise.selections/1",
        "settings": {**SETTINGS, "source": "pools.jsonl", "ended": "", **settings},
        "totals": totals.record().to_dict(),
        "picks": shown,
        "of": len(picks),
    }
    return SelectionsDocument.model_validate(written)


def full():
    """Return a pick of which everything is known."""
    return selection(
        tied=("a", "b"),
        level=("a", "b"),
        standard_errors=(0.25, None),
        p_best=(0.9, 0.1),
        expected_regret=0.02,
        draws=(3, 1),
        comparisons=(comparison("a", "b", 0.5, 1.0), comparison("b", "a", None, None)),
        routed=routed("strong judge", 0.125, "signal above 0.1", first_pick="b"),
        failure="the server was gone",
    )


def test_what_is_written_is_read_back(tmp_path):
    """A document of many picks and one of a single pick are read back."""
    settings = {"deadline": 50.0, "strong": "s", "signal": "interval_width", "share": 0.25}
    loaded = read_back(made(full(), selection(prompt_id="q"), **settings), tmp_path)
    assert loaded.settings.share == 0.25
    read_back(bw.select("Say hi", ["hello", "hi"], judge=lambda _, text: -len(text)).document(), tmp_path)


def test_the_frame_has_a_row_per_candidate(tmp_path):
    """Candidates of all picks stand below each other, with ranks and what is known of each."""
    frame = read_back(made(full(), selection(prompt_id="q")), tmp_path).to_frame()
    assert frame["prompt_id"].tolist() == ["p", "p", "q", "q"]
    assert frame["rank"].tolist() == [1, pd.NA, 1, pd.NA]
    assert frame["draws"].dropna().tolist() == [3, 1]
    assert frame["tied"].tolist() == [True, True, False, False]
    pd.testing.assert_frame_equal(full().to_frame(), frame[:2])


def test_a_line_is_what_the_command_writes():
    """A pick of Python has the keys of a line, in their order; optional settings are absent."""
    line = bw.select("Say hi", ["hello", "hi"], judge=lambda _, text: -len(text), prompt_id="p").to_dict()
    assert list(line)[:5] == ["prompt_id", "best", "index", "text", "ids"]
    assert list(line)[-7:] == ["unscored", "settings", "low", "high", "draw_scores", "raw", "evaluations"]
    assert "schema" not in line
    assert list(line["settings"])[-1] == "version"
    assert json.loads(json.dumps(line, allow_nan=False)) == line


def test_what_stands_elsewhere_is_no_key():
    """In a document of many picks no line repeats its text and the settings; in that of a single pick it does."""
    (shown, _) = made(selection(), selection(prompt_id="q")).to_dict()["picks"]
    assert {"text", "settings"}.isdisjoint(shown["pick"])
    (alone,) = selection(best=None, best_id=None, index=None, text=None).document().to_dict()["picks"]
    assert alone["pick"]["text"] is None
    assert list(alone) == ["pick", "prompt", "candidates"]
    assert list(alone["candidates"][0]) == ["id", "text"]


def test_parameters_are_what_json_holds():
    """A tuple among the parameters that a judge names is a list in the line."""
    pick = selection(settings={**SETTINGS, "parameters": [{"stop": ("a", "b")}]})
    assert pick.to_dict()["settings"]["parameters"] == [{"stop": ["a", "b"]}]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("picks.0.pick.decided_by", "magic", "picks[0].pick.decided_by should be"),
        ("picks.0.pick.best", "b", "picks[0].pick should have as best"),
        ("picks.0.pick.index", 7, "picks[0].pick should have as best"),
        ("picks.0.pick.index", None, "picks[0].pick should have as best"),
        ("picks.0.pick.scores", [1.0], "picks[0].pick should have one score"),
        ("picks.0.pick.draws", [1], "picks[0].pick should have standard_errors"),
        ("picks.0.pick.low", [1.0], "picks[0].pick should have low, high, draw_scores and raw"),
        ("picks.0.pick.raw", ["x"], "picks[0].pick should have low, high, draw_scores and raw"),
        ("picks.0.pick.draw_scores", [[1.0], "x"], "picks[0].pick.draw_scores"),
        ("picks.0.pick.scores", ["1.0", None], "picks[0].pick.scores[0] should be"),
        ("picks.0.pick.calls", -1, "picks[0].pick.calls should be at least 0"),
        ("picks.0.candidates.0.id", "x", "picks[0] should have the candidates"),
        ("settings.on_failure", "wait", "settings.on_failure"),
        ("settings.judge", ..., "settings.judge"),
        ("totals.decided_by", {"magic": 2}, "totals.decided_by.magic"),
        ("totals.order.advantage", 0.5, "totals should have an order.advantage"),
        ("of", 7, "should say under of"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A value that no run leaves is refused, and its place is named."""
    assert named in refusal(made(selection(), selection(prompt_id="q")), tmp_path, keys, value)


KEPT = Path(__file__).parents[1] / "results" / "kept"


@pytest.mark.parametrize("name", ["adaptive.jsonl", "value.jsonl", "routed.jsonl"])
def test_picks_without_later_keys_are_read(name):
    """A line without the keys of what a judge said is written again as it was."""
    for line in (KEPT / name).read_text("utf-8").splitlines():
        record = PickRecord.model_validate_json(line)
        assert (record.low, record.high, record.draw_scores, record.raw, record.evaluations) == ([], [], [], [], 0)
        assert record.to_dict() == json.loads(line)


def test_the_page_shows_what_the_judge_said(tmp_path):
    """Its words and its interval stand on the card of each candidate."""
    said = (Score(1.0, low=0.25, high=1.75, raw="rather <good>"), Unscored("refused", "I will not"))
    made(selection(verdicts=said)).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for word in ("The judge said", "rather &lt;good&gt;", "I will not", "0.25", "1.75"):
        assert word in page


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
    compared = (comparison("a", "b", 1.0, None),) * (MOST_ROWS // 4 - 2)
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
