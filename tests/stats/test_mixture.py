from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.sums import Sums
from bonwise.studies.mix.mixture import OF_PAIRS, SHARES, mix_change, mix_curve, mix_sums
from stats import twins
from stats.nominal import assert_covered
from stats.pools import arrays, pools

RULE = IntervalRule()
SEED = 20261122
METRICS = ("global_r", "recovery", "sign_agreement", "value_random")

CONTROLLED = pools(least=1, most=5, candidates=(3, 6)).flatmap(
    lambda prompts: st.tuples(
        st.just(prompts),
        # Two others stay in every pool; the first pool has a control.
        st.tuples(*(st.integers(1 if at == 0 else 0, len(pool[0]) - 2) for at, pool in enumerate(prompts))),
    )
)
"""Pools of which the last candidates, as many as the second part says, are controls."""


def sums_of(prompts, controls):
    """Compute the sums of pools whose last candidates are controls."""
    scores, labels, sizes = arrays(prompts)
    marks = [
        at >= len(pool[0]) - many for pool, many in zip(prompts, controls, strict=True) for at in range(len(pool[0]))
    ]
    return mix_sums(scores, labels, sizes, np.array(marks))


def without(prompts, controls):
    """Return the pools without their controls."""
    return [tuple(side[: len(side) - many] for side in pool) for pool, many in zip(prompts, controls, strict=True)]


def easy_pairs(prompts, controls):
    """Return every pair of another candidate and a control as a pool of its own."""
    return [
        ([pool[0][i], pool[0][j]], [pool[1][i], pool[1][j]])
        for pool, many in zip(prompts, controls, strict=True)
        for i, j in product(range(len(pool[0]) - many), range(len(pool[0]) - many, len(pool[0])))
    ]


def plain(mixed, names=tuple(e.name for e in ESTIMANDS)):
    """Return metrics of summed sums, None where they are undefined."""
    totals = Sums(*mixed.sum(axis=1))
    found = {e.name: float(e.of(totals)) for e in ESTIMANDS if e.name in names}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def assert_same(found, expected):
    """Compare the metrics that were found, None being equal to None only."""
    for name, value in found.items():
        if expected[name] is None:
            assert value is None, name
        else:
            assert value == pytest.approx(expected[name], rel=1e-8, abs=1e-8), name


@given(CONTROLLED, st.integers(0, 5))
@settings(max_examples=150)
def test_a_share_of_the_prompts_is_so_many_copies_of_the_pools(given_pools, fifths):
    """At a share of k fifths the metrics are those of 5 - k copies of the pools without and k with the controls."""
    prompts, controls = given_pools
    sums = sums_of(prompts, controls)
    copies = (5 - fifths) * without(prompts, controls) + fifths * list(prompts)
    mixed = (1 - fifths / 5) * sums.without + fifths / 5 * sums.whole
    assert_same(plain(mixed), twins.metrics(copies))


@given(CONTROLLED, st.integers(0, 4))
@settings(max_examples=150)
def test_towards_easy_pairs_is_so_many_copies_of_the_pairs(given_pools, quarters):
    """On the second leg the metrics are those of copies of the whole pools and of the pairs as pools of two."""
    prompts, controls = given_pools
    sums = sums_of(prompts, controls)
    copies = (4 - quarters) * list(prompts) + quarters * easy_pairs(prompts, controls)
    mixed = (1 - quarters / 4) * sums.whole + quarters / 4 * sums.easy
    assert_same(plain(mixed, OF_PAIRS), twins.metrics(copies))


def test_a_pool_by_hand():
    """Of a, b and the control z one pair is hard and two are easy; half of the prompts with z make 1 pair of 2."""
    sums = sums_of([([0.6, 0.4, 0.0], [0.5, 0.9, 0.1])] * 2, [1, 1])
    curve = mix_curve(sums, RULE)
    at = {(point.share, point.towards): point for point in curve}
    # Without z the one pair is discordant; with it two of three pairs agree, and alone both do.
    assert [at[key].metrics["sign_agreement"].estimate for key in ((0, 0), (0.5, 0), (1, 0), (1, 1))] == [
        0,
        pytest.approx(1 / 2),
        pytest.approx(2 / 3),
        1,
    ]
    assert at[0.5, 0].easy_pairs == pytest.approx(1 / 2)
    assert at[1, 0].easy_pairs == pytest.approx(2 / 3)
    # The pick is a, worth .5; a random pick is worth .7 without z and .5 with it, the best .9.
    assert plain(sums.without)["recovery"] == pytest.approx((0.5 - 0.7) / (0.9 - 0.7))
    assert plain(sums.whole)["recovery"] == pytest.approx(0, abs=1e-12)


