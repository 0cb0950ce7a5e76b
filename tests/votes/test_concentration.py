"""What votes can tell: concentrated ones, margins, information, and votes spent in two stages."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from statistics import fmean, median, variance

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import binomtest, chi2

from bonwise.errors import UsageError
from bonwise.votes import pair_votes
from bonwise.votes.concentration import (
    cluster_ratio,
    concentration,
    debiased_squares,
    homogeneity,
    kappa,
    kept_types,
    likely_rates,
    mass_fraction,
    signal,
    variance_split,
)
from bonwise.votes.detectability import (
    PairResamples,
    PooledVotes,
    detection_rate,
    kl_bounds,
    kl_content,
    least_error,
    least_information,
    least_votes,
    margin_quantiles,
    rejections,
    z_law,
    z_quantiles,
    z_score,
)
from bonwise.votes.engine import near_ties
from bonwise.votes.pair_votes import allocate, first_stage_votes, screening, simulate_screening
from golden_tables import golden

VOTES = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5)), min_size=2, max_size=25)


def rates(votes):
    """Return each type's win rate and votes."""
    return [(fmean(mine), len(mine)) for mine in _types(votes)]


def _types(votes):
    return [[v for v, g in votes if g == one] for one in sorted({g for _, g in votes})]


def arrays(votes):
    """Lay votes out as the arrays that the estimators take."""
    return np.array([v for v, _ in votes]), np.array([g for _, g in votes])


@given(VOTES)
def test_debiased_squares_are_those_of_plain_loops(votes):
    """Each is the squared margin less rate (1 - rate) / (n - 1); types with one vote are left out."""
    expected = [(rate - 0.5) ** 2 - rate * (1 - rate) / (n - 1) for rate, n in rates(votes) if n > 1]
    counts = [n for _, n in rates(votes) if n > 1]
    squares, n = debiased_squares(*arrays(votes))
    assert squares.tolist() == pytest.approx(expected)
    assert n.tolist() == counts
    found = signal(*arrays(votes))
    if len(counts) < 2:
        assert found.estimate is None
    else:
        mean = sum(d * n for d, n in zip(expected, counts, strict=True)) / sum(counts)
        assert found.estimate == pytest.approx(mean, abs=1e-12)


