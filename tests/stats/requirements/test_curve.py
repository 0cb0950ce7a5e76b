from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.requirements.noisy_oracle import NoisyOracle, noise_for_recovery, noise_for_within_r, points
from stats.pools import arrays, pools

NORMAL = NormalDist()
NOISES = st.sampled_from([0.01, 0.2, 1.0, 5.0, 100.0])


def laid_out(prompts):
    """Return the labels of some prompts as they are computed with."""
    _, labels, sizes = arrays(prompts)
    return NoisyOracle.of(labels, sizes)


def chances(labels, noise):
    """Integrate, candidate by candidate, the chance that its noisy score is the highest."""
    found = []
    for i, label in enumerate(labels):
        ahead = [(label - other) / noise for k, other in enumerate(labels) if k != i]

        def chance(z, ahead=ahead):
            return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * math.prod(special.ndtr(z + a) for a in ahead)

        # The chance rises where the candidate passes another one.
        breaks = sorted({min(max(-a, -8.9), 8.9) for a in ahead})
        found.append(integrate.quad(chance, -9, 9, points=breaks, epsabs=1e-11, limit=200)[0])
    return found


@settings(max_examples=25)
@given(pools(most=3, candidates=(2, 5)), NOISES)
def test_the_pick_is_worth_what_integration_says(prompts, noise):
    """The shortfall of each prompt, and its square, are those of every candidate, weighed by its chance."""
    found = laid_out(prompts)
    for power, shortfalls in ((1, found.shortfalls(noise)), (2, found.squared_shortfalls(noise))):
        for at, (_, labels) in enumerate(prompts):
            each = zip(labels, chances(labels, noise), strict=True)
            plain = sum(chance * (max(labels) - label) ** power for label, chance in each)
            assert shortfalls[at] == pytest.approx(plain, abs=1e-6)


@given(pools(), NOISES)
def test_agreement_and_within_r_are_those_of_plain_loops(prompts, noise):
    """Effective agreement and within_r follow their definitions, a pair or a candidate at a time."""
    found = laid_out(prompts)
    right, pairs, squares, freedom = 0.0, 0, 0.0, 0
    for _, labels in prompts:
        for one, other in combinations([round(label, 9) for label in labels], 2):
            pairs += 1
            right += 0.5 if one == other else NORMAL.cdf(abs(one - other) / noise / math.sqrt(2))
        squares += sum((label - fmean(labels)) ** 2 for label in labels)
        freedom += len(labels) - 1
    assert found.agreement(noise) == pytest.approx(right / pairs, abs=1e-9)
    assert found.orders(noise).sum() == pytest.approx(right - pairs / 2, abs=1e-9)
    if squares > 1e-9:
        assert found.within_r(noise) == pytest.approx((1 + noise**2 * freedom / squares) ** -0.5, abs=1e-9)


def test_two_candidates_are_worked_by_hand():
    """Of labels 1 and 0 at noise 1 the worse one wins with probability Phi(-1 / sqrt 2) = .2398."""
    labels = NoisyOracle.of(np.array([1.0, 0.0]), np.array([2]))
    worse = NORMAL.cdf(-1 / math.sqrt(2))
    assert labels.shortfalls(1.0)[0] == pytest.approx(worse, abs=1e-9)
    assert labels.agreement(1.0) == pytest.approx(1 - worse)
    assert labels.recovery(1.0) == pytest.approx(1 - 2 * worse)
    assert labels.within_r(1.0) == pytest.approx(1 / math.sqrt(3))
    halved = NoisyOracle.of(np.array([0.5, 0.0]), np.array([2]))
    assert halved.squared_shortfalls(0.5)[0] == pytest.approx(worse / 4, abs=1e-9)


@settings(max_examples=30)
@given(pools(most=4))
def test_recovery_falls_with_the_noise_from_1_to_0(prompts):
    """More noise never helps; with hardly any all is recovered, with nothing but noise none."""
    labels = laid_out(prompts)
    if not labels.gain.any():
        return
    recoveries = [labels.recovery(noise) for noise in np.geomspace(1e-3, 1e4, 40)]
    assert (np.diff(recoveries) <= 1e-7).all()
    assert recoveries[0] == pytest.approx(1, abs=1e-6)
    assert recoveries[-1] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("candidates", [2, 4, 5, 64, 65, 300])
def test_a_judge_of_nothing_but_noise_picks_at_random(candidates):
    """The chances of all candidates sum to 1 whatever their number: the shortfall is that of a random pick."""
    labels = np.random.default_rng(candidates).normal(size=candidates)
    found = NoisyOracle.of(labels, np.array([candidates]))
    assert found.shortfalls(1e7)[0] == pytest.approx(labels.max() - labels.mean(), rel=4e-6)


def test_the_figures_are_those_of_drawn_noise():
    """Recovery, within_r and effective agreement are what noise drawn 4,000 times gives, to its sampling error."""
    draw = np.random.default_rng(7)
    sizes = np.tile([2, 4, 5], 20)
    labels = draw.integers(0, 8, sizes.sum()) / 7
    noise, repeats = 0.4, 4000
    found = NoisyOracle.of(labels, sizes)
    many = np.tile(labels, repeats)
    totals = Sums(*prompt_sums(many + noise * draw.normal(size=many.size), many, np.tile(sizes, repeats)).sum(axis=1))
    assert found.recovery(noise) == pytest.approx((totals.J - totals.R) / (totals.M - totals.R), abs=0.005)
    assert found.within_r(noise) == pytest.approx(totals.eSO / math.sqrt(totals.eSS * totals.eOO), abs=0.005)
    drawn = 0.5 + (totals.concordant - totals.apart_both / 2) / totals.pairs
    assert found.agreement(noise) == pytest.approx(drawn, abs=0.003)


@pytest.mark.parametrize("candidates", [2, 4, 8])
def test_recovery_is_within_r_where_labels_are_normal(candidates):
    """Continuous normal labels and normal noise: recovery equals within_r (the paper's appendix N)."""
    labels = np.random.default_rng(1).normal(size=(20_000, candidates))
    found = NoisyOracle.of(labels.ravel(), np.full(len(labels), candidates))
    for within_r in (0.1, 0.3, 0.6, 0.9):
        assert found.recovery(noise_for_within_r(found, within_r)) == pytest.approx(within_r, abs=0.01)


@settings(max_examples=30)
@given(pools(most=4), st.floats(0.001, 0.9995))
def test_both_inversions_lead_back(prompts, wanted):
    """The noise sought for a recovery, or for a within_r, has it."""
    labels = laid_out(prompts)
    if labels.gain.sum() < 1e-6:
        return
    assert labels.recovery(noise_for_recovery(labels, wanted)) == pytest.approx(wanted, abs=1e-7)
    assert labels.within_r(noise_for_within_r(labels, wanted)) == pytest.approx(wanted, abs=1e-9)


def test_the_curve_runs_from_noise_to_the_oracle():
    """Twenty points from a recovery of about .02 to one of about .99, each figure rising along them."""
    drawn = points(NoisyOracle.of(np.random.default_rng(0).random(400), np.full(100, 4)))
    assert len(drawn) == 20
    assert drawn[0].recovery == pytest.approx(0.02, abs=0.01)
    assert drawn[-1].recovery == pytest.approx(0.99, abs=0.01)
    for figure in ("recovery", "within_r", "effective_agreement"):
        assert (np.diff([getattr(one, figure) for one in drawn]) > 0).all()