def test_the_curve_has_two_legs_that_meet():
    """The points are in the order of easy pairs; the second leg starts where the first ends, without a jump."""
    curve = mix_curve(drawn_sums(60, 1), RULE)
    assert [point.share for point in curve[:11]] == list(SHARES)
    assert [point.towards for point in curve[11:]] == list(SHARES[1:])
    easy = [point.easy_pairs for point in curve]
    assert easy == sorted(easy)
    assert (easy[0], easy[-1]) == (0, 1)
    assert set(curve[-1].metrics) == set(OF_PAIRS)
    sums = drawn_sums(60, 1)
    for name in OF_PAIRS:
        near = plain((1 - 1e-9) * sums.whole + 1e-9 * sums.easy, (name,))[name]
        assert near == pytest.approx(curve[10].metrics[name].estimate, abs=1e-7)


def test_prompts_without_a_control_do_not_count_among_easy_pairs():
    """At the end of the second leg only prompts that hold a control are counted, and the same before it changes."""
    prompts = [([0.6, 0.4, 0.0], [0.5, 0.9, 0.1])] * 3 + [([0.1, 0.2, 0.4], [0.3, 0.1, 0.9])] * 2
    curve = mix_curve(sums_of(prompts, [1, 1, 1, 0, 0]), RULE)
    assert [point.metrics["global_r"].n for point in curve[-2:]] == [5, 3]


def test_the_change_of_recovery_has_its_own_denominators():
    """The change is the difference of the ends with the jackknife of both ratios, and undefined where an end is."""
    sums = drawn_sums(80, 2)
    change = mix_change(sums, RULE)
    both = [plain(sums.whole)["recovery"], plain(sums.without)["recovery"]]
    assert change["recovery"].estimate == pytest.approx(both[0] - both[1])
    left = [
        plain(np.delete(sums.whole, x, axis=1))["recovery"] - plain(np.delete(sums.without, x, axis=1))["recovery"]
        for x in range(80)
    ]
    assert change["recovery"].se == pytest.approx(math.sqrt(79 * np.var(left)))
    flat = sums_of([([0.6, 0.4, 0.0], [0.5, 0.5, 0.1])] * 4, [1] * 4)
    assert mix_change(flat, RULE)["recovery"].reason == "undefined: needs a prompt where labels differ"


def drawn_sums(n, seed):
    """Draw pools of four of alike quality, and a control that is usually the worst."""
    rng = np.random.default_rng([SEED, seed])
    level = rng.normal(0.6, 0.1, (n, 1))
    labels = np.column_stack([level + rng.normal(0, 0.1, (n, 4)), rng.normal(0.1, 0.1, n)])
    scores = np.round(20 * (labels + rng.normal(0, 0.15, labels.shape))) / 20
    return mix_sums(scores.ravel(), labels.ravel(), np.full(n, 5), np.tile([False] * 4 + [True], n))


def covered(n, replications):
    """Count the intervals that hold the truth, half way and of the change."""
    truth = drawn_sums(200_000, 0)
    half = plain((truth.without + truth.whole) / 2, METRICS)
    ends = plain(truth.whole, METRICS), plain(truth.without, METRICS)
    rule = IntervalRule(label_range=(-np.inf, np.inf))
    hits = Counter()
    for seed in range(1, replications + 1):
        sums = drawn_sums(n, seed)
        found = mix_curve(sums, rule)[5].metrics
        change = mix_change(sums, rule)
        for name in METRICS:
            hits[f"{name} half way"] += found[name].low <= half[name] <= found[name].high
            hits[f"{name} change"] += change[name].low <= ends[0][name] - ends[1][name] <= change[name].high
    return hits


def test_intervals_of_the_curve_hold_the_truth():
    """A thinned simulation finds the truth in about 95 % of the intervals, half way and of the change."""
    hits = covered(100, 80)
    assert min(hits.values()) >= 0.86 * 80, hits


@pytest.mark.slow
def test_intervals_of_the_curve_are_nominal():
    """Over 2,000 tables the intervals of the curve and of the change hold the truth 93 to 97 times in 100."""
    assert_covered(covered(200, 2000), 2000)