@given(VOTES, st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_kappa_and_mass_are_those_of_plain_loops(votes, share):
    """Kappa is the part of the largest squares over q; with equal weights the mass is q kappa."""
    squares = sorted(((rate - 0.5) ** 2 for rate, _ in rates(votes)), reverse=True)
    kept = math.ceil(round(share * len(squares), 9))
    found = float(kappa(np.array(squares), share))
    if sum(squares) < 1e-12:
        assert math.isnan(found)
        return
    assert kept_types(len(squares), share) == kept
    assert found == pytest.approx(sum(squares[:kept]) / (share * sum(squares)))
    mass = float(mass_fraction(np.array(squares), np.ones(len(squares)), share))
    assert mass == pytest.approx(share * found)


def test_weights_enter_the_mass():
    """With weights 3, 1 and 1 the one type kept holds 3 x .16 of .48 + .01 + .01; equal ones share a place."""
    assert float(mass_fraction(np.array([0.16, 0.01, 0.01]), np.array([3.0, 1, 1]), 0.3)) == pytest.approx(0.96)
    assert float(mass_fraction(np.array([0.04, 0.04]), np.array([3.0, 1]), 0.5)) == pytest.approx(0.5)


def test_homogeneity_by_hand():
    """Rates .75 and .25 of four votes each: 2 x 4 x .0625 / .25 = 2."""
    assert float(homogeneity(np.array([3.0, 1]), np.array([4.0, 4]))) == pytest.approx(2)
    found = concentration(np.array([1.0, 1, 1, 0, 1, 0, 0, 0]), np.repeat([0, 1], 4), share=0.5, permutations=99)
    assert found.homogeneity.p == pytest.approx(chi2.sf(2, 1))
    assert found.homogeneity.df == 1


def test_debiased_squares_are_unbiased():
    """With 3 votes a type and margins of .1 the mean is .01, where plain squares make it over .08."""
    rng = np.random.default_rng(3)
    values = (rng.random(60_000) < 0.6).astype(float)
    squares, _ = debiased_squares(values, np.arange(60_000) // 3)
    assert squares.mean() == pytest.approx(0.01, abs=3 * squares.std() / len(squares) ** 0.5)
    assert ((values.reshape(-1, 3).mean(axis=1) - 0.5) ** 2).mean() > 0.08


@pytest.mark.parametrize(("types", "each"), [(20, 2), (20, 5), (80, 5), (80, 20), (20, 50)])
def test_the_rule_fires_where_all_prompts_are_alike(types, each):
    """Kappa > 1.5 holds with probability .9 or more although every prompt has the margin .1."""
    rng = np.random.default_rng(7)
    wins = rng.binomial(each, 0.6, size=(2000, types))
    assert (kappa((wins / each - 0.5) ** 2, 0.2) > 1.5).mean() >= 0.9


@pytest.mark.parametrize(("types", "each"), [(20, 2), (20, 8), (40, 5)])
def test_the_permutation_rule_holds_its_level(types, each):
    """Where all prompts are alike kappa exceeds the permutation quantile in 5 % of the data sets at most."""
    rng = np.random.default_rng(20261121)
    runs, owner = 500, np.arange(types * each) // each
    fired = 0
    for run in range(runs):
        values = (rng.random(types * each) < 0.6).astype(float)
        found = concentration(values, owner, permutations=99, seed=run)
        fired += found is not None and found.kappa > found.null_quantile
    assert binomtest(fired, runs, 0.05, alternative="greater").pvalue > 0.01


def test_a_concentrated_preference_is_found():
    """Three of 20 prompts with a margin of .4, 30 votes each: kappa exceeds the threshold and chance."""
    rng = np.random.default_rng(5)
    rate = np.repeat(np.r_[np.full(3, 0.9), np.full(17, 0.5)], 30)
    found = concentration((rng.random(600) < rate).astype(float), np.arange(600) // 30)
    assert found.recommend_two_stage
    assert found.mass > found.mass_null_quantile
    assert found.homogeneity.p_permuted == pytest.approx(1 / 1000)


def test_nothing_is_said_of_nothing():
    """One type, votes that are all alike, and types that are all split evenly have no concentration."""
    assert concentration(np.array([1.0, 0]), np.zeros(2, dtype=int)) is None
    assert concentration(np.ones(6), np.arange(6) // 2) is None
    assert concentration(np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1])) is None


VOTES_OF_CLUSTER_VARIANCE = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=25
)


def clusters(votes):
    """Collect the values of each cluster."""
    return [[v for v, g in votes if g == one] for one in sorted({g for _, g in votes})]


@given(VOTES_OF_CLUSTER_VARIANCE)
def test_the_ratio_is_that_of_plain_loops(votes):
    """The ratio is the root of summed squares of cluster sums over summed squares of votes."""
    middle = fmean(v for v, _ in votes)
    plain = sum((v - middle) ** 2 for v, _ in votes)
    together = sum(sum(v - middle for v in mine) ** 2 for mine in clusters(votes))
    found = cluster_ratio(*arrays(votes))
    assert math.isnan(found) if plain < 1e-12 else found == pytest.approx(math.sqrt(together / plain))


@given(VOTES_OF_CLUSTER_VARIANCE)
def test_the_split_is_that_of_plain_loops(votes):
    """The split adds up, uses prompts with two votes alone, and refuses where fewer than two have them."""
    several = [mine for mine in clusters(votes) if len(mine) > 1]
    found = variance_split(*arrays(votes))
    if len(several) < 2:
        assert found is None
        return
    assert found.total == pytest.approx(variance(map(fmean, several)))
    assert found.within == pytest.approx(fmean(variance(mine) / len(mine) for mine in several))
    assert found.between == pytest.approx(found.total - found.within)
    assert (found.prompts, found.alone) == (len(several), len(clusters(votes)) - len(several))
    rates = [fmean(mine) for mine in clusters(votes)]
    assert found.published_total == pytest.approx(variance(rates))
    within = fmean(rate * (1 - rate) / len(mine) for rate, mine in zip(rates, clusters(votes), strict=True))
    assert found.published_within == pytest.approx(within)


def test_votes_that_share_no_prompt_leave_the_error_alone():
    """With one vote per prompt the ratio is 1 and the split is refused."""
    values = np.array([1.0, 0, 1, 1])
    assert cluster_ratio(values, np.arange(4)) == pytest.approx(1)
    assert variance_split(values, np.arange(4)) is None


@pytest.mark.parametrize("each", [2, 5])
def test_the_split_is_unbiased(each):
    """Win rates that vary by .04 between prompts: the mean between part is .04, the published one is too large."""
    rng = np.random.default_rng(20261121)
    between, published = [], []
    for _ in range(1500):
        rate = np.repeat(rng.choice([0.3, 0.7], size=30), each)
        found = variance_split((rng.random(len(rate)) < rate).astype(float), np.arange(len(rate)) // each)
        between.append(found.between)
        published.append(found.published_between)
    # Var of .3 and .7, each half of the time, is .04.
    assert np.mean(between) == pytest.approx(0.04, abs=3 * np.std(between) / len(between) ** 0.5)
    assert np.mean(published) > 0.04 + 0.02 * (each == 2)


@given(VOTES_OF_CLUSTER_VARIANCE)
def test_likely_rates_vary_as_the_split_says(votes):
    """Their mean is that of the rates, their variance the part between prompts, 0 where that is below 0."""
    several = [mine for mine in clusters(votes) if len(mine) > 1]
    found = likely_rates(*arrays(votes))
    if len(several) < 2:
        assert found is None
        return
    rates, count = found
    between = max(variance_split(*arrays(votes)).between, 0.0)
    assert count.tolist() == [len(mine) for mine in several]
    assert fmean(rates) == pytest.approx(fmean(map(fmean, several)))
    assert variance(rates.tolist()) == pytest.approx(between, abs=1e-12)


POOLS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)).filter(lambda one: sum(one) > 0)


