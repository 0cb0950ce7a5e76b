"""Every metric, worked by hand and against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv, stdtrit

from bonwise.flags import decimals_of_pool
from bonwise.stats import jackknife, sums
from bonwise.stats.catalog import ESTIMANDS, ratio
from bonwise.stats.estimand import NOTHING_LOST
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Sums, prompt_sums
from stats import twins
from stats.pools import arrays, as_prompts, pools
from stats.twins import metrics

# Three prompts of three candidates.
#   x: S .9 .9 .3   O 1  0  .5      y: S .5 .5 .5   O .2 .8 .5      z: S .2 .6 .4   O .1 .9 .5
SQUARE = [([0.9, 0.9, 0.3], [1.0, 0.0, 0.5]), ([0.5, 0.5, 0.5], [0.2, 0.8, 0.5]), ([0.2, 0.6, 0.4], [0.1, 0.9, 0.5])]
# Correlations. Means of S are .7, .5, .4; of O .5, .5, .5. Deviations:
#   x: eS .2 .2 -.4    eO .5 -.5 0        eS.eS .24   eO.eO .50   eS.eO .1 - .1 - 0 = 0
#   y: eS 0            eO -.3 .3 0        eS.eS 0     eO.eO .18   eS.eO 0
#   z: eS -.2 .2 0     eO -.4 .4 0        eS.eS .08   eO.eO .32   eS.eO .08 + .08 = .16
#   within: eSS = .32, eOO = 1.00, eSO = .16; r_w = .16 / sqrt(.32) = .28284; alpha = .16
#   between: grand mean of S is 1.6/3 = .53333; 3 (.16667^2 + .03333^2 + .13333^2) = 3 x .0466667 = .14;
#            of O 0, since all prompts have mean .5, and so is the product of means: r = .16 / sqrt(.46 x 1)
# Pairs (12, 13, 23) as signs of first minus second, S then O:
#   x: S 0 + +   O + + -      12 tied by S; 13 concordant; 23 discordant
#   y: S 0 0 0   O - - +      all tied by S
#   z: S - - +   O - - +      all concordant
#   9 pairs, 4 tied by S, none by O; 5 apart on both, 4 concordant: p_nt = 4/5
#   p_eff = (4 + .5 x 4 + 0 x 1) / 9 = 6/9; no oracle ties, so the decided reading is the same
#   tau-b: x (1 - 1)/sqrt(2 x 3) = 0, y undefined, z 3/3 = 1: mean .5
# Picks: A_x = {1, 2}, B_x = {1}: PCS 1/2, hit 1/2, J = .5, R = .5, M = 1
#        A_y = all, B_y = {2}:    PCS 1/3, hit 1/3, J = .5, R = .5, M = .8
#        A_z = {2}, B_z = {2}:    PCS 1,   hit 1,   J = .9, R = .5, M = .9
#   recovery = (1.9 - 1.5) / (2.7 - 1.5) = .4 / 1.2 = 1/3
SQUARE_BY_HAND = {
    "global_r": 0.16 / math.sqrt(0.46),
    "within_r": 0.16 / math.sqrt(0.32),
    "inflation": 1 - math.sqrt(0.46 / 0.32),
    "attenuation": 0.16,
    "judge_between_share": 0.14 / 0.46,
    "oracle_between_share": 0.0,
    "tie_rate": 4 / 9,
    "oracle_tie_rate": 0.0,
    "top1_tie_rate": 2 / 3,
    "sign_agreement": 4 / 5,
    "effective_agreement": 6 / 9,
    "effective_agreement_decided": 6 / 9,
    "kendall_tau": 0.5,
    "top1_accuracy": (1 / 2 + 1 / 3 + 1) / 3,
    "hit_rate": (1 / 2 + 1 / 3 + 1) / 3,
    "value_random": 0.5,
    "value_judge": 1.9 / 3,
    "value_oracle": 0.9,
    "gain": 0.4 / 3,
    "recovery": 1 / 3,
}

# Two prompts, of two and of four candidates.
#   x: S .8 .2   O 1 0      y: S .1+.2 .3 .1 .1   O .4 .4 .4 0   (.1+.2 ties .3)
RAGGED = [([0.8, 0.2], [1.0, 0.0]), ([0.1 + 0.2, 0.3, 0.1, 0.1], [0.4, 0.4, 0.4, 0.0])]
# Correlations. Means: S .5 and .2, O .5 and .3.
#   x: eS .3 -.3           eO .5 -.5            eSS .18  eOO .50  eSO .30
#   y: eS .1 .1 -.1 -.1    eO .1 .1 .1 -.3      eSS .04  eOO .12  eSO .01 + .01 - .01 + .03 = .04
#   within: eSS .22, eOO .62, eSO .34
#   six cells: mean S = 1.8/6 = .3, mean O = 2.2/6 = 11/30
#   between: S 2 x .2^2 + 4 x .1^2 = .12;  O 2 (4/30)^2 + 4 (2/30)^2 = 48/900 = 4/75
#            SO 2 x .2 x 4/30 + 4 x .1 x 2/30 = 16/300 + 8/300 = .08
#   totals: SS .34, OO .62 + 4/75 = 50.5/75, SO .42
# Pairs: x: 1, concordant. y: S ties 12 and 34; O ties 12, 13, 23; apart on both are 14 and 24, both concordant;
#        34 is tied by S and decided by O (+); 13, 23 are decided by S and tied by O.
#   7 pairs, 2 tied by S, 3 by O; apart on both 3, concordant 3: p_nt = 1
#   p_eff = (3 + .5 x 4) / 7 = 5/7; decided: 4 pairs, (3 + .5) / 4
#   tau-b: x 1; y 2 / sqrt(4 x 3): mean
# Picks: x: A = B = {1}: PCS 1, hit 1, J 1, R .5, M 1
#        y: A = {1, 2}, B = {1, 2, 3}: PCS 2 / (2 x 3), hit 1, J .4, R .3, M .4
#   recovery = (1.4 - .8) / (1.4 - .8) = 1
RAGGED_BY_HAND = {
    "global_r": 0.42 / math.sqrt(0.34 * 50.5 / 75),
    "within_r": 0.34 / math.sqrt(0.22 * 0.62),
    "inflation": 1 - 0.34 / math.sqrt(0.22 * 0.62) * math.sqrt(0.34 * 50.5 / 75) / 0.42,
    "attenuation": 0.34 / 0.62,
    "judge_between_share": 0.12 / 0.34,
    "oracle_between_share": 4 / 50.5,
    "tie_rate": 2 / 7,
    "oracle_tie_rate": 3 / 7,
    "top1_tie_rate": 0.5,
    "sign_agreement": 1.0,
    "effective_agreement": 5 / 7,
    "effective_agreement_decided": 3.5 / 4,
    "kendall_tau": (1 + 2 / math.sqrt(12)) / 2,
    "top1_accuracy": (1 + 1 / 3) / 2,
    "hit_rate": 1.0,
    "value_random": 0.4,
    "value_judge": 0.7,
    "value_oracle": 0.7,
    "gain": 0.3,
    "recovery": 1.0,
}

CASES = [(SQUARE, SQUARE_BY_HAND), (RAGGED, RAGGED_BY_HAND)]


@pytest.mark.parametrize(("prompts", "by_hand"), CASES, ids=["square", "ragged"])
def test_metrics_are_those_worked_by_hand(prompts, by_hand):
    """Every metric of a tiny table equals the figure worked in the comment above it."""
    totals = Sums(*prompt_sums(*arrays(prompts)).sum(axis=1))
    assert {e.name: float(e.of(totals)) for e in ESTIMANDS} == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize(("prompts", "by_hand"), CASES, ids=["square", "ragged"])
def test_the_twin_agrees_with_the_hand(prompts, by_hand):
    """The plain-loop twin, which the property tests trust, gives the figures worked by hand."""
    assert metrics(prompts) == pytest.approx(by_hand, abs=1e-12)


def test_a_jackknife_worked_by_hand():
    """The standard error of a mean of n values is their standard deviation over the root of n."""
    # value_judge of SQUARE is the mean of .5, .5, .9: variance (.0178 + .0178 + .0711)/2 = .16/3, se sqrt(.16/9)
    found = estimate(ESTIMANDS, prompt_sums(*arrays(SQUARE)), IntervalRule())["value_judge"]
    assert found.se == pytest.approx(0.4 / 3, abs=1e-12)
    # v (1 - v) / se^2 = 13.0625 draws, times (1.959964 / 4.302653)^2 for t(2): 2.710503 draws, 1.716652 hits
    ends = betaincinv(1.716652, 1.993851, 0.025), betaincinv(2.716652, 0.993851, 0.975)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-6)


def test_98_of_100_worked_by_hand():
    """Of values 0 and 1 the interval is Clopper-Pearson's but for t in the place of the normal, one-sided too."""
    # v (1 - v) / se^2 = 99, as se^2 = v (1 - v) / 99; times (1.644854 / 1.660391)^2 = .981372
    right = ([0.9, 0.1], [1, 0])
    found = estimate(ESTIMANDS, prompt_sums(*arrays([right] * 98 + [([0.1, 0.9], [1, 0])] * 2)), IntervalRule())
    hit = found["hit_rate"]
    draws = 99 * 0.9813718
    ends = betaincinv(0.98 * draws, 0.02 * draws + 1, 0.05), betaincinv(0.98 * draws + 1, 0.02 * draws, 0.95)
    assert hit.bounds(0.9) == pytest.approx(ends, abs=1e-6)
    assert hit.interval == "clopper-pearson"
    assert ends[0] < 0.95  # Student's t would lie above it


