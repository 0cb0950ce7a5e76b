from __future__ import annotations

import numpy as np
import pytest

from bonwise.errors import UsageError
from bonwise.routing.pool_features import pool_features
from bonwise.routing.signals import DRAW_FEATURES, SIGNALS, find_signal, fit_signal


def features(n, *, width=True, draws=True, seed=0):
    """Return the features of n pools of three candidates."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.5, 0.6, 0.7, 0.8], size=3 * n)
    several = np.clip(scores[:, None] + rng.normal(0, 0.05, (3 * n, 3)), 0, 1) if draws else None
    return pool_features(scores, np.full(n, 3), rng.uniform(0, 0.3, 3 * n) if width else None, several)


def gains(n, labelled, seed=1):
    """Return gains of which the first ones are known."""
    return np.where(np.arange(n) < labelled, np.random.default_rng(seed).exponential(0.1, n), np.nan)


def test_higher_always_means_send_on():
    """A small margin, a wide interval, scattered draws, disagreement and doubt all raise their signals."""
    two = np.array([0.1, 0.4])
    rising = {
        name: np.diff(SIGNALS[name].value(dict.fromkeys(SIGNALS[name].needs, two)))[0] > 0
        for name in ("margin", "interval_width", "draw_sd", "disagreement", "p_best")
    }
    assert rising == {
        "margin": False,
        "interval_width": True,
        "draw_sd": True,
        "disagreement": True,
        "p_best": False,
    }


def test_a_missing_feature_is_one_clear_error():
    """A signal without its feature names what is lacking and how to get it."""
    with pytest.raises(UsageError, match="interval_width needs intervals") as caught:
        SIGNALS["interval_width"].value({"margin": np.zeros(2)})
    assert "low and high" in caught.value.hint


def test_a_learnt_signal_needs_its_model():
    """Without a model there is no expected gain, and the hint says how to get one."""
    with pytest.raises(UsageError, match="learnt") as caught:
        SIGNALS["expected_gain"].value(features(2))
    assert "bonwise route" in caught.value.hint


def test_an_unknown_signal_lists_the_known_ones():
    """A wrong name is answered with the right ones."""
    with pytest.raises(UsageError, match="nonsense") as caught:
        find_signal("nonsense")
    assert "expected_gain" in caught.value.hint


@pytest.mark.parametrize(
    ("labelled", "signal", "draws"),
    [
        (74, "interval_width", False),
        (75, "expected_gain", False),
        (99, "expected_gain", False),
        (100, "expected_gain", True),
    ],
)
def test_few_labels_fall_back_and_say_so(labelled, signal, draws):
    """Below 75 labels the width of the interval stands in; below 100 repeated scores are not looked at."""
    fitted = fit_signal("expected_gain", features(200), gains(200, labelled))
    assert fitted.signal.name == signal
    looked_at = set() if fitted.model is None else set(fitted.model.names)
    assert bool(looked_at & set(DRAW_FEATURES)) == draws
    assert bool(fitted.note) == (labelled < 100)
    assert not np.isnan(fitted.value(features(5))).any()


def test_few_labels_without_intervals_are_an_error():
    """With nothing to fall back on, more labels are asked for."""
    with pytest.raises(UsageError, match="10 labelled prompts are fewer than the 75"):
        fit_signal("margin_level", features(50, width=False), gains(50, 10))


def test_the_expected_gain_looks_at_whatever_is_there():
    """Width, disagreement and draws are used where given; P(best) is a signal of its own, not a feature."""
    known = {**features(120), "disagreement": np.random.default_rng(0).uniform(size=120)}
    names = fit_signal("expected_gain", known, gains(120, 120)).model.names
    assert {"width", "disagreement", *DRAW_FEATURES} <= set(names)
    assert "p_best" not in names