@pytest.mark.parametrize("votes", [1, 5, 6, 17, 100])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_rejections_are_those_of_the_exact_test(votes, level):
    """A count rejects exactly where scipy's two-sided binomial test does."""
    expected = [binomtest(k, votes).pvalue <= level * (1 + 1e-9) for k in range(votes + 1)]
    assert rejections(votes, level).tolist() == expected


@given(st.integers(1, 4), st.integers(0, 4), st.integers(1, 4), st.booleans())
def test_the_rate_counts_all_subsamples(second, first, votes, replace):
    """The rate is the share of subsamples, listed one by one, in which the test rejects."""
    votes = min(votes, second + first)
    each = [1] * second + [0] * first
    listed = list(itertools.product(each, repeat=votes) if replace else itertools.combinations(each, votes))
    reject = [binomtest(k, votes).pvalue <= 0.4 for k in range(votes + 1)]
    expected = sum(reject[sum(some)] for some in listed) / len(listed)
    assert detection_rate(PooledVotes(second, 0, first), votes, significance=0.4, replace=replace) == pytest.approx(
        expected
    )


def test_the_rate_is_what_repeated_subsampling_tends_to():
    """Drawing 4,000 subsamples of 40 votes from 200 finds the preference as often as the rate says."""
    rng = np.random.default_rng(1)
    each = np.repeat([1, 0], [120, 80])
    reject = rejections(40, 0.05)
    for replace in (True, False):
        seen = np.mean([reject[rng.choice(each, 40, replace=replace).sum()] for _ in range(4000)])
        assert detection_rate(PooledVotes(120, 0, 80), 40, significance=0.05, replace=replace) == pytest.approx(
            seen, abs=0.02
        )


def test_without_replacement_the_rate_ends_in_the_verdict_of_the_pool():
    """A subsample of all votes rejects or does not; beyond them, and for half votes, there is no rate."""
    assert detection_rate(PooledVotes(80, 0, 20), 100, significance=0.05, replace=False) == pytest.approx(1)
    assert detection_rate(PooledVotes(52, 0, 48), 100, significance=0.05, replace=False) == 0
    assert detection_rate(PooledVotes(80, 0, 20), 101, significance=0.05, replace=False) is None
    assert detection_rate(PooledVotes(80, 1, 20), 50, significance=0.05, replace=True) is None


@settings(max_examples=50)
@given(POOLS, st.integers(1, 4), st.booleans())
def test_the_law_of_z_counts_all_subsamples(counts, votes, replace):
    """The law of z, half votes among the values, is that of all subsamples listed one by one."""
    pool = PooledVotes(*counts)
    each = [1.0] * pool.second + [0.5] * pool.halves + [0.0] * pool.first
    law = z_law(pool, votes, replace=replace)
    if votes > pool.votes and not replace:
        assert law is None
        return
    listed = itertools.product(each, repeat=votes) if replace else itertools.combinations(each, votes)
    seen = Counter(round(float(z_score(sum(some) / votes, votes)), 9) for some in listed)
    for z in {round(float(one), 9) for one in law.z}:
        assert law.chance[np.round(law.z, 9) == z].sum() == pytest.approx(seen[z] / seen.total())