def test_counts_are_those_of_contributing_prompts():
    """A metric counts the prompts it rests on: tau is undefined where the judge ties a whole prompt."""
    found = estimate(ESTIMANDS, prompt_sums(*arrays(SQUARE)), IntervalRule())
    assert (found["kendall_tau"].n, found["sign_agreement"].n, found["recovery"].n) == (2, 2, 3)


def test_the_sums_of_a_prompt():
    """The per-prompt sums carry the working: ties after rounding, picks in expectation."""
    sums = Sums(*prompt_sums(*arrays(RAGGED)))
    assert sums.apart_S.tolist() == [1, 4]
    assert sums.apart_O.tolist() == [1, 3]
    assert sums.tied_top.tolist() == [0, 1]
    assert sums.J.tolist() == pytest.approx([1.0, 0.4])


def estimates(prompts, rule=None):
    """Estimate every metric of the prompts."""
    return estimate(ESTIMANDS, prompt_sums(*arrays(prompts)), rule or IntervalRule())


def values(found):
    """Return the bare estimates."""
    return {name: e.estimate for name, e in found.items()}


def plain_values(prompts):
    """Compute every metric from totals, None where it is undefined."""
    totals = Sums(*prompt_sums(*arrays(prompts)).sum(axis=1))
    found = {e.name: float(e.of(totals)) for e in ESTIMANDS}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def assert_equal(found, expected, **tolerance):
    """Compare metric by metric, None being equal to None only."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(value, **tolerance), name


@given(pools())
@settings(max_examples=300)
def test_metrics_equal_their_definitions(prompts):
    """Sums and totals give what the definitions give in plain loops, undefined where those are undefined."""
    assert_equal(plain_values(prompts), twins.metrics(prompts), rel=1e-9, abs=1e-9)


def may_be_0(e):
    """Tell whether an interval does not exclude 0."""
    return e.low is None or e.low <= 0 <= e.high


@given(pools(least=2))
def test_only_wild_ratios_are_withheld(prompts):
    """An estimate is the metric itself; withheld are ratios whose denominator may be 0, and a loss of nothing."""
    found, plain = estimates(prompts), plain_values(prompts)
    for name, e in found.items():
        if e.estimate is None and plain[name] is not None:
            assert name in {"recovery", "inflation"}
            if e.reason == NOTHING_LOST:
                assert plain["within_r"] >= plain["global_r"] - 1e-9
                continue
            assert e.reason.removeprefix("unbounded: ") == "denominator not distinguishable from 0"
        else:
            assert e.estimate == (None if plain[name] is None else pytest.approx(plain[name], abs=1e-12)), name
            assert name != "inflation" or e.estimate is None or plain["within_r"] < plain["global_r"]
            assert e.estimate is not None or "undefined" in e.reason


def followed(level, *, seed=5, prompts=20):
    """Return prompts whose scores follow the labels within them, and whose means follow `level` times each other."""
    rng = np.random.default_rng(seed)
    labels, mean = rng.standard_normal((2, prompts, 3)), rng.standard_normal((prompts, 1))
    scores = labels[0] + 2 * labels[1] + level * mean
    return list(zip(scores.tolist(), (labels[0] + mean).tolist(), strict=True))


ALIKE, MIXED, REVERSED = followed(-0.2), followed(3.0), followed(-9.0)
"""Prompts whose means part less than their candidates, more, and the other way round."""


def test_nothing_is_divided_by_nothing():
    """By hand: 0, less than 0, and up to 1e-12 of the terms that were summed divide nothing; just above they do."""
    quotients = ratio(np.full(5, 2.0), np.array([-1.0, 0.0, 1e-12, 2e-12, 1.0]))
    assert np.isnan(quotients[:3]).all()
    assert quotients[3:] == pytest.approx([1e12, 2.0])
    of_large_terms = ratio(np.full(2, 2.0), np.array([1e-9, 2e-9]), 1000.0)
    assert np.isnan(of_large_terms).tolist() == [True, False]


@pytest.mark.parametrize(
    "rule", [IntervalRule(), IntervalRule("bootstrap"), IntervalRule(clusters=np.arange(20) // 2)]
)
def test_a_correlation_that_prompts_do_not_raise_has_lost_nothing(rule):
    """Where within_r is not below global_r inflation is withheld, of one judge and of the difference of two."""
    found = estimates(ALIKE, rule)
    assert found["within_r"].estimate > found["global_r"].estimate > 0
    assert (found["inflation"].estimate, found["inflation"].low) == (None, None)
    assert found["inflation"].reason == NOTHING_LOST
    assert 0 < estimates(MIXED, rule)["inflation"].estimate < 1
    both = [prompt_sums(*arrays(prompts)) for prompts in (MIXED, ALIKE)]
    assert difference(ESTIMANDS, *both, rule)["inflation"].reason == NOTHING_LOST
    opposite = estimates(REVERSED, rule)
    assert opposite["global_r"].estimate < 0 < opposite["within_r"].estimate
    assert opposite["inflation"].reason == "undefined: needs a global_r above 0 and a defined within_r"


@given(pools(most=1))
def test_a_single_prompt_has_estimates_and_no_intervals(prompts):
    """From one prompt every metric that exists is estimated, none has an interval, and each says why."""
    for name, e in estimates(prompts).items():
        assert (e.low, e.high, e.se) == (None, None, None), name
        assert e.reason, name


def test_a_possible_gain_that_may_be_0_withholds_recovery():
    """Three prompts in ten with anything to gain leave the mean possible gain indistinct from 0; ten do not."""
    flat, right, wrong = ([0.9, 0.1], [0.5, 0.5]), ([0.9, 0.1], [0.7, 0.5]), ([0.9, 0.1], [0.5, 0.7])
    withheld = estimates([flat] * 7 + [right] * 2 + [wrong])["recovery"]  # mean .03, t(9) times its se .0345
    assert withheld.reason == "denominator not distinguishable from 0"
    assert estimates([right] * 9 + [wrong])["recovery"].estimate == pytest.approx(0.8)


@given(pools(least=2, most=12))
def test_standard_errors_equal_the_plain_jackknife(prompts):
    """Each standard error is that of the metrics recomputed without prompt x, for every x."""
    found, without = estimates(prompts), twins.left_out(prompts)
    for name, e in found.items():
        se = twins.jackknife_se([rest[name] for rest in without])
        if e.estimate is None or e.n < 2:
            assert e.se is None, name
        elif e.reason is None:
            assert e.se == pytest.approx(se, rel=1e-9, abs=1e-9), name
        else:
            assert e.low is None, name


@given(pools(least=3, most=12))
def test_intervals_of_correlations_equal_the_plain_ones(prompts):
    """Student's t about z, by the error and the kurtosis of the metrics recomputed without prompt x, for every x."""
    found, without = estimates(prompts), twins.left_out(prompts)
    for name in ("global_r", "within_r"):
        e, left = found[name], [rest[name] for rest in without]
        if e.low is None or 1 - abs(e.estimate) < 1e-6:
            continue
        off = [value - sum(left) / len(left) for value in left]
        df = 3 * sum(d**2 for d in off) ** 2 / sum(d**4 for d in off) - 1
        half = stdtrit(min(max(3, df), e.n - 1), 0.975) * twins.jackknife_se(left) / (1 - e.estimate**2)
        ends = [math.tanh(math.atanh(e.estimate) + side * half) for side in (-1, 1)]
        assert (e.low, e.high) == pytest.approx(ends, rel=1e-6, abs=1e-6), name


