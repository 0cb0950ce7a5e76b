from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.routing.control import FirstPass
from bonwise.routing.gain_model import fit_gain
from bonwise.routing.pool_features import disagreement, pool_features
from bonwise.routing.signals import SIGNALS, live_features, live_signal
from bonwise.table.verdicts import Score, Unscored

OWN = ("margin", "interval_width", "draw_sd", "p_best", "disagreement")
"""Signals that a pool has by itself."""

LEVELS = st.sampled_from([0.1, 0.3, 0.5, 0.7])


def signal(name, verdicts, **more):
    """Return a signal of one pool and why there is none."""
    return live_signal(FirstPass(verdicts, **more), SIGNALS[name].needs, SIGNALS[name].value)


@st.composite
def scores(draw):
    """Make a verdict: a score with or without an interval and draws, or none."""
    if draw(st.integers(0, 5)) == 0:
        return Unscored("empty answer")
    value = draw(LEVELS)
    ends = {"low": value - draw(LEVELS), "high": value + draw(LEVELS)} if draw(st.booleans()) else {}
    return Score(value, draws=tuple(draw(st.lists(st.none() | LEVELS, max_size=4))), **ends)


def cells(pools):
    """Return what a table of these pools holds: scores, sizes, widths and draws, NaN where there is none."""
    flat = [one if isinstance(one, Score) else None for pool in pools for one in pool]
    blank = math.nan
    values = [blank if one is None else one.value for one in flat]
    widths = [blank if one is None or one.width is None else one.width for one in flat]
    draws = np.full((len(flat), 4), blank)
    for row, one in zip(draws, flat, strict=True):
        for at, value in enumerate(() if one is None else one.draws):
            row[at] = blank if value is None else value
    return np.array(values), np.array([len(pool) for pool in pools]), np.array(widths), draws


@given(st.lists(st.tuples(st.lists(scores(), min_size=2, max_size=4), st.integers(0, 2**30)), min_size=1, max_size=5))
def test_a_pool_has_the_signal_that_a_study_of_the_table_gives_it(drawn):
    """Each signal of a single pool equals that of the table which holds it, and is None where that is NaN."""
    pools = [pool for pool, _ in drawn]
    others = [[Score(seed * (at + 3) % 7 / 7) for at in range(len(pool))] for pool, seed in drawn]
    values, sizes, widths, draws = cells(pools)
    table = pool_features(values, sizes, widths, draws)
    table["disagreement"] = disagreement(values, sizes, [cells(others)[0]])
    for name in OWN:
        expected = SIGNALS[name].value(table)
        for pool, other, one in zip(pools, others, expected, strict=True):
            found, why = signal(name, pool, others=[other])
            assert (found is None) == bool(why) == bool(np.isnan(one))
            assert found is None or found == pytest.approx(one, abs=1e-9)


def test_a_learnt_signal_is_its_model_of_the_features():
    """A model of the gain says of a pool what it says of that pool in a table."""
    rng = np.random.default_rng(0)
    values, sizes = rng.random(400), np.full(100, 4)
    table = pool_features(values, sizes, rng.random(400), None)
    model = fit_gain({name: table[name] for name in ("margin", "width")}, rng.random(100))
    pool = [Score(value, low=value - 0.1, high=value + 0.2) for value in (0.2, 0.9, 0.4)]
    found, why = live_signal(FirstPass(pool), model.names, model.predict)
    assert not why
    expected = model.predict({"margin": np.array([0.5]), "width": np.array([0.3])})[0]
    assert found == pytest.approx(expected)


def test_what_a_strategy_knows_of_the_best_goes_before_the_draws():
    """The posterior of a strategy is used where it has one; without one the draws are."""
    verdicts = [Score(0.5, draws=(0.5, 0.6)), Score(0.7, draws=(0.7, 0.8))]
    assert signal("p_best", verdicts, p_best=(0.25, 0.75)) == (0.25, "")
    from_draws, _ = signal("p_best", verdicts)
    assert 0 < from_draws < 0.1
    assert signal("p_best", verdicts, p_best=(None, None))[0] == from_draws


@pytest.mark.parametrize(
    ("name", "verdicts", "why"),
    [
        ("margin", [], "nothing was scored"),
        ("margin", [Unscored("empty answer")] * 3, "nothing was scored"),
        ("margin", [Score(0.5), Unscored("empty answer")], "only one candidate was scored"),
        ("margin", [Score(1e305), Score(-1e308)], "the feature margin is unknown"),
        ("interval_width", [Score(0.5), Score(0.7)], "no score came with an interval"),
        ("interval_width", [Score(0.5, low=0.1), Score(0.7)], "no score came with an interval"),
        ("draw_sd", [Score(0.5), Score(0.7)], "no score came with repeated draws"),
        ("p_best", [Score(0.5), Score(0.7)], "the probability of being the best is unknown"),
        ("disagreement", [Score(0.5), Score(0.7)], "no second judge scored two candidates"),
    ],
)
def test_a_signal_that_is_absent_says_why(name, verdicts, why):
    """Where a pool has no signal the reason is said in plain words, and nothing is made up for it."""
    assert signal(name, verdicts) == (None, why)


def test_the_first_draw_counts_where_the_study_took_it():
    """A candidate drawn several times has the mean of its draws or the first of them; drawn once, its score."""
    pool = [Score(0.6, draws=(0.9, 0.3)), Score(0.5), Score(0.2, draws=(None, 0.2))]
    top, level = (
        {kind: live_features(FirstPass(pool), [name], kind)[name][0] for kind in ("score", "draw_0")}
        for name in ("top", "level")
    )
    assert top == {"score": 0.6, "draw_0": 0.9}
    assert level == pytest.approx({"score": 1.3 / 3, "draw_0": 0.7})


def test_equal_widths_tie_to_the_last_bit():
    """Intervals of the same width have the same signal wherever they lie on the scale."""
    found = {
        signal("interval_width", [Score(at / 50, low=at / 50 - 0.03, high=at / 50 + 0.03)] * 2) for at in range(50)
    }
    assert found == {(0.06, "")}


def test_a_signal_that_is_not_finite_is_none():
    """What a model makes of features may be no number: then there is no signal."""
    found = live_signal(FirstPass([Score(0.5), Score(0.7)]), ["margin"], lambda _: np.array([math.inf]))
    assert found == (None, "the signal is not finite")


def test_features_are_those_asked_for():
    """Widths, draws and other judges are looked at where a signal needs them."""
    first = FirstPass([Score(0.5, low=0.4, high=0.6, draws=(0.5, 0.6)), Score(0.7)], [[Score(0.1), Score(0.2)]])
    plain = set(live_features(first, ["margin"]))
    assert plain == {"top", "level", "spread", "margin", "tied"}
    assert set(live_features(first, ["width"])) - plain == {"width"}
    assert "draw_sd_mean" in live_features(first, ["draw_sd_mean"])
    assert live_features(first, ["disagreement"])["disagreement"].tolist() == [0.0]