def test_infinities_count_among_the_quantiles():
    """Where half of the subsamples are of one mind the upper quantiles are infinite, the lower ones are not."""
    laws = [z_law(PooledVotes(4, 0, 0), 4, replace=False), z_law(PooledVotes(2, 0, 2), 4, replace=False)]
    found = z_quantiles(laws, np.array([0.5, 0.51]), np.array([0.5, 0.5]))
    assert found.tolist() == [0.0, math.inf]


def test_z_is_that_of_the_formula():
    """The z is the distance from 1/2 in standard errors of the rate, infinite where all votes agree."""
    assert z_score(np.array([0.6, 0.0, 1.0]), 100).tolist() == [
        pytest.approx(0.1 / math.sqrt(0.24 / 100)),
        math.inf,
        math.inf,
    ]


@pytest.mark.parametrize("row", golden("votes_information"), ids=lambda row: row["margin"])
def test_the_content_of_a_vote(row):
    """A vote's content is the recorded one, whichever side is preferred, and lies between its recorded bounds."""
    margin, content = float(row["margin"]), float(row["nats"])
    bounds = float(row["low"]), float(row["high"])
    assert kl_bounds(margin) == pytest.approx(bounds)
    assert float(kl_content(margin)) == float(kl_content(-margin)) == pytest.approx(content, abs=2e-10)
    assert bounds[0] <= content <= bounds[1]
    if row["bound"]:
        assert least_votes(margin, 0.05, 0.10) == pytest.approx(float(row["bound"]), abs=0.05)


@given(st.floats(-0.499, 0.499))
def test_the_content_is_the_mean_log_ratio(margin):
    """The content is the mean of the log likelihood ratio, worked out once more with plain logarithms."""
    p = 0.5 + margin
    assert float(kl_content(margin)) == pytest.approx(p * math.log(2 * p) + (1 - p) * math.log(2 - 2 * p), abs=1e-12)


def test_the_ends_of_the_range():
    """No preference carries nothing; a certain one a bit; the upper bound stops where it is proved."""
    assert kl_content(np.array([0.0, 0.5, -0.5])).tolist() == pytest.approx([0, math.log(2), math.log(2)])
    assert kl_bounds(0.26)[1] is None
    assert least_votes(0.0, 0.05, 0.1) == math.inf


def test_the_minimax_bound():
    """Errors of .05 and .10 need 1.2040 nats; errors of 1/2 need none."""
    assert least_information(0.05, 0.10) == pytest.approx(1.2040, abs=5e-5)
    assert least_error(least_information(0.05, 0.10)) == pytest.approx(0.15)
    assert least_information(0.4, 0.2) == 0


@pytest.mark.parametrize("votes", [10, 60, 263])
def test_no_binomial_test_beats_the_bound(votes):
    """Type I and type II error of the exact test sum to no less than the bound for its information."""
    reject = rejections(votes, 0.05)
    k = np.arange(votes + 1)
    ways = special.comb(votes, k)
    errors = (ways * 0.5**votes)[reject].sum() + (ways * 0.6**k * 0.4 ** (votes - k))[~reject].sum()
    assert errors >= least_error(votes * float(kl_content(0.1)))


MARGINS = st.lists(st.integers(-50, 50).map(lambda n: n / 100), min_size=2, max_size=9)


def twin_quantile(values, share):
    """Interpolate between neighbours of the sorted sizes."""
    ordered = sorted(map(abs, values))
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


@given(MARGINS)
def test_quantiles_and_near_ties_are_those_of_plain_counting(margins):
    """Quantiles interpolate the sorted sizes; near ties are the margins of at most tau, with their own median."""
    resamples = PairResamples(len(margins), resamples=20)
    found = margin_quantiles(np.array(margins), resamples)
    assert [one.estimate for one in found] == pytest.approx([twin_quantile(margins, q) for q in (0.1, 0.25, 0.5)])
    near = [abs(one) for one in margins if abs(one) <= 0.1]
    ties = near_ties(np.array(margins), 0.1, 0.9, resamples)
    assert ties.count == len(near)
    assert ties.share.estimate == pytest.approx(len(near) / len(margins))
    assert ties.median.estimate == (pytest.approx(median(near)) if near else None)


def test_intervals_are_percentiles_of_resampled_pairs():
    """The interval is that of a plain loop over the same draws of pairs, and the same seed draws the same."""
    margins = np.array([0.02, -0.1, 0.25, 0.4])
    resamples = PairResamples(4, resamples=200, seed=5)
    drawn = [float(np.median(np.abs(margins[list(row)]))) for row in resamples.drawn()]
    (found,) = margin_quantiles(margins, resamples, (0.5,))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert (PairResamples(4, seed=5).drawn() == PairResamples(4, seed=5).drawn()).all()