OPPOSED = [
    ([0, 0, 0, 0, 0, 0.05], [0, 0, 0, 0, 0.3, 0]),
    ([0, 0, 0, 0.3], [0, 0, 0, 0]),
    ([0, 0, 0], [0, 0, 0.1]),
    ([0, 0.05], [0, 0.05]),
]
"""Prompts whose global_r lies below 0 by its jackknife interval and covers 0 by its bootstrap interval."""


@given(pools(least=2, most=5))
@example(OPPOSED)
@settings(max_examples=25)
def test_bootstrap_equals_the_plain_resampling(prompts):
    """With the same generator, interval and standard error are those of recomputed resamples."""
    plain, rule = estimates(prompts), IntervalRule("bootstrap", resamples=20, seed=7)
    found, again = estimates(prompts, rule), twins.resampled(prompts, 20, 7)
    for name, e in found.items():
        replicates = [row[name] for row in again]
        if e.interval != "bootstrap":
            assert None in replicates or plain[name].interval in {None, "exact", "clopper-pearson"}, name
            continue
        assert e.se == pytest.approx(np.std(replicates, ddof=1), rel=1e-9, abs=1e-9), name
        assert (e.low, e.high) == pytest.approx(np.quantile(replicates, [0.025, 0.975]), rel=1e-9, abs=1e-9)


