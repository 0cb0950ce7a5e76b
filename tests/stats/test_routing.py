"""What routing some of the prompts recovers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.routing.gain_model import cross_fitted, cross_fitted_means
from bonwise.stats.correlation import correlation
from bonwise.stats.routing import (
    SHARES,
    Outcomes,
    gaussian_share,
    routed_differences,
    routed_part,
    routed_recovery,
    routing_bound,
    threshold,
)
from bonwise.testing import simulate
from routing.tables import weak_judge
from stats.routed_figures import routed_share

PRINTED = [  # paper, Tables 17, 19, 21: random, router, optimal, "% captured" as printed, and the table
    (0.785, 0.785, 0.814, -1, "17, margin at 10 %: headroom 101 %"),
    (0.795, 0.796, 0.834, 3, "17, margin at 25 %: headroom 97 %"),
    (0.812, 0.814, 0.845, 8, "17, margin at 50 %: headroom 92 %"),
    (0.785, 0.788, 0.814, 11, "19, margin and level at 10 %"),
    (0.795, 0.802, 0.834, 18, "19, margin and level at 25 %"),
    (0.812, 0.822, 0.845, 31, "19, margin and level at 50 %"),
    (0.798, 0.800, 0.836, 5, "21, margin"),
    (0.798, 0.808, 0.836, 26, "21, interval width"),
]


@pytest.mark.parametrize(("chance", "router", "optimal", "percent", "table"), PRINTED, ids=str)
def test_captured_is_the_papers_figure(chance, router, optimal, percent, table):
    """(V(router) - V(random)) / (V(perfect) - V(random)) of the printed values is the printed part, to rounding."""
    found = (router - chance) / (optimal - chance)
    ends = [(router + a - chance - b) / (optimal + c - chance - b) for a in E for b in E for c in E]
    assert min(ends) <= percent / 100 <= max(ends), (table, found)


E = (-0.0005, 0.0, 0.0005)  # what rounding to three decimals may hide


def outcomes_of(gain, weights=None):
    """Return outcomes of prompts with these gains."""
    gain = np.array(gain, dtype=float)
    return Outcomes(1 - gain, gain, np.ones(len(gain)) if weights is None else np.array(weights, dtype=float))


def plain_value(signal, gain, share):
    """Route in plain loops: in expectation over all orders of tied prompts."""
    n, room = len(gain), share * len(gain)
    value = sum(1 - g for g in gain)
    for level in sorted(set(signal), reverse=True):
        tied = [g for s, g in zip(signal, gain, strict=True) if s == level]
        part = min(1.0, room / len(tied))
        value += part * sum(tied)
        room -= part * len(tied)
        if room <= 1e-12:
            break
    return value / n


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.3]), st.sampled_from([0.0, 0.0, 0.1, 0.5])),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from([0.05, 0.25, 0.3, 0.5, 0.9, 1.0]),
)
def test_value_and_lift_equal_plain_loops(prompts, share):
    """Value, lift and captured are those of routing in plain loops, ties in expectation."""
    signal, gain = map(list, zip(*prompts, strict=True))
    found = routed_share(np.array(signal), outcomes_of(gain), share)
    value, best = plain_value(signal, gain, share), plain_value(gain, gain, share)
    random = np.mean([1 - g + share * g for g in gain])
    assert found.value.estimate == pytest.approx(value, abs=1e-9)
    assert found.lift.estimate == pytest.approx(value - random, abs=1e-9)
    if found.captured.estimate is not None:
        assert found.captured.estimate == pytest.approx((value - random) / (best - random), abs=1e-9)


def test_the_true_gain_captures_all_and_a_constant_nothing():
    """Perfect order: 1. No order: 0."""
    gain = np.random.default_rng(0).exponential(0.1, 500)
    out = outcomes_of(gain)
    assert routed_share(gain, out, 0.25).captured.estimate == pytest.approx(1, abs=1e-9)
    assert routed_share(np.ones(500), out, 0.25).captured.estimate == pytest.approx(0, abs=1e-12)


def test_all_prompts_routed_leave_no_order_to_judge():
    """At a share of 1 the lift is 0 and the part captured undefined, with the reason."""
    found = routed_share(np.arange(50.0), outcomes_of(np.linspace(0, 1, 50)), 1.0)
    assert found.lift.estimate == 0
    assert found.captured.estimate is None
    assert "every prompt" in found.captured.reason


def test_whole_weights_equal_repeated_prompts():
    """A prompt of weight 2 counts as two alike."""
    rng = np.random.default_rng(2)
    signal, gain = rng.integers(0, 6, 40).astype(float), rng.exponential(0.2, 40)
    weights = np.tile([1, 2], 20)
    once = routed_share(signal, outcomes_of(gain, weights), 0.3)
    twice = routed_share(np.repeat(signal, weights), outcomes_of(np.repeat(gain, weights)), 0.3)
    assert once.lift.estimate == pytest.approx(twice.lift.estimate)
    assert once.captured.estimate == pytest.approx(twice.captured.estimate)


def test_a_prompt_without_a_signal_is_routed_last():
    """NaN ranks below every value."""
    gain = np.array([0.4, 0.1, 0.0, 0.0] * 20)
    signal = np.array([np.nan, 3.0, 2.0, 1.0] * 20)
    assert routed_share(signal, outcomes_of(gain), 0.75).value.estimate == pytest.approx(1 - 0.1)


def test_the_threshold_is_where_the_share_lies_at_or_above():
    """Ties stay together; NaN comes last and never becomes the threshold."""
    assert threshold(np.array([1.0, 2.0, 2.0, 3.0]), 0.5) == 2.0
    assert threshold(np.array([1.0, np.nan, np.nan, 3.0]), 0.9) == 1.0
    assert threshold(np.array([1.0, 2.0, 3.0, 4.0]), 0.25, np.array([1.0, 1.0, 1.0, 1.0])) == 4.0


def world(rng, n):
    """Draw a signal and a gain that is often 0 and larger where the signal is."""
    signal = rng.normal(size=n)
    return signal, np.maximum(0.3 * signal + rng.normal(size=n), 0)


def coverage(draws, n, *, coarse):
    """Return how often the intervals hold what routing by the true quantile and order would bring."""
    truth_signal, truth_gain = world(np.random.default_rng(99), 300_000)
    shown = np.round if coarse else np.asarray
    truth = routed_share(shown(truth_signal), outcomes_of(truth_gain), 0.25)
    held = np.zeros(2)
    for seed in range(draws):
        signal, gain = world(np.random.default_rng(seed), n)
        found = routed_share(shown(signal), outcomes_of(gain), 0.25)
        for k, name in enumerate(("lift", "captured")):
            one = getattr(found, name)
            held[k] += one.low <= getattr(truth, name).estimate <= one.high
    return held / draws


@pytest.mark.parametrize("coarse", [False, True], ids=["continuous", "heaped"])
def test_the_intervals_hold_the_truth_as_often_as_they_say(coarse):
    """Lift and captured of 200 samples of 400 prompts: 95 % intervals, threshold estimated, hold in 91 to 99 %."""
    found = coverage(200, 400, coarse=coarse)
    assert ((found > 0.91) & (found < 0.99)).all()


@pytest.mark.slow
@pytest.mark.parametrize("coarse", [False, True], ids=["continuous", "heaped"])
def test_the_intervals_hold_the_truth_as_often_as_they_say_in_full(coarse):
    """The same with 3,000 samples: 93 to 97 %."""
    found = coverage(3000, 400, coarse=coarse)
    assert ((found > 0.93) & (found < 0.97)).all()


def test_the_bound_is_reached_by_two_points_and_by_a_normal_spread_as_far_as_it_goes():
    """A two-point Delta with P = b reaches it all; a normal one phi(z_b) / sqrt(b (1 - b)) of it."""
    two = np.repeat([1.0, 0.0], [250, 750])
    bound, achieved = routing_bound(two, outcomes_of(two), 0.25)
    assert bound.estimate == pytest.approx(0.1875)
    assert achieved.estimate == pytest.approx(1)
    normal = np.random.default_rng(3).normal(size=200_000)
    _, achieved = routing_bound(normal, outcomes_of(normal), 0.25)
    assert achieved.estimate == pytest.approx(gaussian_share(0.25), abs=0.005)


def test_the_bound_is_not_below_what_a_signal_lifts():
    """A step that a straight line misses: the tenths of the signal find it, and the bound holds the best lift."""
    rng = np.random.default_rng(3)
    width = rng.uniform(size=2000)
    out = outcomes_of(0.5 * (width > 0.9))
    line = cross_fitted({"width": width}, out.gain)
    alone, _ = routing_bound(line, out, 0.1)
    steps = cross_fitted_means(width, out.gain, out.weights)
    found, achieved = routing_bound(line, out, 0.1, others=[steps])
    floored, _ = routing_bound(line, out, 0.1, signals=[width])
    assert found.estimate == pytest.approx(0.5 * 0.09, abs=0.004)
    assert floored.estimate == pytest.approx(routed_share(width, out, 0.1).lift.estimate)
    assert alone.estimate >= routed_share(line, out, 0.1).lift.estimate
    assert achieved.estimate <= 1.05


def test_few_routed_prompts_have_no_interval_but_a_reason():
    """Below 20 routed prompts, ties in expectation, lift and captured have none."""
    signal, gain = world(np.random.default_rng(0), 199)
    out = outcomes_of(gain)
    few, enough = (routed_share(np.round(signal), out, share) for share in (0.1, 0.101))
    for one in (few.lift, few.captured):
        assert (one.low, one.se) == (None, None)
        assert one.reason == "no interval: it rests on 19.9 routed prompts"
    assert few.value.low is not None
    assert enough.lift.low is not None


def test_few_prompts_off_the_mode_leave_a_correlation_without_an_interval():
    """A signal that is 0 for all but 19 prompts has a correlation and no interval; one more, and it has one."""
    rng = np.random.default_rng(0)
    for apart in (19, 20):
        signal = np.r_[np.zeros(480), rng.uniform(1, 2, apart)]
        found = correlation(signal, rng.normal(size=len(signal)))
        assert found.estimate is not None
        assert (found.low is None) == (apart == 19)
    assert "19 prompts that differ" in correlation(np.r_[np.zeros(50), np.arange(1, 20)], np.arange(69.0)).reason


def test_prompts_at_the_edge_share_what_is_left():
    """Weights fill the share, and those that tie at its edge are routed in part."""
    found = routed_part(np.array([3.0, 2.0, 2.0, 1.0]), 0.5, np.array([1.0, 2.0, 2.0, 5.0]))
    assert found == pytest.approx([1, 1, 1, 0])
    assert routed_part(np.array([3.0, 2.0, 2.0, np.nan]), 0.4, np.ones(4)) == pytest.approx([1, 0.3, 0.3, 0])
    assert routed_part(np.arange(3.0), 0.0, np.ones(3)).sum() == 0


def test_noise_in_a_prediction_does_not_raise_the_bound():
    """sd(Delta) comes from the covariance with the gain, so pure noise bounds the lift near 0."""
    rng = np.random.default_rng(4)
    bound, _ = routing_bound(rng.normal(size=5000), outcomes_of(rng.normal(size=5000)), 0.25)
    assert bound.estimate is None or bound.estimate < 0.02


@settings(max_examples=40)
@given(st.integers(1, 400_000), st.sampled_from([1.0, 0.999, 0.25, 0.1]), st.booleans(), st.booleans())
def test_a_share_of_the_weight_is_routed_whatever_a_cumulative_sum_ends_at(prompts, share, tied, weighted):
    """The routed weight is the share of all weight, from the top of the signal, for any number of prompts."""
    rng = np.random.default_rng(prompts)
    signal = rng.integers(0, 9, prompts) / 10 if tied else rng.random(prompts).round(9)
    weights = rng.exponential(size=prompts) if weighted else np.ones(prompts)
    found = routed_part(signal, share, weights)
    assert found.min() >= 0
    assert found.max() <= 1
    assert found @ weights == pytest.approx(share * weights.sum(), rel=1e-6)
    assert np.diff(found[np.argsort(-signal)]).max(initial=0.0) <= 0
    assert signal.min() <= threshold(signal, share, weights) <= signal.max()


@pytest.mark.parametrize("prompts", np.linspace(10_000, 400_000, 20).astype(int).tolist())
def test_the_whole_weight_is_routed_however_many_prompts_there_are(prompts):
    """A sum of many masses may end a little below 1; a share of 1 still takes every prompt."""
    signal = np.random.default_rng(prompts).random(prompts)
    assert routed_part(signal, 1.0, np.ones(prompts)).sum() == pytest.approx(prompts, abs=1e-3)


def test_by_hand():
    """Half of two kinds of prompts are sent: of 0.5 to gain over a random pick 0.1 on average is still lost."""
    gain = np.tile([0.4, 0.2], 40)
    outcomes = Outcomes(0.9 - gain, gain, np.ones(80))
    random = np.full(80, 0.4)
    signal = np.tile([1.0, 0.0], 40)
    at = {share: routed_recovery(signal, outcomes, random, share).estimate for share in (0.0, 0.25, 0.5, 1.0)}
    assert at == pytest.approx({0.0: 0.4, 0.25: 0.6, 0.5: 0.8, 1.0: 1.0})


def test_where_nothing_is_to_be_gained_routing_has_no_bound():
    """A gain of 0 in every prompt goes with no prediction, and nothing is divided by it."""
    for figure in routing_bound(np.arange(40.0), outcomes_of(np.zeros(40)), 0.5):
        assert (figure.estimate, figure.reason) == (None, "no prediction goes with the gain")


def test_nothing_to_gain():
    """Without a prompt where labels differ recovery is undefined; where all prompts are alike it has no interval."""
    flat = Outcomes(np.ones(30), np.zeros(30), np.ones(30))
    assert "needs" in routed_recovery(np.zeros(30), flat, np.ones(30), 0.5).reason
    alike = Outcomes(np.full(30, 0.8), np.full(30, 0.2), np.ones(30))
    found = routed_recovery(np.zeros(30), alike, np.full(30, 0.5), 0.0)
    assert found.estimate == pytest.approx(0.6)
    assert found.low is None


def test_without_sending_it_is_the_recovery_of_the_audit():
    """At share 0 estimate and interval are those of the audit, and at 1 there is nothing left to gain."""
    frame = simulate("arena", n=200, seed=5).frame()
    routed = bw.route(frame).recovery_by_share()["judge"]
    own = bw.audit(frame)["recovery"]
    first, last = routed.recoveries[0], routed.recoveries[-1]
    assert (first.estimate, first.low, first.high) == pytest.approx((own.estimate, own.low, own.high), abs=1e-9)
    assert (last.estimate, last.low, last.high) == (1.0, 1.0, 1.0)
    assert routed.shares == SHARES
    assert np.diff([one.estimate for one in routed.recoveries]).min() > -1e-9


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 3), st.floats(0.5, 2)),
        min_size=25,
        max_size=40,
    ),
    st.sampled_from(SHARES),
)
def test_a_plain_loop_agrees(prompts, share):
    """Prompts in the order of the signal are sent until the share is filled, those at its edge in part.

    A judge that never errs, and one that may pick worse than the first; its differences to both judges alone.
    """
    random = [0.3 * one for one, *_ in prompts]
    value = [r + 0.3 * v for r, (_, v, *_) in zip(random, prompts, strict=True)]
    gain = [0.05 + g for _, _, g, *_ in prompts]
    errs = [g - 0.4 * r for g, r in zip(gain, random, strict=True)]
    weight = [w for *_, w in prompts]
    signal = np.array([float(s) for *_, s, _ in prompts])
    outcomes = Outcomes(np.array(value), np.array(gain), np.array(weight))
    found = routed_recovery(signal, outcomes, np.array(random), share)
    left = share * sum(weight)
    sent = [0.0] * len(prompts)
    for level in sorted(set(signal), reverse=True):
        group = [at for at, one in enumerate(signal) if one == level]
        mass = sum(weight[at] for at in group)
        part = min(max(left / mass, 0.0), 1.0)
        for at in group:
            sent[at] = part
        left -= part * mass
    above = sum(w * (v + p * g - r) for w, v, p, g, r in zip(weight, value, sent, gain, random, strict=True))
    below = sum(w * (v + g - r) for w, v, g, r in zip(weight, value, gain, random, strict=True))
    if found.estimate is not None:
        assert found.estimate == pytest.approx(above / below, abs=1e-6)
    best = np.array(value) + np.array(gain)
    strong = Outcomes(np.array(value), np.array(errs), np.array(weight), best)
    rows = list(zip(weight, value, sent, errs, random, strict=True))
    routed = routed_recovery(signal, strong, np.array(random), share)
    if routed.estimate is not None:
        kept = sum(w * (v + p * g - r) for w, v, p, g, r in rows) / below
        assert routed.estimate == pytest.approx(min(kept, 1), abs=1e-6)
    differences = [
        sum(w * part(v, p, g) for w, v, p, g, _ in rows) / sum(weight)
        for part in (lambda v, p, g: v + p * g, lambda _, p, g: p * g, lambda _, p, g: (1 - p) * g)
    ]
    estimates = routed_differences(signal, strong, share)
    assert [figure.estimate for figure in estimates] == pytest.approx(differences, abs=1e-6)
    assert strong.perfect.gain == pytest.approx(gain)


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)], ids=["thinned", "full"])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_intervals_of_a_judge_that_errs_cover_the_population(share, tables):
    """Of tables of 150 prompts 91 % or more of the intervals of value, differences and recovery hold the truth."""
    rng = np.random.default_rng(11)
    n, K = 40_000, 3
    noise, label = rng.uniform(0.05, 0.6, (n, 1)), rng.random((n, K))
    first, second = (label + scale * rng.standard_normal((n, K)) for scale in (noise, 0.15))
    rows = np.arange(n)
    value, strong = (label[rows, scores.argmax(axis=1)] for scores in (first, second))
    population = Outcomes(value, strong - value, np.ones(n), label.max(axis=1))
    signal, random = noise[:, 0] * rng.uniform(0.7, 1.3, n), label.mean(axis=1)

    def figures(at):
        part = population.some(at)
        recovery = routed_recovery(signal[at], part, random[at], share)
        return (*routed_differences(signal[at], part, share), recovery)

    truth = [figure.estimate for figure in figures(rows)]
    held = np.zeros(4)
    for _ in range(tables):
        drawn = figures(rng.integers(0, n, 150))
        held += [figure.low <= true <= figure.high for figure, true in zip(drawn, truth, strict=True)]
    assert (held / tables).min() >= 0.91, held / tables


@pytest.mark.parametrize("tables", [150, pytest.param(1000, marks=pytest.mark.slow)], ids=["thinned", "full"])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5])
def test_intervals_cover_the_recovery_of_the_population(share, tables):
    """Over simulated tables of 150 prompts at least 91 % of the intervals hold what the rule recovers in 40,000."""
    study = bw.route(weak_judge(40_000, seed=1, labelled=None), share=0.25)
    large = study.source_of("prompts")["weak"].prompts
    random, outcomes = large.random, large.outcomes
    signal = large.features["width"]
    p = routed_part(signal, share, np.ones(len(signal)))
    truth = (outcomes.value + p * outcomes.gain - random).mean() / (outcomes.value + outcomes.gain - random).mean()
    held, rng = 0, np.random.default_rng(7)
    for _ in range(tables):
        at = rng.integers(0, len(signal), 150)
        found = routed_recovery(
            signal[at], Outcomes(outcomes.value[at], outcomes.gain[at], np.ones(150)), random[at], share
        )
        held += found.low <= truth <= found.high
    assert 0.91 <= held / tables <= 0.995
