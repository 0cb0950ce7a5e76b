"""The test that decides whether the first call of a judge counts as one of its calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bonwise.stats.draw_prior import first_call_test, learn_prior
from bonwise.stats.redraws import replay
from bonwise.testing import simulate
from stats.redraw_twin import first_call_differences


def test_by_hand():
    """Three prompts of two candidates: U1 is .1, .2 and .3, so t = 2 sqrt(3) on two degrees of freedom."""
    draws = np.zeros((3, 2, 3))
    draws[:, :, 0] = [[0.1] * 2, [0.2] * 2, [0.3] * 2]
    found = first_call_test(draws)
    assert found.mean == pytest.approx(2 * stats.t.sf(2 * np.sqrt(3), 2))
    assert (found.variance, found.covariance, found.prompts) == (1.0, 1.0, 3)
    assert found.p == pytest.approx(3 * found.mean)
    assert not found.averaged_in
    assert found.reason == "a pilot of 3 prompts cannot show that it is like the later calls, 50 can"


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 6))
@settings(max_examples=40)
def test_it_agrees_with_its_twin(seed, candidates, k):
    """The p-values are those of scipy's t test on the differences of plain loops, gaps in the table included."""
    rng = np.random.default_rng(seed)
    draws = np.round(rng.normal(0.75, 0.15, (40, candidates, k)), 2)
    draws[rng.random(draws.shape) < 0.05] = np.nan
    differences = np.array(first_call_differences(draws.tolist()))
    expected = stats.ttest_1samp(differences, 0).pvalue
    found = first_call_test(draws)
    assert found[:3] == pytest.approx(tuple(expected), abs=1e-9)
    assert found.prompts == len(differences)


def test_a_first_call_that_always_differs_is_rejected():
    """Where every prompt shows one and the same difference there is no scatter to hold against it."""
    draws = np.full((60, 3, 4), 0.5) + np.array([0.1, 0, 0, 0])
    assert first_call_test(draws).p == 0.0
    assert first_call_test(np.full((60, 3, 4), 0.5)).averaged_in


def rejected(draws, prompts, samples, rng):
    """Return in how many samples of so many prompts the first call is found to differ."""
    return np.mean([first_call_test(draws[rng.integers(0, len(draws), prompts)]).rejected for _ in range(samples)])


def check_rejections(prompts, samples, seed):
    """Calls of one kind are rejected as often as the level says, and those of SIM-P, whose first differs, always."""
    rng = np.random.default_rng([seed, prompts])
    alike = simulate("one_model", n=4000, seed=seed, draws=5).draws
    apart = simulate("pilot", n=4000, seed=seed, draws=5).draws
    shuffled = np.take_along_axis(apart, rng.random((len(apart), 1, 5)).argsort(axis=2) + np.zeros((1, 4, 1), int), 2)
    slack = 3 * np.sqrt(0.05 * 0.95 / samples)
    for draws in (alike, shuffled):
        assert rejected(draws, prompts, samples, rng) <= 0.056 + slack
    assert rejected(apart, prompts, samples, rng) == 1.0


def test_how_often_it_rejects():
    """Thinned: 100 samples of 100 prompts."""
    check_rejections(100, 100, seed=17)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [50, 100, 300])
def test_how_often_it_rejects_in_full(prompts):
    """1,000 samples each: .03 to .056 where calls are alike, always at SIM-P."""
    check_rejections(prompts, 1000, seed=17)


def world(kind, rng, n):
    """Draw true scores of n pools and return them with a function that draws k calls of each."""
    size = 8 if kind == "K8" else 4
    level, spread = rng.uniform(-0.5, 1.2, (n, 1)), np.exp(0.4 * rng.standard_normal((n, 1)))
    quality = level + 0.6 * spread * rng.standard_normal((n, size))
    truth = 1 / (1 + np.exp(-(quality + 0.45 * rng.standard_normal((n, size)))))
    own = np.exp(0.7 * rng.standard_normal((n, 1))) * np.exp(0.3 * rng.standard_normal((n, size)))
    noise = (0.1 if kind == "homo" else 0.1 * own) * np.ones((n, size))
    step = 1e-6 if kind == "homo" else 0.05

    def calls(k):
        shape = (n, size, k)
        errors = rng.standard_t(4, shape) / np.sqrt(2) if kind == "K8" else rng.standard_normal(shape)
        return np.clip(np.round((truth[:, :, None] + noise[:, :, None] * errors) / step) * step, 0, 1)

    return truth, calls


def recovered(played, calls, truth):
    """Return the recovery of each pool where pools take so many calls on average."""
    price, gained = played.curve().prices_for(calls), 0.0
    for one, share in ((price.lower, price.share), (price.higher, 1 - price.share)):
        top = played.at(one).top
        gained = gained + share * ((top * truth).sum(axis=1) / top.sum(axis=1) - truth.mean(axis=1))
    return gained / (truth.max(axis=1) - truth.mean(axis=1)).mean()


def differences(kind, seeds, pilots=(50, 100, 500)):
    """Return recovery with the first call averaged in less that with it kept apart, one per pilot."""
    found = []
    for seed in seeds:
        for prompts in pilots:
            rng = np.random.default_rng([seed, prompts])
            pilot = world(kind, rng, prompts)[1](5)
            truth, calls = world(kind, rng, 800)
            stored, size = calls(8), truth.shape[1]
            counted, apart = (
                replay(stored, learn_prior(pilot, first_counts=first), seed=seed) for first in (True, False)
            )
            found.append(
                np.mean(
                    [
                        (recovered(counted, size * f, truth) - recovered(apart, size * f, truth)).mean()
                        for f in (1.25, 1.5, 2.0, 3.0)
                    ]
                )
            )
    return np.array(found)


def test_averaging_the_first_call_in_costs_nothing():
    """Thinned: at equal calls the picks recover no less than with the first call kept apart."""
    assert differences("hetero", range(2)).mean() > -0.004


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["homo", "hetero", "K8"])
def test_averaging_the_first_call_in_gains_a_little(kind):
    """At equal calls recovery is at least that with the first call kept apart, and not more than .02 above it."""
    found = differences(kind, range(12))
    se = found.std(ddof=1) / np.sqrt(len(found))
    assert -2 * se < found.mean() < 0.02
