from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.ordinal_ratings import (
    CutoffLayout,
    category_probabilities,
    fit_ordinal,
    log_probability,
    mirrored,
    ordinal_terms,
    score_and_information,
    slope_and_curvature,
)


def sigma(x):
    """Return the logistic function of a number."""
    return 1 / (1 + np.exp(-x)) if x >= 0 else np.exp(x) / (1 + np.exp(x))


@given(
    st.lists(st.floats(-4, 4), min_size=1, max_size=6),
    st.lists(st.floats(0.05, 3), min_size=1, max_size=5),
    st.floats(-3, 1),
    st.randoms(),
)
def test_likelihood_twin(etas, gaps, first, random):
    """Probabilities and derivatives are those of the definition, one rating at a time."""
    cutoffs = np.cumsum([first, *gaps])
    ratings = [random.randrange(len(cutoffs) + 1) for _ in etas]
    upper, lower = np.append(cutoffs, np.inf)[ratings], np.insert(cutoffs, 0, -np.inf)[ratings]
    found = ordinal_terms(np.array(etas), upper, lower)
    slope, bend = slope_and_curvature(np.array(etas), upper, lower)
    for at, (eta, high, low) in enumerate(zip(etas, upper, lower, strict=True)):
        p = sigma(high - eta) - sigma(low - eta)
        assert found.log_probability[at] == pytest.approx(np.log(p), rel=1e-9)
        density = [sigma(x - eta) * (1 - sigma(x - eta)) if np.isfinite(x) else 0.0 for x in (high, low)]
        assert found.by_eta[at] == pytest.approx((density[1] - density[0]) / p, abs=1e-9)
        assert slope[at] == pytest.approx(found.by_eta[at], abs=1e-12)
        assert found.by_upper[at] == pytest.approx(density[0] / p, rel=1e-8)
        assert found.by_lower[at] == pytest.approx(-density[1] / p, rel=1e-8)
        assert bend[at] == pytest.approx(sum(density), rel=1e-8)
    assert np.allclose(log_probability(np.array(etas), upper, lower), found.log_probability)


def test_far_out_nothing_overflows():
    """A rating that is nearly impossible has a finite log-probability and finite derivatives."""
    eta = np.array([900.0, -900.0, 900.0, 40.0])
    upper, lower = np.array([1.0, np.inf, 2.0, 0.1]), np.array([-np.inf, 0.0, 1.0, 0.0])
    found = ordinal_terms(eta, upper, lower)
    for part in (found.log_probability, found.by_eta, found.by_upper, found.by_lower):
        assert np.isfinite(part).all()


def test_probabilities_add_up():
    """Over the categories of a cell they sum to 1."""
    found = category_probabilities(np.linspace(-30, 30, 41), np.array([-2.0, 0.0, 0.5]))
    assert np.allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()


def test_cutoffs_of_a_comparison_mirror_each_other():
    """Swapping the sides mirrors the categories."""
    for size in range(2, 8):
        cutoffs = mirrored(size) @ np.arange(1, (size - 1) // 2 + 1)
        assert np.allclose(cutoffs, -cutoffs[::-1])
        assert (np.diff(cutoffs) > 0).all()


@given(st.lists(st.tuples(st.integers(2, 6), st.booleans()), min_size=1, max_size=4), st.integers(0, 1000))
def test_cutoffs_and_free_numbers_are_inverse(raters, seed):
    """Free numbers give increasing cutoffs, and these give them back; the gradient is the numerical one."""
    layout = CutoffLayout(tuple(size for size, _ in raters), tuple(symmetric for _, symmetric in raters))
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=layout.free)
    cutoffs = layout.cutoffs(raw)
    for places, _ in layout.spans:
        assert (np.diff(cutoffs[places]) > 0).all()
    assert np.allclose(layout.raw(cutoffs), raw, atol=1e-7)
    along = rng.normal(size=len(cutoffs))
    gradient = layout.raw_gradient(raw, along)
    for at in range(layout.free):
        step = np.zeros(layout.free)
        step[at] = 1e-6
        numeric = along @ (layout.cutoffs(raw + step) - layout.cutoffs(raw - step)) / 2e-6
        assert gradient[at] == pytest.approx(numeric, abs=1e-6)


