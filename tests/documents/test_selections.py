from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.selection.recorded import pick_record
from bonwise.selection.result import PickRecord, SelectionsDocument
from bonwise.selection.selection import Comparison, Routed
from bonwise.selection.totals import Totals
from bonwise.table.verdicts import Score, Unscored
from documents.round_trips import read_back, refusal
from selection.test_totals import SETTINGS, selection


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
        comparisons=(Comparison("a", "b", 0.5, 1.0), Comparison("b", "a", None, None)),
        routed=Routed("strong judge", 0.125, "signal above 0.1", first_pick="b"),
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


KEPT = Path(__file__).parent / "kept"


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