def withheld(expected):
    """Take out what an estimate is withheld for: a loss that is none."""
    lost = expected["inflation"]
    return {**expected, "inflation": None if lost is not None and lost <= 0 else lost}


def test_512_prompts_of_32_verdicts_equal_the_definitions():
    """Large pools with labels of only 0 and 1, where most pairs are tied, agree with the plain loops."""
    rng = np.random.default_rng(20261121)
    labels = (rng.random((512, 32)) < 0.3).astype(float)
    scores = np.round(0.3 * labels + 0.7 * rng.random((512, 32)), 1)
    prompts = as_prompts(scores, labels)
    assert_equal(plain_values(prompts), twins.metrics(prompts), rel=1e-9)
    assert_equal(values(estimates(prompts)), withheld(twins.metrics(prompts)), rel=1e-9)


@given(pools(least=2), pools(least=2))
def test_order_of_prompts_does_not_matter(some, others):
    """Metrics and standard errors are those of a set of prompts, whatever their order and sizes."""
    forward, backward = estimates(some + others), estimates(others[::-1] + some[::-1])
    assert_equal(values(forward), values(backward), rel=1e-9, abs=1e-9)
    standard_errors = [{name: e.se for name, e in found.items()} for found in (forward, backward)]
    assert_equal(*standard_errors, rel=1e-6, abs=1e-9)