def drawn(seed, n=400, weights=(1.0, -0.5, 0.3, 0.0)):
    """Draw ratings in five categories."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, len(weights)))
    noisy = x @ np.array(weights) + rng.logistic(size=n)
    return x, (noisy[:, None] > np.array([-2.0, -0.5, 0.5, 2.0])).sum(axis=1)


def test_information_is_the_numerical_one():
    """Gradient and information agree with differences of the log-likelihood."""
    x, y = drawn(1, 60)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(y))
    at = np.array([0.4, -0.2, 0.1, 0.3, -1.5, -0.2, 0.7, 1.8])
    value, gradient, information = score_and_information(x, y, at[:4], at[4:], weights)
    for one in range(len(at)):
        step = np.zeros(len(at))
        step[one] = 1e-5
        high, low = (score_and_information(x, y, (at + s)[:4], (at + s)[4:], weights) for s in (step, -step))
        assert gradient[one] == pytest.approx((high[0] - low[0]) / 2e-5, abs=1e-6)
        assert np.allclose(information[one], -(high[1] - low[1]) / 2e-5, atol=1e-6)
    assert np.isfinite(value)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regression_equals_statsmodels(seed):
    """Coefficients, standard errors, cutoffs and log-likelihood are those of OrderedModel."""
    model = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    x, y = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = model.OrderedModel(y, x, distr="logit").fit(method="bfgs", disp=0, gtol=1e-10, maxiter=2000)
        cutoffs = other.model.transform_threshold_params(other.params)[1:-1]
    found = fit_ordinal(x, y, 5)
    assert found.converged
    assert np.allclose(found.coefficients, other.params[:4], atol=1e-5)
    assert np.allclose(found.se, other.bse[:4], atol=1e-5)
    assert np.allclose(found.cutoffs, cutoffs, atol=1e-5)
    assert found.log_likelihood == pytest.approx(other.llf, abs=1e-6)


def test_regression_of_a_published_kind_by_hand():
    """Two categories and no column: the cutoff is the logit of the share below."""
    found = fit_ordinal(np.zeros((10, 0)), np.array([0] * 3 + [1] * 7), 2)
    assert found.cutoffs[0] == pytest.approx(np.log(0.3 / 0.7), abs=1e-8)


def test_swapping_sides_of_a_comparison_changes_nothing():
    """With mirrored cutoffs a comparison may stand in either order."""
    x, y = drawn(3, 200)
    turned = np.random.default_rng(0).random(200) < 0.5
    one = fit_ordinal(x, y, 5, symmetric=True, ridge=0.5)
    other = fit_ordinal(np.where(turned[:, None], -x, x), np.where(turned, 4 - y, y), 5, symmetric=True, ridge=0.5)
    assert np.allclose(one.coefficients, other.coefficients, atol=1e-8)
    assert np.allclose(one.cutoffs, other.cutoffs, atol=1e-8)


def test_weights_are_repeats():
    """A rating that counts twice is one that stands there twice."""
    x, y = drawn(4, 80)
    twice = np.concatenate([np.arange(80), np.arange(10)])
    weights = np.where(np.arange(80) < 10, 2.0, 1.0)
    one, other = fit_ordinal(x, y, 5, weights=weights), fit_ordinal(x[twice], y[twice], 5)
    assert np.allclose(one.coefficients, other.coefficients, atol=1e-8)
    assert np.allclose(one.covariance, other.covariance, atol=1e-8)


def test_a_category_without_ratings_keeps_a_probability():
    """Half a rating per category is added, which is said, and the cutoffs stay apart."""
    x, y = drawn(5, 40)
    found = fit_ordinal(x, np.where(y == 2, 1, y), 5, ridge=1.0)
    assert found.smoothed
    assert (np.diff(found.cutoffs) > 0).all()
    assert not fit_ordinal(x, y, 5, ridge=1.0).smoothed


def test_separated_ratings_need_the_ridge():
    """A ridge keeps coefficients finite where the categories are separated."""
    x = np.linspace(-1, 1, 20)[:, None]
    found = fit_ordinal(x, (x[:, 0] > 0).astype(np.int64), 2, ridge=1.0)
    assert found.converged
    assert 0 < found.coefficients[0] < 10
