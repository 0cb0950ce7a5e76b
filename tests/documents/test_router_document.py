from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bonwise as bw
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.result_router import FEATURES, RANGES
from bonwise.routing.router import Router
from bonwise.routing.saved import SavedRouter
from bonwise.routing.signals import SIGNALS
from bonwise.testing import simulate


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


def learnt(**changes):
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
            learnt(**changed)


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
