"""Pairs as pools of two, shares of weighted pairs, strata of gaps: by hand, by twins, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.studies.label_strategy.pair_shares import (
    Share,
    order_differences,
    order_effects,
    pair_share,
    share_difference,
    verdict_metrics,
)
from bonwise.studies.label_strategy.pairs import (
    Pairs,
    draw_in_strata,
    even_counts,
    every_pair,
    gap_groups,
    gap_strata,
    of_pairs,
    pair_scores,
    pair_sums,
)

VERDICTS = st.sampled_from([0.0, 0.5, 1.0])


def some_pairs(prompts, rng):
    """Return pairs of pools of three, with labels of both ends."""
    pairs = every_pair(np.full(prompts, 3))
    labels = rng.integers(0, 4, 3 * prompts) / 4
    return pairs, np.column_stack([labels[pairs.i], labels[pairs.j]]).ravel()


def test_best_of_two_by_hand():
    """Pairs (1, 0), (0, 1), (1, 1): the judge picks right, ties, and cannot err; recovery is (.5 + 0) / (.5 + .5)."""
    pairs = every_pair(np.full(18, 2))
    sums = pair_sums(pair_scores(np.tile([1.0, 0.5, 0.0], 6)), np.tile([1.0, 0, 0, 1, 1, 1], 6), pairs)
    found = estimate(of_pairs(ESTIMANDS), sums, IntervalRule())
    assert {name: one.estimate for name, one in found.items()} == pytest.approx(
        {
            "tie_rate": 1 / 3,
            "sign_agreement": 1.0,
            "effective_agreement_decided": 0.75,
            "effective_agreement": 2 / 3,
            "gain": 1 / 6,
            "recovery": 0.5,
        }
    )


def test_a_weight_of_two_is_a_pair_twice():
    """Weights count a pair as often as they say, in sums and in shares alike."""
    rng = np.random.default_rng(0)
    pairs, labels = some_pairs(30, rng)
    values, weights = rng.choice([0.0, 0.5, 1.0], len(pairs.i)), rng.integers(1, 4, len(pairs.i)).astype(float)
    again = np.repeat(np.arange(len(pairs.i)), weights.astype(int))
    twice = Pairs(pairs.prompt[again], pairs.i[again], pairs.j[again])
    labels_again = labels.reshape(-1, 2)[again].ravel()
    wanted = of_pairs(ESTIMANDS)
    one = estimate(wanted, pair_sums(pair_scores(values), labels, pairs, weights), IntervalRule())
    other = estimate(wanted, pair_sums(pair_scores(values[again]), labels_again, twice), IntervalRule())
    for name, found in one.items():
        assert (found.estimate, found.se) == pytest.approx((other[name].estimate, other[name].se)), name
    share = pair_share(Share(values, np.ones(len(values))), pairs.prompt, 0.95, weights)
    plain = pair_share(Share(values[again], np.ones(len(again))), twice.prompt, 0.95)
    assert (share.estimate, share.se) == pytest.approx((plain.estimate, plain.se))


@given(st.lists(st.tuples(VERDICTS, VERDICTS, st.integers(0, 3)), min_size=2, max_size=12))
def test_verdict_metrics_are_those_of_plain_counting(rows):
    """Ties, agreement and accuracy are what counting by hand gives."""
    judge, oracle, prompt = (np.array(part) for part in zip(*rows, strict=True))
    found = verdict_metrics(judge, oracle, prompt, 0.95)
    assert found["tie_rate"].estimate == pytest.approx(sum(j == 0.5 for j in judge) / len(judge))
    points = [0.5 if j == 0.5 else float(j == o) for j, o in zip(judge, oracle, strict=True) if o != 0.5]
    right = [float(j == o) for j, o in zip(judge, oracle, strict=True) if 0.5 not in (j, o)]
    for name, values in (("agreement", points), ("accuracy_decided", right)):
        expected = sum(values) / len(values) if values else None
        assert found[name].estimate == (None if expected is None else pytest.approx(expected)), name


def test_orders_by_hand():
    """Of four pairs the first shown wins two in both orders: advantage 1/2, flips 1/2; both orders decide two."""
    one, other, oracle = np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 1, 0]), np.array([1.0, 0, 1, 1])
    effects = order_effects(one, other, np.arange(4), 0.95)
    assert effects["first_shown_advantage"].estimate == 0.5
    assert effects["flips"].estimate == 0.5
    differences = order_differences(one, (one + other) / 2, oracle, np.arange(4), 0.95)
    assert differences["agreement"].estimate == pytest.approx(2 / 4 - (0.5 + 0.5 + 1 + 0) / 4)
    assert differences["accuracy_decided"].estimate == pytest.approx(2 / 4 - 1 / 2)


def test_no_pair_has_no_share():
    """Without a pair that counts there is a reason in place of a number."""
    nothing = Share(np.ones(3), np.zeros(3))
    assert pair_share(nothing, np.arange(3), 0.95).to_dict()["reason"] == "undefined: no such pair"
    assert share_difference(nothing, nothing, np.arange(3), 0.95).estimate is None


@pytest.mark.parametrize("reps", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_intervals_of_weighted_shares_cover(reps):
    """Pairs drawn with unequal probabilities, several a prompt: 95 % intervals hold the share of all pairs."""
    rng, held = np.random.default_rng(3), 0
    prompt = np.repeat(np.arange(3000), 4)
    hit = (rng.random(12000) < np.repeat(rng.beta(4, 2, 3000), 4)).astype(float)
    chance = np.where(hit > 0, 0.01, 0.03)
    for _ in range(reps):
        drawn = rng.random(12000) < chance
        found = pair_share(Share(hit[drawn], np.ones(drawn.sum())), prompt[drawn], 0.95, 1 / chance[drawn])
        held += found.low <= hit.mean() <= found.high
    assert 0.92 <= held / reps <= 0.98


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.data())
def test_even_counts_are_even_and_all_used(sizes, data):
    """The counts add up, none exceeds its stratum, and two that are not used up differ by one at most."""
    count = data.draw(st.integers(0, sum(sizes)))
    found = even_counts(np.array(sizes), count)
    assert found.sum() == count
    assert (found <= sizes).all()
    open_ = found[found < sizes]
    assert open_.size == 0 or open_.max() - open_.min() <= 1


def test_weights_of_a_draw_count_every_pair():
    """The weights of each stratum add up to its pairs, no pair is drawn twice, and a seed draws one sample."""
    gaps = np.random.default_rng(0).choice([0.0, 0.1, 0.2, 0.3, 0.7], 500, p=[0.5, 0.2, 0.2, 0.07, 0.03])
    strata, names = gap_strata(gaps, 3)
    assert names[0] == "tie"
    drawn, weights = draw_in_strata(strata, 60, seed=1)
    assert len(set(drawn.tolist())) == 60
    for h in range(len(names)):
        assert weights[strata[drawn] == h].sum() == pytest.approx((strata == h).sum())
    assert (drawn == draw_in_strata(strata, 60, seed=1)[0]).all()
    assert (drawn != draw_in_strata(strata, 60, seed=2)[0]).any()


@given(st.lists(st.sampled_from([0.05, 0.1, 0.2, 0.4]), min_size=1, max_size=30), st.integers(1, 5))
def test_groups_of_gaps_keep_equal_gaps_together(gaps, groups):
    """Every group holds a pair, none more than it may, and a larger gap is never in a lower group."""
    values = np.array(gaps)
    found, ends = gap_groups(values, groups)
    assert len(ends) - 1 <= groups
    assert set(found.tolist()) == set(range(len(ends) - 1))
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    for value in set(gaps):
        assert len(set(found[values == value].tolist())) == 1
