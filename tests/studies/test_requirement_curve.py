"""The accuracy that a wanted recovery takes, and the curve that leads to it."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist, fmean
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from bonwise.stats.catalog import within_r as correlation
from bonwise.stats.estimand import NOT_DISTINGUISHABLE
from bonwise.stats.laws import student_quantile
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.requirements import noisy_oracle
from bonwise.studies.requirements.engine import held_against, recovered, required
from bonwise.studies.requirements.noisy_oracle import (
    AtNoise,
    NoisyOracle,
    noise_for_recovery,
    noise_for_within_r,
    points,
    recovery_influence,
    within_r_influence,
)
from bonwise.testing import simulate
from stats.pools import arrays, pools

TARGETS = (0.25, 0.5, 0.75, 0.9)
GIVEN = 0.31


def laid_out(labels):
    """Return labels of shape (prompts, K) as they are computed with."""
    return NoisyOracle.of(labels.ravel(), np.full(len(labels), labels.shape[1]))


def sums_of(scores, labels):
    """Return per-prompt sums of two (prompts, K) arrays."""
    return prompt_sums(scores.ravel(), labels.ravel(), np.full(len(labels), labels.shape[1]))


def figures(scores, labels):
    """Compute every figure once, without intervals, by inverting the curve."""
    found, curve = {}, laid_out(labels)
    for target in TARGETS:
        noise = noise_for_recovery(curve, target)
        found["within_r", target], found["agreement", target] = curve.within_r(noise), curve.agreement(noise)
    found["recovered", GIVEN] = curve.recovery(noise_for_within_r(curve, GIVEN))
    totals = Sums(*sums_of(scores, labels).sum(axis=1))
    expected = curve.recovery(noise_for_within_r(curve, float(correlation(totals))))
    found["expected", None] = expected
    found["difference", None] = float((totals.J - totals.R) / (totals.M - totals.R)) - expected
    return found


def estimates(scores, labels):
    """Return the same figures as estimates."""
    found, curve = {}, laid_out(labels)
    for target in TARGETS:
        found["within_r", target], found["agreement", target] = required(curve, target, 0.95)
    found["recovered", GIVEN] = recovered(curve, GIVEN, 0.95)
    found["expected", None], found["difference", None] = held_against(curve, sums_of(scores, labels), 0.95)
    return found


def test_the_standard_errors_are_those_of_leaving_prompts_out():
    """Each estimate is the plain inversion, its standard error that of repeating it without each prompt in turn."""
    drawn = simulate("arena", n=150, seed=3)
    scores, labels = drawn.scores, drawn.labels
    left_out = [figures(np.delete(scores, x, 0), np.delete(labels, x, 0)) for x in range(len(labels))]
    plain = figures(scores, labels)
    for key, found in estimates(scores, labels).items():
        assert found.estimate == pytest.approx(plain[key], abs=1e-7)
        rest = np.array([one[key] for one in left_out])
        assert found.se == pytest.approx(math.sqrt((len(rest) - 1) * rest.var()), rel=0.07)
        assert found.interval == "jackknife"
        assert found.n == 150


def coverage(prompts, samples):
    """Return the share of simulated samples whose interval holds the population's figure, by figure.

    A sample without an interval would leave the share as it is, so there may be none.
    """
    population = simulate("arena", n=100_000, seed=99)
    truth = figures(population.scores, population.labels)
    drawn = simulate("arena", n=prompts * samples, seed=prompts)
    held = {key: [] for key in truth}
    for at in range(samples):
        rows = slice(at * prompts, (at + 1) * prompts)
        for key, found in estimates(drawn.scores[rows], drawn.labels[rows]).items():
            assert found.low is not None, found.reason
            held[key].append(found.low <= truth[key] <= found.high)
    return {key: np.mean(one) for key, one in held.items()}


def test_intervals_hold_the_populations_figures():
    """Of 100 samples of 200 prompts no figure is missed by more than chance explains, at a coverage of 93 %."""
    assert min(coverage(200, 100).values()) > 0.84


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "least"), [(50, 0.88), (200, 0.91), (1000, 0.92)])
def test_intervals_hold_at_their_confidence(prompts, least):
    """Of 1,000 samples about 95 % hold each figure, down to 91 % where prompts are few."""
    assert min(coverage(prompts, 1000).values()) > least


@pytest.mark.parametrize(("factor", "shift"), [(7.0, 0.0), (1.0, 3.0), (0.01, -2.0)])
def test_the_scale_of_the_labels_does_not_matter(factor, shift):
    """Labels stretched or shifted give the same requirements; so do the prompts in another order."""
    drawn = simulate("arena", n=80, seed=4)
    plain = estimates(drawn.scores, drawn.labels)
    other = np.random.default_rng(0).permutation(80)
    moved = estimates(drawn.scores[other], factor * drawn.labels[other] + shift)
    for key, found in plain.items():
        assert moved[key].estimate == pytest.approx(found.estimate, abs=1e-6)
        assert moved[key].se == pytest.approx(found.se, rel=1e-4)


def test_a_judge_of_plain_noise_is_what_is_expected_of_it():
    """Scores that are labels plus normal noise recover what the curve says, to the noise of the sample."""
    draw, labels = np.random.default_rng(8), simulate("arena", n=4000, seed=9).labels
    found = held_against(laid_out(labels), sums_of(labels + 0.2 * draw.normal(size=labels.shape), labels), 0.95)
    assert found.difference.low < 0 < found.difference.high
    assert found.difference.se < 0.02


def test_rounding_the_scores_shows_as_a_loss():
    """The same scores cut into five steps tie, and recover less than plain noise with their within_r would."""
    draw, labels = np.random.default_rng(8), simulate("arena", n=4000, seed=9).labels
    scores = np.round(4 * np.clip(labels + 0.1 * draw.normal(size=labels.shape), 0, 1)) / 4
    assert held_against(laid_out(labels), sums_of(scores, labels), 0.95).difference.high < 0


def plain(noise):
    """Return what scores labels with plain noise."""
    return lambda labels, draw: labels + noise * draw.normal(size=labels.shape)


def found_apart(labels_of, scores_of, samples, told=1.0):
    """Return how often a judge is called better, and worse, than plain noise; so large a share must have an interval.

    A sample without one calls it neither.
    """
    draw, calls = np.random.default_rng(11), []
    for _ in range(samples):
        labels = labels_of(draw)
        found = held_against(laid_out(labels), sums_of(scores_of(labels, draw), labels), 0.95).difference
        if found.low is not None:
            calls.append((found.low > 0, found.high < 0))
    assert len(calls) >= told * samples
    return np.sum(calls, axis=0) / samples


def right_or_wrong(prompts, candidates, share):
    """Return what draws labels 0 and 1."""
    return lambda draw: (draw.random((prompts, candidates)) < share).astype(float)


def graded(prompts, wide=1.0, tail=0.0):
    """Return what draws normal labels of spread 1: a share of prompts ten times as wide, or lognormal widths."""
    spread = math.sqrt(wide + (1 - wide) / 100) * math.exp(tail**2)

    def labels_of(draw):
        widths = np.where(draw.random((prompts, 1)) < wide, 1.0, 0.1) * np.exp(tail * draw.normal(size=(prompts, 1)))
        return widths / spread * draw.normal(size=(prompts, 4))

    return labels_of


FEW_HOLD_THE_GAIN = {"a fifth": {"wide": 0.2}, "a twentieth": {"wide": 0.05}, "lognormal": {"tail": 1.5}}


@pytest.mark.parametrize(("prompts", "noise"), [(100, 0.3), (40, 0.4)])
def test_plain_noise_that_is_nearly_always_right_is_not_called_better(prompts, noise):
    """With labels 0 and 1 and few or no wrong picks the truth, no difference, is missed in few of 60 samples."""
    assert found_apart(right_or_wrong(prompts, 4, 0.5), plain(noise), 60).max() <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [40, 100, 300])
@pytest.mark.parametrize("noise", [0.3, 0.4, 0.6])
@pytest.mark.parametrize(("candidates", "share"), [(2, 0.5), (4, 0.5), (16, 1 / 16)])
def test_few_wrong_picks_are_no_finding(prompts, noise, candidates, share):
    """Of 400 samples a true difference of 0 is missed on either side by no more than chance adds to 2.5 %."""
    assert found_apart(right_or_wrong(prompts, candidates, share), plain(noise), 400).max() <= 0.045


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [30, 100])
@pytest.mark.parametrize("noise", [1 / 3, 2.0])
def test_graded_labels_are_held_to_it_too(prompts, noise):
    """With normal labels, whose losses are small, it is missed on either side in few of 400 samples."""
    assert found_apart(graded(prompts), plain(noise), 400).max() <= 0.045


def test_few_prompts_that_hold_the_gain_make_no_finding():
    """Where a fifth of the prompts is ten times as wide, plain noise is called neither better nor worse too often."""
    assert found_apart(graded(100, wide=0.2), plain(1.7), 400).max() <= 0.035


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [50, 100, 200, 400])
@pytest.mark.parametrize("noise", [0.33, 1.7, 3.2])
@pytest.mark.parametrize("kind", FEW_HOLD_THE_GAIN)
def test_few_prompts_that_hold_the_gain_make_no_finding_at_any_size(prompts, noise, kind):
    """Of 1,000 samples a true difference of 0 is missed on either side by no more than chance adds to 2.5 %."""
    assert found_apart(graded(prompts, **FEW_HOLD_THE_GAIN[kind]), plain(noise), 1000, told=0.9).max() <= 0.04


def uneven(labels, draw):
    """Score with much noise in a tenth of the prompts and little in the others: the picks suffer in few."""
    return labels + np.where(draw.random((len(labels), 1)) < 0.1, 2.0, 0.1) * draw.normal(size=labels.shape)


def rounded(labels, draw):
    """Score with plain noise, rounded to whole labels: most of what is lost is lost in ties."""
    return np.round(labels + 0.3 * draw.normal(size=labels.shape))


@pytest.mark.parametrize(("scores_of", "side"), [(uneven, 0), (rounded, 1)])
def test_a_judge_that_differs_is_found_though_few_picks_are_wrong(scores_of, side):
    """With labels 0 and 1 a judge of other errors is called better, or worse, as often as the interval is narrow."""
    found = found_apart(right_or_wrong(100, 4, 0.5), scores_of, 150)
    assert found[side] >= (0.44, 0.8)[side]
    assert found[1 - side] == 0


def test_many_gaps_are_taken_together_without_losing_one(monkeypatch):
    """Labels 0, 1, 3, 7 lie 1, 2, 3, 4, 6 and 7 apart: in three groups of two, each its mean, in order."""
    blocks = (SimpleNamespace(gaps=np.array([[0.0, 1.0, 3.0, 7.0]])),)
    assert [part.tolist() for part in noisy_oracle._pair_gaps(blocks)] == [[1, 2, 3, 4, 6, 7], [1] * 6]
    monkeypatch.setattr(noisy_oracle, "_MOST_GAPS", 3)
    assert [part.tolist() for part in noisy_oracle._pair_gaps(blocks)] == [[1.5, 3.5, 6.5], [2] * 3]


PAIRS = np.tile([1.0, 0.0], (300, 1))


@pytest.mark.parametrize("noise", [0.3, 0.6, 2.0])
def test_what_plain_noise_strays_by_is_worked_by_hand(noise):
    """Of pairs of 1 and 0 a pick is wrong with probability p = Phi(-x), x = 1 / (s sqrt 2)."""
    x = 1 / (noise * math.sqrt(2))
    p = NormalDist().cdf(-x)
    # Recovery is 1 - 2p, its slope by log s is -2 x phi(x), its variance 4 p (1 - p) / 300; as the labels vary by
    # 1/2 within prompts 1/r^2 is 1 + 2 s^2.
    slope = 2 * x * NormalDist().pdf(x)
    squared = (4 * p * (1 - p) - slope**2 * (0.5 + 2 * noise**2)) / 300
    assert AtNoise(laid_out(PAIRS), noise).difference_error == pytest.approx(math.sqrt(squared), rel=1e-3)


@pytest.mark.parametrize(
    ("labels", "noise"),
    [*((graded(300, wide=0.2)(np.random.default_rng(5)), noise) for noise in (0.3, 1.0, 3.0)), (PAIRS, 0.6)],
    ids=["wide, sharp", "wide", "wide, noisy", "pairs"],
)
def test_what_plain_noise_strays_by_follows_from_the_labels(labels, noise):
    """The standard error of the difference is the spread of it over 4,000 draws of the noise on the same labels."""
    draw = np.random.default_rng(5)
    curve = laid_out(labels)
    scores = labels + noise * draw.normal(size=(4000, *labels.shape))
    own = (
        1
        - (labels.max(1) - np.take_along_axis(labels[None], scores.argmax(-1)[..., None], -1)[..., 0]).sum(1)
        / (labels.max(1) - labels.mean(1)).sum()
    )
    errors, deviations = scores - scores.mean(-1, keepdims=True), labels - labels.mean(-1, keepdims=True)
    within_r = np.einsum("dxk,xk->d", errors, deviations) / np.sqrt((errors**2).sum((1, 2)) * (deviations**2).sum())
    grid = np.linspace(within_r.min(), within_r.max(), 40)
    expected = [curve.recovery(noise_for_within_r(curve, one)) for one in grid.tolist()]
    spread = (own - np.interp(within_r, grid, expected)).std()
    assert AtNoise(curve, noise).difference_error == pytest.approx(spread, rel=0.04)


def test_luck_on_few_wide_prompts_moves_the_lower_end_alone():
    """A judge right on few wide prompts seems to vary little: its lower end is that of noise, its upper one stays."""
    draw = np.random.default_rng(2)
    labels = graded(100, wide=0.03)(draw)
    scores = labels + np.where(labels.std(1, keepdims=True) > 2, 0.5, 2.5) * draw.normal(size=labels.shape)
    sums, curve = sums_of(scores, labels), laid_out(labels)
    found = held_against(curve, sums, 0.95).difference
    noise = noise_for_within_r(curve, float(correlation(Sums(*sums.sum(axis=1)))))
    least = student_quantile(0.95, 99) * AtNoise(curve, noise).difference_error
    before = found.law.law.at(0.95)
    assert found.low == pytest.approx(found.estimate - least)
    assert found.low < before[0]
    assert found.high == before[1]


def test_a_judge_that_is_always_right_may_lose_on_prompts_not_seen():
    """The ends are those of the exact bound and of the expected recovery, as if the two were independent."""
    labels = np.tile([1.0, 0.0, 0.0, 0.0], (50, 1))
    scores = labels + np.random.default_rng(0).uniform(0, 0.6, size=labels.shape)
    expected, found = held_against(laid_out(labels), sums_of(scores, labels), 0.95)
    unseen = (1 - 0.025 ** (1 / 50)) / 0.75
    assert found.estimate == pytest.approx(1 - expected.estimate)
    assert found.low == pytest.approx(found.estimate - math.hypot(unseen, expected.high - expected.estimate))
    assert found.high == pytest.approx(1 - expected.low)


@pytest.mark.parametrize("wrong", [2, 5])
def test_few_wrong_picks_count_their_correlation_the_less(wrong):
    """Both recoveries rise and fall together, and of k wrong picks of one size that counts (k - 1) / k times."""
    labels = np.tile([1.0, 0.0, 0.0, 0.0], (60, 1))
    scores = labels + np.random.default_rng(0).uniform(0, 0.6, size=labels.shape)
    scores[:wrong, 1] = 1.7
    sums, curve = sums_of(scores, labels), laid_out(labels)
    mine = Sums(*sums)
    at = AtNoise(curve, noise_for_within_r(curve, float(correlation(Sums(*sums.sum(axis=1))))))
    together = np.corrcoef(recovery_influence(mine), at.recovered(within_r_influence(mine)))[0, 1]
    law = held_against(curve, sums, 0.95).difference.law.law
    assert together > 0.5
    assert law.correlation == pytest.approx((1 - 1 / wrong) * together)


def test_labels_without_spread_have_no_curve():
    """Where no prompt has two different labels nothing can be recovered, and every figure says so."""
    labels = np.tile([[0.5] * 3, [0.7] * 3], (5, 1))
    for found in estimates(np.random.default_rng(0).random(labels.shape), labels).values():
        assert (found.estimate, found.reason) == (None, "undefined: needs a prompt where labels differ")


def test_a_gain_that_may_be_0_is_not_divided_by():
    """One prompt of fifty with a gain is too little to divide by."""
    labels = np.zeros((50, 2))
    labels[0, 0] = 1.0
    assert required(laid_out(labels), 0.5, 0.95).within_r.reason == NOT_DISTINGUISHABLE


def test_a_single_prompt_has_figures_but_no_interval():
    """One prompt gives a curve; how it varies is unknown."""
    found = required(laid_out(np.array([[1.0, 0.4, 0.0]])), 0.5, 0.95)
    assert found.within_r.estimate is not None
    assert found.within_r.low is None
    assert "single prompt" in found.within_r.reason


@pytest.mark.parametrize(("target", "reason"), [(1.0, "not reachable"), (0.0, "not on the curve")])
def test_the_ends_of_the_curve_are_no_targets(target, reason):
    """All of the gain takes a judge without noise, none of it takes no judge at all."""
    found = required(laid_out(simulate("arena", n=40, seed=1).labels), target, 0.95)
    assert found.within_r.estimate is None
    assert found.agreement.reason.startswith(reason)


@pytest.mark.parametrize("within_r", [-0.2, 0.0, 1.0])
def test_a_within_r_off_the_curve_has_no_recovery(within_r):
    """Label plus noise never has a within_r of 0 or below, nor one of 1."""
    found = recovered(laid_out(simulate("arena", n=40, seed=1).labels), within_r, 0.95)
    assert found.estimate is None
    assert found.reason.startswith("not on the curve")


@pytest.mark.parametrize(
    ("score", "reason"),
    [(lambda labels: -labels, "not on the curve"), (np.zeros_like, "undefined"), (lambda labels: labels, "not on")],
    ids=["contrary", "constant", "the oracle itself"],
)
def test_judges_off_the_curve_are_held_against_nothing(score, reason):
    """A judge without a within_r between 0 and 1 has no counterpart of plain noise."""
    labels = simulate("arena", n=40, seed=1).labels
    for found in held_against(laid_out(labels), sums_of(score(labels), labels), 0.95):
        assert found.estimate is None
        assert found.reason.startswith(reason)


NORMAL = NormalDist()
NOISES = st.sampled_from([0.01, 0.2, 1.0, 5.0, 100.0])


def laid_out_of_curve(prompts):
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
    found = laid_out_of_curve(prompts)
    for power, shortfalls in ((1, found.shortfalls(noise)), (2, found.squared_shortfalls(noise))):
        for at, (_, labels) in enumerate(prompts):
            each = zip(labels, chances(labels, noise), strict=True)
            plain = sum(chance * (max(labels) - label) ** power for label, chance in each)
            assert shortfalls[at] == pytest.approx(plain, abs=1e-6)


@given(pools(), NOISES)
def test_agreement_and_within_r_are_those_of_plain_loops(prompts, noise):
    """Effective agreement and within_r follow their definitions, a pair or a candidate at a time."""
    found = laid_out_of_curve(prompts)
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
    labels = laid_out_of_curve(prompts)
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
    labels = laid_out_of_curve(prompts)
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
