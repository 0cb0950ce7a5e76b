from __future__ import annotations

import json

import pandas as pd
import pytest

from bonwise.errors import UsageError
from bonwise.loading import load
from documents.planned import COMPARED, DRAWS, MONITORS, PLANS, VOTES, made
from documents.round_trips import read_back, refusal

KINDS = [*PLANS, *DRAWS, *COMPARED, *MONITORS, *VOTES]


@pytest.fixture(scope="module")
def documents():
    """Return the document of each kind."""
    return {kind: made(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_back(tmp_path, documents, kind):
    """Every document is read back to the same bytes, and its table is that of the result."""
    document = documents[kind]
    loaded = read_back(document, tmp_path)
    assert list(loaded.frame_rows()) == list(document.frame_rows())
    if kind not in DRAWS:
        pd.testing.assert_frame_equal(loaded.to_frame(), document.to_frame())
    assert str(loaded) == str(document)


def test_the_table_of_a_draw_is_its_design(tmp_path, documents):
    """A draw gives a row per prompt; its JSON, which holds none, a row per stratum, and no sheet."""
    draw = documents["uniform"]
    assert len(draw.to_frame()) == len(draw.design.frame()) == draw.data.prompts
    loaded = read_back(draw, tmp_path)
    assert list(loaded.to_frame()["drawn_now"]) == [20]
    with pytest.raises(UsageError, match="sheet is made from the data behind the result"):
        _ = loaded.sheet


def test_keys_that_say_nothing_are_absent(documents):
    """Optional keys stand where they say something; others are null."""
    assert "expected_more_reason" not in documents["votes"].to_dict()
    assert documents["on"].to_dict()["data"]["labels_left_out"] == {}
    assert documents["uniform"].to_dict()["width_ratio"].keys() == {"estimate", "explained", "assumption"}
    assert documents["pilot"].to_dict()["pilot"] is not None
    assert "judges" not in documents["pilot"].to_dict()["pilot"]
    assert documents["alone"].to_dict()["variance"] == {"pairs": 0, "reason": "no prompt column was named"}


def test_settings_of_a_plan_keep_their_order(tmp_path, documents):
    """What the user said stands before what follows from it, also after it was read back."""
    said = list(documents["rivals"].to_dict()["settings"])
    assert said[-3:] == ["design", "error_correlation", "version"]
    given = list(documents["complete"].to_dict()["settings"])
    assert given.index("design") < given.index("power")
    assert list(read_back(documents["rivals"], tmp_path).settings.to_dict()) == said


@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        ("precision", "question", "recall"),
        ("precision", "now.n", -1),
        ("precision", "now.estimate", "high"),
        ("precision", "looks.0.n", 1.5),
        ("precision", "data.kurtosis", ...),
        ("precision", "settings.confidence", 95.0),
        ("precision", "settings.step", 0),
        ("precision", "describes", "everybody"),
        ("precision", "sentences", "one"),
        ("votes", "settings.sides", ["a"]),
        ("votes", "data.votes", True),
        ("votes", "data", None),
        ("votes", "settings", 3),
        ("precision", "data", []),
        ("pilot", "pilot", "28/50"),
        ("rule", "strata.0.propensity", 1.5),
        ("rule", "strata.0.prompts", 0),
        ("rule", "settings.design", "best"),
        ("rule", "settings.labels", 1),
        ("rule", "ess", -1.0),
        ("rule", "data.more", 1),
        ("designs", "designs.uniform.shares.0.labels_only", -1.0),
        ("designs", "designs.worst", {}),
        ("designs", "proxy_chain.0.from", ...),
        ("designs", "settings.draws", 1),
        ("prompts", "pairs.0.margin", 0.7),
        ("prompts", "pairs.0.win_rate.n", -1),
        ("prompts", "detection.0.drawn", "somehow"),
        ("prompts", "settings.power", 0.5),
        ("prompts", "pairs", []),
        ("power", "verdict", "likely"),
        ("power", "sides", 3),
        ("power", "labels", 1.5),
        ("power", "effect.size", 1.0),
        ("power", "power_table.0.power", 1.5),
        ("power", "settings.raters", 0),
        ("power", "settings.power", True),
        ("pilot", "interval", [1]),
        ("pilot", "pilot.votes", -1.0),
        ("preferred", "sequential.mean", [1, 2, 3]),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, documents, kind, keys, value):
    """The message names the key, as one writes it to get at the value."""
    said = refusal(documents[kind], tmp_path, keys, value)
    last = [one for one in keys.split(".") if not one.isdigit()][-1]
    assert last in said


@pytest.mark.parametrize(
    ("kind", "keys", "value", "words"),
    [
        ("precision", "verdict", "continue", "stopped says otherwise"),
        ("precision", "verdict", "stop: better", "not a verdict on precision"),
        ("precision", "question", "preference", "not of the question preference"),
        ("precision", "question", "significance", "not of the question significance"),
        ("precision", "settings.than", 0.5, "half_width, or than with target"),
        ("precision", "data.labelled_prompts", 1000, "more prompts are labelled than there are"),
        ("precision", "now.low", 0.99, "below its start"),
        ("rule", "strata.0.drawn_now", 0, "propensity other than"),
        ("rule", "strata.0.drawn_before", 1000, "prompts were drawn"),
        ("rule", "data.drawn", 21, "data say drawn 21, the strata 20"),
        ("rule", "data.prompts", 81, "data say prompts 81"),
        ("rule", "width_ratio.assumption", ..., "no estimate a reason"),
        ("designs", "settings.shares", [0.25], "holds other shares"),
        ("designs", "designs.uniform", ..., "hold no uniform"),
        ("prompts", "data.votes", 159, "data say votes 159, the pairs 160"),
        ("prompts", "pairs.0.ties", 161, "of 160 cast"),
        ("prompts", "pairs.0.tie_rate", 0.9, "a rate other than 0.9"),
        ("prompts", "pairs.0.margin", 0.25, "no margin of 0.25"),
        ("prompts", "pairs.0.z", None, "z is None where"),
        ("prompts", "variance.total", ..., "stand where there are pairs"),
        ("prompts", "concentration.heterogeneous", 2, "more pairs than were tested"),
        ("power", "labels", None, "make no plan that is feasible"),
        ("infeasible", "labels", 10, "make no plan that is infeasible"),
        ("power", "design", "complete", "the settings say design two_label"),
        ("pilot", "pilot.wins", 51.0, "51.0 of 50.0 votes"),
        ("preferred", "sequential.mean", [9000, 1], "above the most"),
        ("preferred", "sequential.prior", ..., "a test of votes has a prior"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, documents, kind, keys, value, words):
    """Figures that cannot both be true are refused in words."""
    assert words in refusal(documents[kind], tmp_path, keys, value)


def test_the_schema_is_needed(tmp_path, documents):
    """A document without its schema is not a document."""
    path = tmp_path / "none.json"
    path.write_text(json.dumps({k: v for k, v in documents["power"].to_dict().items() if k != "schema"}))
    with pytest.raises(Exception, match="schema"):
        load(path)