def test_one_pair_has_no_interval():
    """A figure that rests on one pair has no interval, and says so; a figure of none is none."""
    (found,) = margin_quantiles(np.array([0.2]), PairResamples(1), (0.5,))
    assert (found.estimate, found.low) == (0.2, None)
    assert "one pair" in found.reason
    assert PairResamples(0).estimate(lambda some: some.mean(axis=-1), np.empty(0)).estimate is None


CONCENTRATED = np.r_[np.full(3, 0.25), np.zeros(17)]
DIFFUSE = np.full(20, 0.0375)
EVEN = np.ones(20)
MARGINS_OF_TWO_STAGE = {"concentrated": CONCENTRATED, "diffuse": DIFFUSE}


@pytest.mark.parametrize("row", golden("votes_two_stage"), ids=lambda row: f"{row['votes']}-{row['margins']}")
def test_the_power_table(row):
    """1,500 repetitions meet every recorded figure within .03."""
    plan = screening(int(row["votes"]), 20, each=int(row["each"]))
    found = simulate_screening(MARGINS_OF_TWO_STAGE[row["margins"]], EVEN, plan)
    known = {name: row[name] for name in ("proportional", "two_stage", "mass_kept", "overlap") if row[name]}
    assert {name: getattr(found, name) for name in known} == {
        name: pytest.approx(float(value), abs=0.03) for name, value in known.items()
    }


def test_the_table_screens_as_the_rule_says():
    """Rows of 30 votes a type are those of ceil(10 ln 20)."""
    assert first_stage_votes(20) == 30
    assert screening(1000, 20) == screening(1000, 20, each=30)


def test_blocks_of_repetitions_change_nothing_but_the_draws(monkeypatch):
    """Repetitions made a few at a time count alike, and so many types at once need no more memory."""
    plan = screening(1000, 20)
    monkeypatch.setattr(pair_votes, "_CHUNK_CELLS", 20 * 64)
    found = simulate_screening(CONCENTRATED, EVEN, plan)
    assert (found.proportional, found.two_stage) == pytest.approx((0.641, 0.989), abs=0.03)
    assert found.repetitions == 1500


def test_its_test_is_none_of_the_mean():
    """Margins of +.15 and -.15 that cancel are rejected in over half of the runs; no margin at all in about 5 %."""
    plan = screening(1500, 20)
    cancelling = simulate_screening(np.r_[np.full(10, 0.15), np.full(10, -0.15)], EVEN, plan)
    assert cancelling.two_stage > 0.5
    assert cancelling.proportional < 0.08
    nothing = simulate_screening(np.zeros(20), EVEN, plan)
    assert nothing.two_stage < 0.07
    assert nothing.mass_kept is None


def test_what_the_stages_spend():
    """20 types take 30 votes each and four are kept; too few votes, or one type, are refused in words."""
    plan = screening(1000, 20)
    assert (plan.each, plan.first_stage, plan.second_stage, plan.kept) == (30, 600, 400, 4)
    with pytest.raises(UsageError, match="takes 600 votes and leaves none of 600"):
        screening(600, 20)
    with pytest.raises(UsageError, match="two types"):
        screening(600, 1)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=2, max_size=9), st.integers(1, 60), st.data()
)
def test_the_second_stage_spends_all_on_the_kept(types, votes, data):
    """All votes go to the kept types, which no other exceeds, and each gets its fair part within one vote."""
    kept = data.draw(st.integers(1, len(types)))
    wins, weights = (np.array(column, dtype=float) for column in zip(*types, strict=True))
    found = allocate(wins, np.full(len(types), 9.0), weights, kept=kept, second_stage=votes)
    squares = (wins / 9 - 0.5) ** 2
    assert found.sum() == votes
    got = np.flatnonzero(found)
    assert len(got) <= kept
    if len(got) == kept:
        others = np.setdiff1d(np.arange(len(types)), got)
        assert squares[got].min() >= squares[others].max(initial=0) - 1e-9
        fair = votes * weights[got] / weights[got].sum()
        assert (np.abs(found[got] - fair) < 1 + 1e-9).all()


def test_equal_types_are_told_apart_by_the_seed():
    """Of two equal types each is kept by some seed: their order decides nothing."""
    alike = np.full(2, 8.0)
    chosen = {
        int(np.argmax(allocate(alike, np.full(2, 10.0), np.ones(2), kept=1, second_stage=5, seed=seed)))
        for seed in range(20)
    }
    assert chosen == {0, 1}
