"""What must be equal whatever the pools are: metrics, counts of pairs, tops of scores."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations, permutations
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats import sums as counting
from bonwise.stats.catalog import ESTIMANDS, global_r, judge_between_share, oracle_between_share, within_r
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.partial.label_features import outcomes
from bonwise.stats.sums import Sums, pair_counts, prompt_sums, single_pairs, sorted_pairs
from bonwise.stats.top_of_scores import at_top, top_of_scores
from bonwise.testing import simulate
from stats.pools import GRID, arrays, pools, rectangle

PICKS = ("value_judge", "top1_accuracy", "hit_rate", "recovery", "tie_rate", "top1_tie_rate", "kendall_tau")


def estimates(scores, labels, rule=None):
    """Estimate every metric of two (prompts, K) arrays."""
    return estimate(ESTIMANDS, prompt_sums(*rectangle(scores, labels)), rule or IntervalRule())


def cohort(n):
    """Return scores and labels of n simulated prompts."""
    drawn = simulate("arena", n=n, seed=20261121)
    return drawn.scores, drawn.labels


def between_r(t):
    """Return the correlation of prompt means, weighted by pool size, from the sums of all prompts."""
    products, scores, labels = (
        whole - left * right / t.cells - within
        for whole, left, right, within in ((t.SO, t.S, t.O, t.eSO), (t.SS, t.S, t.S, t.eSS), (t.OO, t.O, t.O, t.eOO))
    )
    vary = scores > 1e-12 * t.SS and labels > 1e-12 * t.OO
    return products / math.sqrt(scores * labels) if vary else math.nan


@given(pools(least=2, most=10))
def test_the_global_correlation_splits(prompts):
    """Globally r = sqrt(bS bO) r_b + sqrt((1 - bS)(1 - bO)) r_w, where all five exist."""
    t = Sums(*prompt_sums(*arrays(prompts)).sum(axis=1))
    r, r_b, r_w = (float(f(t)) for f in (global_r, between_r, within_r))
    b_s, b_o = float(judge_between_share(t)), float(oracle_between_share(t))
    if not math.isnan(r_b + r_w):
        expected = math.sqrt(b_s * b_o) * r_b + math.sqrt((1 - b_s) * (1 - b_o)) * r_w
        assert r == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", [(0.1, 0.2, 0.3, 0.4), (1, 1, 0, 0), (1, 1, 1), (0.5, 0.5), (1, 0, 0, 0, 0)])
def test_a_random_judge_is_right_once_in_k(labels):
    """Over all orders of the scores top-1 accuracy is exactly 1/K, and the hit rate E|B|/K, oracle ties or not."""
    K = len(labels)
    orders = np.array(list(permutations(range(K))), dtype=float)
    found = estimates(orders, np.tile(np.array(labels, dtype=float), (len(orders), 1)))
    assert found["top1_accuracy"].estimate == pytest.approx(1 / K, abs=1e-12)
    assert found["hit_rate"].estimate == pytest.approx(labels.count(max(labels)) / K, abs=1e-12)


@given(pools(least=2))
def test_the_oracle_as_judge_recovers_everything(prompts):
    """A judge that gives the labels themselves recovers 1, up to rounding, wherever recovery exists."""
    t = Sums(*prompt_sums(*arrays([(labels, labels) for _, labels in prompts])).sum(axis=1))
    possible = float(t.M - t.R)
    assert float(t.J) == pytest.approx(float(t.M), abs=1e-12)
    if possible > 1e-6:
        assert float(t.J - t.R) / possible == pytest.approx(1, abs=1e-12)


def test_the_oracle_as_judge_on_real_sizes():
    """On 1,000 prompts the oracle as judge has recovery, correlations and agreement 1."""
    found = estimates(cohort(1000)[1], cohort(1000)[1])
    for name in ("recovery", "global_r", "within_r", "attenuation", "sign_agreement", "kendall_tau", "hit_rate"):
        assert found[name].estimate == pytest.approx(1, abs=1e-12), name


@pytest.mark.parametrize("score", [0.0, 0.1 + 0.2, 0.7, 1e6])
def test_a_constant_judge_recovers_exactly_nothing(score):
    """A judge that gives all candidates one score has recovery 0 to the last bit and no correlation, with reasons."""
    labels = cohort(300)[1]
    found = estimates(np.full_like(labels, score), labels)
    assert found["recovery"].estimate == 0
    assert found["value_judge"].estimate == found["value_random"].estimate
    for name in ("global_r", "within_r", "inflation", "judge_between_share", "sign_agreement", "kendall_tau"):
        assert found[name].estimate is None, name
        assert "undefined" in found[name].reason, name


@pytest.mark.parametrize("candidates", [2, 3, 5, 6, 7])
def test_a_judge_constant_within_prompts_recovers_nothing(candidates):
    """Scores that only tell prompts apart have no spread within them, and recover nothing, to the last bit."""
    rng = np.random.default_rng(20261121)
    scores = np.repeat(np.round(rng.random((300, 1)), 3), candidates, axis=1)
    labels = np.round(rng.random((300, candidates)), 2)
    sums = Sums(*prompt_sums(*rectangle(scores, labels)))
    assert (sums.eSS == 0).all()
    assert (sums.eSO == 0).all()
    assert (sums.J == sums.R).all()
    found = estimates(scores, labels)
    assert found["recovery"].estimate == 0
    assert found["judge_between_share"].estimate == 1
    assert found["within_r"].estimate is None


def test_gaussian_recovery_is_the_within_correlation():
    """For normal scores and labels with correlation .3 recovery is .3: 200,000 prompts find it within .006."""
    rng = np.random.default_rng(20261121)
    labels, noise = rng.standard_normal((2, 200_000, 4))
    found = estimates(0.3 * labels + math.sqrt(1 - 0.09) * noise, labels)
    assert found["recovery"].estimate == pytest.approx(0.3, abs=0.006)
    assert found["within_r"].estimate == pytest.approx(0.3, abs=0.006)


INCREASING = [lambda s: s**3, np.exp, lambda s: 100 * s - 40, lambda s: np.where(s > 0.8, s + 7, s)]


@pytest.mark.parametrize("increasing", INCREASING)
def test_increasing_maps_of_the_scores_change_no_pick(increasing):
    """Picks, ties and order depend on the order of the scores alone: an increasing map leaves every bit."""
    scores, labels = cohort(500)
    plain, mapped = estimates(scores, labels), estimates(increasing(scores), labels)
    for name in PICKS:
        assert mapped[name] == plain[name], name


@pytest.mark.parametrize("increasing", INCREASING)
def test_increasing_maps_of_the_labels_pick_the_best(increasing):
    """A judge whose scores are an increasing map of the labels picks what the oracle picks."""
    labels = cohort(500)[1]
    found = estimates(increasing(labels), labels)
    assert found["value_judge"].estimate == found["value_oracle"].estimate
    assert found["tie_rate"].estimate == found["oracle_tie_rate"].estimate
    assert found["recovery"].estimate == pytest.approx(1, abs=1e-12)


def test_jackknife_and_bootstrap_agree():
    """At 5,000 prompts the two standard errors lie within 10 % of each other for every metric."""
    scores, labels = cohort(5000)
    plain = estimates(scores, labels)
    drawn = estimates(scores, labels, IntervalRule("bootstrap", resamples=1000, seed=1))
    for name, e in plain.items():
        if e.interval == "clopper-pearson":
            assert drawn[name].interval == "clopper-pearson", name
            continue
        assert drawn[name].interval == "bootstrap", name
        assert drawn[name].se == pytest.approx(e.se, rel=0.1), name
        assert (drawn[name].low, drawn[name].high) == pytest.approx((e.low, e.high), abs=0.5 * e.se), name


def test_a_bootstrap_of_identical_judges_is_0():
    """Paired resamples of a judge against itself differ by nothing at all."""
    sums = prompt_sums(*rectangle(*cohort(200)))
    for name, e in difference(ESTIMANDS, sums, sums, IntervalRule("bootstrap", resamples=50)).items():
        assert (e.estimate, e.se) in {(0.0, 0.0), (0.0, None)}, name


@given(pools(least=2, most=8), st.data())
def test_paired_differences_are_differences(prompts, data):
    """The difference of two judges is that of their metrics, and swapping the judges turns its sign."""
    others = [(data.draw(st.permutations(scores)), labels) for scores, labels in prompts]
    left, right = prompt_sums(*arrays(prompts)), prompt_sums(*arrays(others))
    there, back = (difference(ESTIMANDS, *two, IntervalRule()) for two in ((left, right), (right, left)))
    for e in ESTIMANDS:
        expected = float(e.of(Sums(*left.sum(axis=1))) - e.of(Sums(*right.sum(axis=1))))
        if there[e.name].estimate is None:
            assert back[e.name].estimate is None
            continue
        assert there[e.name].estimate == pytest.approx(expected, abs=1e-9), e.name
        assert back[e.name].estimate == pytest.approx(-expected, abs=1e-9), e.name
        if there[e.name].interval == "jackknife":
            assert back[e.name].low == pytest.approx(-there[e.name].high, abs=1e-9), e.name


@given(pools(least=1, most=8))
def test_outcome_weights_say_what_the_function_says(prompts):
    """A metric that names its outcomes is the mean, or the ratio of means, that their weights give."""
    sums = prompt_sums(*arrays(prompts))
    means, totals = outcomes(sums).mean(axis=0), Sums(*sums.sum(axis=1))
    made = [e for e in ESTIMANDS if e.outcomes is not None]
    assert len(made) >= 7
    for e in made:
        below = 1.0 if e.outcomes_below is None else float(means @ e.outcomes_below)
        value = float(e.of(totals))
        if not math.isnan(value):
            assert value * below == pytest.approx(float(means @ e.outcomes), abs=1e-12), e.name
        assert (e.outcomes_below is None) == (e.parts is None), e.name


@given(pools(least=1, most=8), st.randoms(use_true_random=False))
def test_a_metric_without_scores_or_labels_is_told_so(prompts, random):
    """Other scores change no metric that says it needs none, and other labels likewise."""

    def shuffled(values):
        return random.sample(values, len(values))

    def values(pools):
        totals = Sums(*prompt_sums(*arrays(pools)).sum(axis=1))
        return {e.name: float(e.of(totals)) for e in ESTIMANDS}

    as_they_are = values(prompts)
    other_scores = values([(shuffled(scores), labels) for scores, labels in prompts])
    other_labels = values([(scores, shuffled(labels)) for scores, labels in prompts])
    for e in ESTIMANDS:
        same = pytest.approx(as_they_are[e.name], abs=1e-12, nan_ok=True)
        assert e.on_scores or other_scores[e.name] == same, e.name
        assert e.on_labels or other_labels[e.name] == same, e.name


SIZES = [2, 3, 4, 5, 8, 9, 17]


TIED = st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 1e300])


def tables(values=TIED):
    """Draw scores and labels of some prompts with as many candidates each."""

    def of_shape(shape):
        prompts, candidates = shape
        column = st.lists(
            st.lists(values, min_size=candidates, max_size=candidates), min_size=prompts, max_size=prompts
        )
        return st.tuples(column.map(np.array), column.map(np.array))

    return st.tuples(st.integers(1, 4), st.sampled_from(SIZES)).flatmap(of_shape)


def sign(value):
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


def plain(scores, labels):
    """Count the pairs of each prompt in plain loops."""
    found = []
    for s, o in zip(scores.tolist(), labels.tolist(), strict=True):
        signs = [(sign(s[i] - s[j]), sign(o[i] - o[j])) for i, j in combinations(range(len(s)), 2)]
        found.append(
            (
                sum(a != 0 for a, _ in signs),
                sum(b != 0 for _, b in signs),
                sum(a * b != 0 for a, b in signs),
                sum(a * b > 0 for a, b in signs),
            )
        )
    return [list(count) for count in zip(*found, strict=True)]


@pytest.mark.parametrize("way", [single_pairs, sorted_pairs])
@given(tables() | tables(st.floats(-9, 9)))
def test_pairs_are_counted_one_by_one_or_sorted(way, table):
    """Either way counts what plain loops count, exactly, ties and all."""
    assert way(*table).tolist() == plain(*table)


@given(pools(values=GRID, most=5))
def test_the_sums_of_prompts_do_not_depend_on_the_way(prompts):
    """Values that are equal only after rounding tie on both ways, to the last bit of every sum."""
    one_by_one = Sums(*prompt_sums(*arrays(prompts)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_SORTED_FROM", 0)
        by_sorting = Sums(*prompt_sums(*arrays(prompts)))
    assert np.array_equal(one_by_one, by_sorting)


@pytest.mark.parametrize("size", [63, 64, 65, 300])
@pytest.mark.parametrize("levels", [1, 2, 7, 10**9])
def test_larger_pools_are_counted_alike(size, levels):
    """On both sides of the size from which pools are sorted, both ways agree."""
    rng = np.random.default_rng([20261122, size, levels])
    scores, labels = rng.integers(0, levels, (2, 3, size)).astype(float)
    expected = single_pairs(scores, labels).tolist()
    assert sorted_pairs(scores, labels).tolist() == expected
    assert pair_counts(scores, labels).tolist() == expected


def test_small_pools_are_not_sorted(monkeypatch):
    """Pools of the usual sizes are counted pair by pair, which costs them less."""
    monkeypatch.setattr(counting, "sorted_pairs", None)
    scores, labels = np.array([[0.9, 0.9, 0.1] * 7]), np.array([[1.0, 0.0, 0.0] * 7])
    assert pair_counts(scores, labels).ravel().tolist() == [98, 98, 49, 49]


def test_one_very_large_pool_is_counted():
    """Of 300,000 candidates every pair is counted in memory for a few columns: here each count is known."""
    size = 300_000
    scores = np.arange(size, dtype=float)
    labels = scores // 3
    labels[-1] = -1.0  # below all others, at the highest score
    tracemalloc.start()
    try:
        found = Sums(*prompt_sums(scores, labels, np.array([size])))
        assert tracemalloc.get_traced_memory()[1] < 40 * scores.nbytes
    finally:
        tracemalloc.stop()
    pairs, tied = size * (size - 1) // 2, 3 * (size // 3) - 2
    assert (found.pairs[0], found.apart_S[0], found.apart_O[0]) == (pairs, pairs, pairs - tied)
    assert (found.apart_both[0], found.concordant[0]) == (pairs - tied, pairs - tied - (size - 1))


def features(scores):
    """Compute mean, spread, top, margin and number tied at the top from the definitions."""
    scores = [round(s, 9) for s in scores]
    first, second = sorted(scores, reverse=True)[:2]
    return fmean(scores), pstdev(scores), first, first - second, scores.count(first)


@given(pools(most=8))
def test_features_equal_their_definitions(prompts):
    """Level, spread, top, margin and ties are those of each prompt's own scores."""
    scores, _, sizes = arrays(prompts)
    found = list(zip(*top_of_scores(scores, sizes), strict=True))
    for x, (own, _) in enumerate(prompts):
        assert found[x] == pytest.approx(features(own), abs=1e-12)


@given(pools(most=8))
def test_the_top_holds_every_score_that_rounds_to_the_highest(prompts):
    """A cell is at the top exactly where no score of its prompt is higher after rounding."""
    scores, _, sizes = arrays(prompts)
    wanted = [round(s, 9) == max(round(t, 9) for t in own) for own, _ in prompts for s in own]
    assert at_top(scores, sizes).tolist() == wanted


def test_scores_apart_by_less_than_rounding_share_the_top():
    """Two scores that differ by a rounding error are both picked; one that is missing is below all."""
    found = at_top(np.array([0.3, 0.1 + 0.2, 0.2, 0.9, np.nan]), np.array([3, 2]))
    assert found.tolist() == [True, True, False, True, False]
