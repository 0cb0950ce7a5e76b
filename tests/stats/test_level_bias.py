"""Levels of candidates after calibration, the largest bias, and the monotone map."""

from __future__ import annotations

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import t as student
from sklearn.isotonic import IsotonicRegression

from bonwise.stats.level_bias import FOLDS, largest_bias, level_bias, pool_adjacent_violators
from bonwise.testing import simulate
from stats.pools import GRID, rectangle


def calibrated(scores, labels, folds):
    """Predict every cell by scikit-learn's isotonic fit on the prompts of the other folds."""
    predicted = np.empty_like(scores)
    for fold in range(FOLDS):
        train = folds != fold
        fit = IsotonicRegression(out_of_bounds="clip").fit(scores[train].ravel(), labels[train].ravel())
        predicted[~train] = fit.predict(scores[~train].ravel()).reshape(-1, scores.shape[1])
    return predicted


def by_candidate(scores, labels, seed):
    """Return bias and standard error of each candidate name."""
    folds = np.random.default_rng(seed).permutation(len(scores)) % FOLDS
    residuals = calibrated(scores, labels, folds) - labels
    root = len(scores) ** 0.5
    return [(fmean(column), stdev(column) / root) for column in residuals.T.tolist()]


def found_for(scores, labels, seed=0):
    """Estimate the level bias of a rectangle."""
    names = np.tile(np.arange(scores.shape[1]), len(scores))
    return level_bias(*rectangle(scores, labels), names, confidence=0.95, seed=seed)


@given(st.integers(10, 30), st.integers(2, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_level_bias_equals_a_fit_by_scikit_learn(prompts, candidates, seed):
    """Bias and interval are those of isotonic fits by another library on the same folds."""
    rng = np.random.default_rng(seed)
    labels = rng.random((prompts, candidates))
    scores = np.round(rng.choice(GRID, (prompts, candidates)), 9)
    expected, found = by_candidate(scores, labels, seed), found_for(scores, labels, seed)
    worst = max(abs(bias) for bias, _ in expected)
    assert found.estimate == pytest.approx(worst, rel=1e-9, abs=1e-9)
    # Two candidates may be off by the same amount in opposite directions: the error is that of one of them.
    errors = [se for bias, se in expected if abs(bias) > worst - 1e-9]
    assert any(found.se == pytest.approx(se, rel=1e-9, abs=1e-9) for se in errors)
    t = student.ppf(1 - 0.025 / candidates, prompts - 1)
    assert found.low == pytest.approx(max(max(abs(bias) - t * se, 0) for bias, se in expected), abs=1e-9)
    assert found.high == pytest.approx(max(abs(bias) + t * se for bias, se in expected), abs=1e-9)


def test_an_oracle_has_no_level_bias():
    """A judge that gives the labels themselves is off by next to nothing after calibration."""
    labels = simulate("arena", n=1000, seed=20261121).labels
    assert found_for(labels, labels).estimate < 1e-3


def test_equals_are_seldom_called_biased():
    """Where no candidate is favoured the interval reaches down to 0 in nine tables of ten at least."""
    found = [
        found_for(drawn.scores, drawn.labels) for drawn in (simulate("arena", 200, 20261121 + x) for x in range(100))
    ]
    assert sum(e.low == 0 for e in found) >= 90


def test_a_favoured_candidate_is_found():
    """A candidate scored .3 above its worth, among candidates scored at their worth, is off by about that."""
    labels = np.random.default_rng(20261121).random((2000, 4)) * 0.7
    scores = labels.copy()
    scores[:, 2] += 0.3
    found = found_for(scores, labels)
    assert 0.1 < found.low < found.estimate < found.high < 0.3


def test_names_that_do_not_recur_have_no_bias():
    """Where every prompt has candidates of its own there is a reason and no estimate."""
    scores = np.random.default_rng(0).random(40)
    found = level_bias(scores, scores, np.full(20, 2), np.arange(40), confidence=0.95, seed=0)
    assert found.estimate is None
    assert "do not recur" in found.reason


def test_too_few_prompts_have_no_bias():
    """Five folds of fewer than two prompts each are refused with a reason."""
    assert "10 prompts" in found_for(np.eye(9, 2), np.eye(9, 2)).reason
    assert found_for(np.eye(10, 2), np.eye(10, 2)).estimate is not None


def test_a_constant_bias_is_as_sure_as_its_rarest_name():
    """Where every prompt is off by the same the bound is that of the name of the fewest prompts, and n is theirs."""
    names = np.array([0, 1] * 6 + [0] * 4)
    sizes = np.array([2] * 6 + [1] * 4)
    labels = np.linspace(0, 1, len(names))
    found = largest_bias(np.full(len(names), 0.1), labels, sizes, names, confidence=0.95)
    off = 1 - 0.025 ** (1 / 6)
    assert (found.estimate, found.se, found.n) == (pytest.approx(0.1), 0, 6)
    assert (found.low, found.high) == pytest.approx((0.1 - off * 0.1, 0.1 + off * 0.9))


NUMBERS = st.one_of(st.sampled_from(GRID), st.floats(-1e6, 1e6), st.floats(-1e-12, 1e-12))
CELLS = st.lists(st.tuples(NUMBERS, st.one_of(st.integers(1, 9).map(float), st.floats(1e-3, 1e3))), min_size=1)


def plain(values, weights):
    """Fit by the max-min formula: the largest over starts of the smallest mean over ends."""
    n = len(values)

    def mean(start, end):
        return np.average(values[start:end], weights=weights[start:end])

    return [max(min(mean(i, j) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)]


@given(CELLS)
def test_scipy_gives_the_same_bits(cells):
    """Each height is that of scipy's isotonic regression, to the last bit."""
    values, weights = np.array(cells).T
    kept = values.tobytes(), weights.tobytes()
    found = pool_adjacent_violators(values, weights)
    assert found.tobytes() == isotonic_regression(values, weights=weights).x.tobytes()
    assert (values.tobytes(), weights.tobytes()) == kept


@given(st.lists(st.tuples(st.sampled_from(GRID), st.integers(1, 9).map(float)), min_size=1, max_size=12))
def test_a_plain_loop_gives_the_same(cells):
    """Each height is that of the max-min formula."""
    values, weights = np.array(cells).T
    assert pool_adjacent_violators(values, weights).tolist() == pytest.approx(plain(values, weights), abs=1e-12)


@pytest.mark.parametrize("shape", ["falling", "rising", "noise", "saw"])
def test_long_columns_are_fitted_alike(shape):
    """20,000 values in every order that makes blocks long or many have scipy's heights, to the last bit."""
    rng = np.random.default_rng(20261122)
    line, noise = np.arange(20_000.0), rng.normal(size=20_000)
    values = {"falling": -line, "rising": line, "noise": noise, "saw": line % 100 + 0.1 * noise}[shape]
    weights = rng.uniform(0.5, 2.0, size=20_000)
    expected = isotonic_regression(values, weights=weights).x
    assert pool_adjacent_violators(values, weights).tobytes() == expected.tobytes()
