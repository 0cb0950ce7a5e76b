from __future__ import annotations

import copy
from functools import cache

import pandas as pd
import pytest

import bonwise as bw
from bonwise.routing.result import RouteStudy
from documents.round_trips import read_back, refusal
from routing.tables import weak_judge


@cache
def study():
    """Study one judge whose draws are repeated, with a joint budget."""
    return bw.route(weak_judge(150, draws=4), share=0.1, mean_calls=20, strong_cost=20)


def several():
    """Return the document of a study in which one judge could not be studied."""
    one = study()
    return RouteStudy.of(one.judges, one.settings, {"mute": "too few labels"})


def changed(change, document=None):
    """Return a document after its plain form was changed."""
    plain = copy.deepcopy((document or study()).to_dict())
    change(plain)
    return RouteStudy.model_validate(plain)


@pytest.mark.parametrize("which", [study, several], ids=["one", "several"])
def test_what_is_written_is_read_back(tmp_path, which):
    """A document of one judge and one of several are read back, with the frame of the result."""
    loaded = read_back(which(), tmp_path)
    pd.testing.assert_frame_equal(loaded.to_frame(), study().to_frame())
    assert set(loaded.judges) == {"weak"}
    assert loaded.judges["weak"] == study().judges["weak"]


def test_one_judge_stands_beside_the_settings():
    """What was found of one judge is at the top; with a judge that was refused all are in `judges`."""
    plain = study().to_dict()
    assert list(plain)[:4] == ["schema", "settings", "judge", "data"]
    assert "judges" not in plain
    both = several().to_dict()
    assert list(both) == ["schema", "settings", "judges", "not_studied"]
    assert both["not_studied"] == {"mute": "too few labels"}
    assert both["judges"]["weak"] == {key: plain[key] for key in list(plain)[3:]}


def test_a_key_that_says_nothing_is_absent():
    """There is a budget where one was split, a reason where figures are missing, labels left out where there are."""
    plain = bw.route(weak_judge(60)).to_dict()
    assert "budget" not in plain
    assert "budget" in study().to_dict()
    assert plain["settings"]["mean_calls"] is None
    assert "labels_left_out" not in plain["settings"]
    assert "fewer than" in plain["signals"]["expected_gain"]["reason"]
    assert not {"features", "lacking", "decomposition", "note"} & set(plain["signals"]["expected_gain"])
    assert "reason" not in plain["signals"]["margin"]


def test_scores_off_the_unit_scale_have_no_grid(tmp_path):
    """The grid is null where scores leave [0, 1], and is a key all the same."""
    frame = weak_judge(100).drop(columns="ci_width")
    frame[["judge_score", "oracle_label"]] *= 50
    document = bw.route(frame)
    assert document["gain_by_margin_and_level"] is None
    read_back(document, tmp_path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("settings.share", 1.0),
        ("settings.confidence", 95.0),
        ("settings.more", 1),
        ("settings.strong_cost", None),
        ("data.labelled_prompts", -1),
        ("data.method", "drawn"),
        ("data", ...),
        ("perfect", []),
        ("perfect.0.share", 0.0),
        ("signals.luck", {}),
        ("signals.margin.shares.0.value", "0.5"),
        ("gain_by_margin_and_level", []),
        ("voi_calibrated.answer", "maybe"),
        ("recommendation.signal", "luck"),
        ("budget.share", 1.5),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value):
    """A value of another kind, a missing key and an unknown one are refused by their name."""
    assert keys.split(".")[0] in refusal(study(), tmp_path, keys, value)


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        ("not_studied", {}, "one judge or several"),
        ("data.labelled_prompts", 10**6, "more prompts are labelled than there are"),
        ("perfect.0.share", 0.07, "other shares than perfect"),
        ("settings.share", 0.2, "another share than settings.share"),
        ("signals.margin.reason", "none", "reason why there are no figures"),
        ("recommendation.signal", "disagreement", "disagreement, which has no figures"),
        ("settings", {**study().settings.to_dict(), "mean_calls": None, "strong_cost": None}, "budget of 'weak'"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, keys, value, said):
    """Shares, signals and the recommendation fit one another, or the file was changed."""
    assert said in refusal(study(), tmp_path, keys, value)


def test_judges_without_a_list_of_the_refused_are_refused(tmp_path):
    """The document of several judges says which were not studied, if only that none were."""
    assert "not_studied is missing" in refusal(several(), tmp_path, "not_studied", ...)
