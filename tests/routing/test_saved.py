from __future__ import annotations

import json

import numpy as np
import pytest

from bonwise.errors import FileError
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.result_router import MOST_CALIBRATION
from bonwise.routing.saved import SavedRouter, thinned


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
