"""Routers that are saved and come back, with their settings and their document."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, FileError, UsageError
from bonwise.routing.control import FirstPass
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.result_router import FEATURES, MOST_CALIBRATION, RANGES
from bonwise.routing.router import Router
from bonwise.routing.saved import SavedRouter, thinned
from bonwise.routing.signals import SIGNALS
from bonwise.table.verdicts import Score
from bonwise.testing import simulate
from selection.drawn_settings import LOCAL, length, routers


def learnt():
    """Return a router that was learnt."""
    rng = np.random.default_rng(0)
    features = {"margin": rng.uniform(size=100), "level": rng.uniform(size=100)}
    model = fit_gain(features, features["level"] / 5)
    values = thinned(model.predict(features))
    return SavedRouter.of("margin_level", 0.25, 0.15, values, model, judge="j", scale="0:100"), features


def test_a_router_survives_its_file_to_the_bit(tmp_path):
    """Saved and loaded, a router gives the same signal, threshold, calibration and fit report."""
    router, features = learnt()
    router.save(tmp_path / "router.json")
    again = SavedRouter.load(tmp_path / "router.json")
    assert again.to_dict() == router.to_dict()
    assert np.array_equal(again.value(features), router.value(features))
    assert again.model.fit.correlation == router.model.fit.correlation


def test_the_calibration_is_thinned_evenly():
    """A hundred thousand values become 2,000 in rising order, ends included."""
    found = thinned(np.random.default_rng(1).permutation(np.r_[np.arange(100_000.0), np.nan]))
    assert len(found) == MOST_CALIBRATION
    assert (found[0], found[-1]) == (0, 99_999)
    assert np.ptp(np.diff(found)) <= 1


def test_a_weighted_calibration_is_that_of_the_whole():
    """A value of weight 3 holds three quarters of the calibration beside one of weight 1."""
    found = thinned(np.array([0.4, np.nan, 0.1]), np.array([1.0, 5.0, 3.0]))
    assert len(found) == MOST_CALIBRATION
    assert np.mean(found == 0.1) == 0.75


DAMAGE = {
    "text": "not json",
    "list": "[]",
    "other": '{"schema": "bonwise.audit/1"}',
    "signal": {"signal": "nonsense"},
    "share": {"share": 1.5},
    "threshold": {"threshold": None},
    "calibration": {"calibration": []},
    "order": {"calibration": [0.2, 0.1]},
    "model": {"model": None},
    "first": {"first": "draw_1"},
    "coefficients": {"model": {"names": ["margin"]}},
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_bad_file_is_one_clear_error(tmp_path, kind):
    """Whatever is wrong with the file: its name, one line, and how to make a good one."""
    damage = DAMAGE[kind]
    text = damage if isinstance(damage, str) else json.dumps({**learnt()[0].to_dict(), **damage})
    path = tmp_path / "router.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"router\.json") as caught:
        SavedRouter.load(path)
    assert "bonwise route" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named(tmp_path):
    """A file that lacks a key says which."""
    plain = learnt()[0].to_dict()
    del plain["share"]
    path = tmp_path / "router.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(FileError, match="share is missing"):
        SavedRouter.load(path)


def test_an_absent_file_is_an_error(tmp_path):
    """No file, no router."""
    with pytest.raises(FileError, match="no such file"):
        SavedRouter.load(tmp_path / "none.json")


def test_the_calibration_cannot_be_changed():
    """A saved router is a value."""
    with pytest.raises(ValueError, match="frozen"):
        learnt()[0].calibration = [1.0]


WIDTHS = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def through_json(router):
    """Return the router that a file of its settings makes."""
    return Router.from_dict(json.loads(json.dumps(router.to_dict(), allow_nan=False)))


def unpickled(router):
    """Return what comes out of a pickle of it."""
    return pickle.loads(pickle.dumps(router))  # noqa: S301 - it was made here


WAYS = pytest.mark.parametrize("way", [through_json, unpickled, copy.copy, copy.deepcopy])


def routes_of(router, widths):
    """Route pools whose intervals have these widths."""
    return [
        router.consider(FirstPass([Score(0.5, low=0.5 - one / 2, high=0.5 + one / 2), Score(0.4)]), key=f"p{at}")
        for at, one in enumerate(widths)
    ]


@given(router=routers())
@WAYS
@settings(max_examples=30)
def test_settings_come_back(way, router):
    """Of any router: by a mapping through JSON, by a pickle, by a copy."""
    again = way(router)
    assert again.to_dict() == router.to_dict()
    assert (again.strong.version, again.among) == (router.strong.version, router.among)
    assert (again.second is None) == (router.second is None)
    assert again.report() == router.report()


@given(seed=st.integers(0, 99), share=st.floats(0.05, 1), cap=st.booleans(), before=WIDTHS, widths=WIDTHS)
@WAYS
@settings(max_examples=30)
def test_what_was_seen_stays_behind(way, seed, share, cap, before, widths):
    """A copy of a router that has seen pools routes as one just made, and does not count for the original."""
    steering = {"share": share, "seed": seed, "window": 20, "cap": cap}
    judge = bw.judge_from_spec("local:length")
    router = Router(judge, **steering)
    routes_of(router, before)
    report = router.report()
    again = way(router)
    assert again.report().seen == 0
    assert routes_of(again, widths) == routes_of(Router(judge, **steering), widths)
    assert router.report() == report


@given(
    judge=LOCAL, values=st.lists(st.floats(0, 1), min_size=1, max_size=20), share=st.floats(0.05, 1), widths=WIDTHS
)
@WAYS
@settings(max_examples=30)
def test_a_saved_router_comes_back(way, judge, values, share, widths):
    """The values of its study too, by which the very first pools are ranked; its file is needed no longer."""
    saved = SavedRouter.of("interval_width", share, max(values), np.sort(np.array(values)), judge="weak")
    router = Router(judge, saved)
    again = way(router)
    assert again.share == share
    assert routes_of(again, widths) == routes_of(Router(judge, saved), widths)
    assert again.to_dict() == router.to_dict()
    assert again.to_dict()["signal"]["schema"] == "bonwise.router/1"


@pytest.mark.parametrize(
    ("mapping", "said", "mend"),
    [
        ({}, "router has no strong", "state strong"),
        ([], "router must be a mapping, not list", "its keys are strong"),
        ({"strong": "local:length", "shares": 0.5}, "router has no key 'shares'", "share, among"),
        ({"strong": 5}, "router.strong must be a mapping, not int", "spec, base_url, price, seed, params"),
        ({"strong": {"spec": "local:length", "seed": "x"}}, "router.strong has the seed 'x'", "whole number"),
        ({"strong": "local:length", "seed": "x"}, "router.seed is 'x'", "whole number"),
        ({"strong": "local:length", "cap": 1}, "router.cap is 1", "true or false"),
        ({"strong": "local:length", "share": "half"}, "share is 'half'", "from 0 to 1"),
        ({"strong": "local:length", "signal": {"signal": "margin"}}, "router.signal is no saved router", "--save"),
    ],
)
def test_a_mapping_that_means_nothing_is_refused(mapping, said, mend):
    """With one line, and a hint that says how to mend it."""
    with pytest.raises(UsageError) as caught:
        Router.from_dict(mapping)
    assert said in caught.value.message
    assert mend in caught.value.hint


@pytest.mark.parametrize("name", ["strong", "second"])
def test_a_function_is_refused(name):
    """No plain value states it; a pickle does."""
    judges = {"strong": bw.Pointwise("openai/m"), "second": bw.Pointwise("openai/m"), name: length}
    router = Router(judges["strong"], "disagreement", second=judges["second"])
    with pytest.raises(BonwiseError, match=f"router.{name} is the Python function length"):
        router.to_dict()
    assert getattr(unpickled(router), name).function is length


def test_the_document_knows_the_signals():
    """Names, which of them are learnt, and from what, are those of the signals; the others have their range."""
    learnt = {name: one for name, one in SIGNALS.items() if one.learnt}
    names = SavedRouter.model_json_schema()["properties"]["signal"]["enum"]
    assert set(names) == set(SIGNALS)
    assert {name: set(features) for name, features in FEATURES.items()} == {
        name: {*one.needs, *one.also} for name, one in learnt.items()
    }
    assert all(FEATURES[name] == (*one.needs, *one.also) for name, one in learnt.items())
    assert set(RANGES) == SIGNALS.keys() - learnt.keys()


@pytest.mark.parametrize("size", [12, 30, 90, 2500])
@pytest.mark.parametrize("seed", range(4))
def test_routers_of_all_studies_are_documents(size, seed, tmp_path):
    """Whatever a study recommends can be saved and read, few prompts, a share of all, and weights among them."""
    frame = simulate("arena", n=size, seed=seed).frame()
    chance = np.random.default_rng(seed)
    frame["low"], frame["high"] = frame["judge_score"] - chance.random(len(frame)) / 9, frame["judge_score"] + 0.1
    propensity = {prompt: chance.choice([0.5, 1.0]) for prompt in frame["prompt_id"].unique()}
    weighted = frame.assign(propensity=frame["prompt_id"].map(propensity))
    for table in (frame, weighted):
        for share in (0.05, 0.25, 0.9):
            saved = bw.route(table, share=share, seed=seed).router()
            saved.save(tmp_path / "router.json")
            again = SavedRouter.load(tmp_path / "router.json")
            assert again.to_dict() == saved.to_dict()
            assert Router(lambda _prompt, _text: 0.0, again).share == share


MODEL = {
    "names": ["margin", "level"],
    "means": [0.0, 0.0],
    "scales": [1.0, 1.0],
    "coefficients": [1.0, 1.0],
    "intercept": 0.0,
    "penalty": 1.0,
    "fit": None,
}


def router(**changes):
    """Return a router by the width of the interval, with some values changed."""
    values = {"signal": "interval_width", "share": 0.5, "threshold": 0.2, "calibration": np.array([0.1, 0.2, 0.3])}
    return SavedRouter.of(**{**values, **changes})


def learnt_of_router_document(**changes):
    """Return a router by a model, with some values of the model changed."""
    return router(signal="margin_level", calibration=np.linspace(0, 1, 9), model={**MODEL, **changes})


NO_ROUTER = {
    "share": ({"share": 0}, "share should be above 0, not 0"),
    "share above": ({"share": 1.5}, "share should be at most 1, not 1.5"),
    "threshold": ({"threshold": math.nan}, "threshold should be a finite number"),
    "threshold far": ({"threshold": 9.0}, "has a threshold beyond the values of its calibration"),
    "signal": ({"signal": "none"}, "signal should be 'margin', 'margin_level'"),
    "calibration": ({"calibration": np.array([])}, "calibration should not be empty"),
    "calibration of two": ({"calibration": np.zeros((2, 2))}, "calibration"),
    "calibration NaN": ({"calibration": np.array([0.1, math.nan])}, "calibration.* should be a finite number"),
    "order": ({"calibration": np.array([0.3, 0.1])}, "calibration should be in rising order"),
    "too many": ({"calibration": np.linspace(0, 1, 2001)}, "calibration should hold at most 2000"),
    "below": ({"calibration": np.array([-0.1, 0.3])}, "calibration outside of what interval_width can be, 0 or more"),
    "model": ({"model": MODEL}, "has a model, with the signal interval_width"),
    "first": ({"first": "draw_1"}, "first should be 'score' or 'draw_0'"),
    "scale": ({"scale": "5:1"}, "scale a scale needs LOW below HIGH"),
    "judge": ({"judge": " "}, "judge should not be empty"),
    "captured": ({"captured": {"estimate": 0.5}}, "captured.low is missing"),
}


@pytest.mark.parametrize("name", NO_ROUTER)
def test_a_router_made_in_python_is_held_to_the_same(name):
    """What no file may hold cannot be made either: a ValueError of one line."""
    changes, words = NO_ROUTER[name]
    with pytest.raises(ValueError, match=words) as caught:
        router(**changes)
    assert "\n" not in str(caught.value)


def test_a_model_is_of_features_in_their_order():
    """Lists of another length, features of another signal, twice, or in another order are refused."""
    changes = {
        "3 means for 2 names": {"means": [0.0, 0.0, 0.0]},
        "names are not features of margin_level in their order": {"names": ["level", "margin"]},
        "names a feature twice": {"names": ["level", "level"]},
        r"names\[0\] should be": {"names": ["nothing", "level"]},
        "names are not": {"names": ["width", "disagreement"]},
        r"coefficients\[0\] should be a finite number": {"coefficients": [math.inf, 0.0]},
        "names should not be empty": {"names": [], "means": [], "scales": [], "coefficients": []},
        r"scales\[1\] should be above 0": {"scales": [1.0, 0.0]},
    }
    for words, changed in changes.items():
        with pytest.raises(ValueError, match=words):
            learnt_of_router_document(**changed)


def test_a_fit_report_comes_back():
    """A model that was cross-fitted is the same after its file, the law of its estimates left out."""
    chance = np.random.default_rng(0)
    features = {"margin": chance.random(80), "level": chance.random(80)}
    made = router(
        signal="margin_level", calibration=np.linspace(0, 1, 9), model=fit_gain(features, features["level"])
    )
    again = SavedRouter.model_validate(json.loads(made.to_json()))
    assert again == made
    assert again.model == made.model
    assert again.model.fit is not None
    assert np.array_equal(again.model.predict(features), made.model.predict(features))