VALUES = st.sampled_from([-1.5, -0.0, 0.0, 0.1, 0.1 + 1e-12, 0.5, 1.0, 7.0])


@given(st.lists(VALUES, max_size=300), st.integers(1, 64))
def test_distinct_values_are_those_of_numpy(values, few):
    """Looking few values up gives what sorting all gives, zeros of both signs being one value."""
    given_values = np.array(values, dtype=float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_FIRST_VALUES", 8)
        patch.setattr(sums, "_FEW_VALUES", few)
        known, places = sums.distinct(given_values)
    expected, at = np.unique(given_values, return_inverse=True)
    np.testing.assert_array_equal(known, expected)
    np.testing.assert_array_equal(places, at.reshape(-1))


@given(pools())
def test_rows_that_are_shared_hold_the_sums_of_a_matrix(drawn):
    """Sums to read are those of the matrix, to the bit: each row, the sum of each, and some prompts."""
    flat = arrays(drawn)
    whole, rows = prompt_sums(*flat), sums.SumRows.of_scored(*flat)
    np.testing.assert_array_equal(np.asarray(rows), whole)
    np.testing.assert_array_equal(rows.sum(axis=1), whole.sum(axis=1))
    np.testing.assert_array_equal(rows[:, 1:3], whole[:, 1:3])
    np.testing.assert_array_equal(whole.sum(axis=1)[:, None] - rows[:, :2], whole.sum(axis=1)[:, None] - whole[:, :2])
    assert (rows.shape, len(rows)) == (whole.shape, len(whole))
    assert len({id(row) for row in rows}) < len(whole) - 8


@given(st.lists(st.lists(VALUES, min_size=1, max_size=20), max_size=20), st.booleans())
def test_cells_of_prompts_reduce_as_in_a_loop(prompts, same):
    """A column at a time, or each prompt with its own size."""
    prompts = [prompt[:1] * 3 for prompt in prompts] if same else prompts
    flat = np.array([value for prompt in prompts for value in prompt], dtype=float)
    sizes = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
    np.testing.assert_array_equal(sums.over_prompts(np.maximum, flat, sizes), [max(prompt) for prompt in prompts])
    np.testing.assert_array_equal(sums.over_prompts(np.minimum, flat, sizes), [min(prompt) for prompt in prompts])
    expected = [decimals_of_pool(min(prompt), max(prompt)) for prompt in prompts]
    np.testing.assert_array_equal(sums.pool_decimals(flat, sizes), expected)


@given(pools())
def test_an_interval_of_what_is_lost_is_the_same_in_parts(drawn):
    """Prompts left out a few at a time leave the figures of all at once."""
    matrix = prompt_sums(*arrays(drawn))
    whole = estimate(ESTIMANDS, matrix, IntervalRule())["inflation"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jackknife, "_CHUNK", 2)
        parts = estimate(ESTIMANDS, matrix, IntervalRule())["inflation"]
    assert (parts.estimate, parts.reason) == (whole.estimate, whole.reason)
    assert (parts.low, parts.high) == (pytest.approx(whole.low, abs=1e-9), pytest.approx(whole.high, abs=1e-9))
