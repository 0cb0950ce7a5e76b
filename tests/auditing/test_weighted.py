"""Weighted totals of labelled prompts, and the golden table of estimates from few labels."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

import bonwise as bw
from bonwise.auditing.partial_metrics import partial_estimates
from bonwise.auditing.weighted_metrics import label_strata, weighted_difference, weighted_estimates
from bonwise.errors import InputError, UsageError
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, JudgeSums, difference, estimate
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate
from cli.commands import typed
from stats.nominal import assert_covered
from stats.pools import arrays, pools, rectangle
from stats.second_judge import replications

SEED = 20261122
RULE = IntervalRule()
METRICS = ("within_r", "recovery", "kendall_tau", "sign_agreement", "effective_agreement")
CHOSEN = [e for e in ESTIMANDS if e.name in METRICS]
SHARES = np.array([0.5, 0.3, 0.2, 0.1])
FULL, THIN = 2000, 200


def named(name):
    """Return one estimand in a list, and what it is divided by."""
    return [e for e in ESTIMANDS if e.name in (name, "global_r")]


def of_sizes(counts, labelled):
    """Return the sample of strata 0, 1, ... of so many prompts, the first ones of each labelled."""
    masks = [np.arange(count) < few for count, few in zip(counts, labelled, strict=True)]
    return LabelSample.realised(np.concatenate(masks), np.repeat(np.arange(len(counts)), counts))


# Twin: plain loops from the definitions.


def twin_joined(strata):
    """Give every labelled prompt a stratum of two or more: a lonely one joins the next, the last the one before."""
    groups = []
    for members in (sorted({s for s in strata if s == name}) for name in sorted(set(strata))):
        count = sum(s in members for s in strata)
        if groups and sum(s in groups[-1] for s in strata) < 2:
            groups[-1] = groups[-1] + members
        else:
            groups.append(members)
        assert count
    if len(groups) > 1 and sum(s in groups[-1] for s in strata) < 2:
        last = groups.pop()
        groups[-1] = groups[-1] + last
    return [next(g for g, members in enumerate(groups) if s in members) for s in strata]


def twin(theta, rows, weights, strata, population):
    """Return value and variance of a metric of weighted totals, both jackknives spelled out.

    ``rows`` holds a tuple of sums for each labelled prompt, ``population`` the prompts that each stratum stands for.
    """

    def totals(factors):
        return [math.fsum(f * row[k] for f, row in zip(factors, rows, strict=True)) for k in range(len(rows[0]))]

    value, variance = theta(totals(weights)), 0.0
    for g in sorted(set(strata)):
        mine = [x for x, s in enumerate(strata) if s == g]
        n = len(mine)
        left = []
        for out in mine:
            factors = [w * n / (n - 1) if x in mine else w for x, w in enumerate(weights)]
            factors[out] = 0.0
            left.append(theta(totals(factors)))
        variance += (n - 1) / n * sum((one - fmean(left)) ** 2 for one in left)
    N = sum(population.values())
    left = {}
    for g, count in population.items():
        # One prompt of the stratum less: each of its labelled prompts stands for a little less.
        factors = [w * (1 - 1 / count) if s == g else w for w, s in zip(weights, strata, strict=True)]
        left[g] = theta(totals(factors))
    mean = sum(population[g] * left[g] for g in left) / N
    variance += (N - 1) / N * sum(population[g] * (left[g] - mean) ** 2 for g in left)
    return value, variance


@st.composite
def samples(draw, least=2):
    """Draw prompts in strata, some of each labelled: the labelled pools and the sample."""
    counts = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    labelled = [draw(st.integers(1, count)) for count in counts]
    assume(sum(labelled) >= least)
    prompts = draw(pools(least=sum(labelled), most=sum(labelled)))
    return prompts, of_sizes(counts, labelled)


@given(samples())
@settings(max_examples=80)
def test_the_twin_agrees(case):
    """Estimates and standard errors of every metric are those of two jackknives in plain loops."""
    prompts, sample = case
    sums = prompt_sums(*arrays(prompts))
    found = weighted_estimates(ESTIMANDS, sums, sample, RULE)
    names = sample.strata[sample.labelled].tolist()
    strata = twin_joined(names)
    weights = (1 / sample.propensity[sample.labelled]).tolist()
    population = {g: sum(w for w, s in zip(weights, strata, strict=True) if s == g) for g in set(strata)}
    rows = [tuple(column) for column in sums.T.tolist()]
    for e in ESTIMANDS:

        def theta(totals, e=e):
            return float(e.of(type(_fields())(*map(np.float64, totals))))

        mine = found[e.name]
        if mine.estimate is None or mine.se is None:
            continue
        value, variance = twin(theta, rows, weights, strata, population)
        assert mine.estimate == pytest.approx(np.clip(value, *_limits(e)), abs=1e-9), e.name
        if mine.interval != "exact":
            assert mine.se == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-9), e.name


def _fields():
    from bonwise.stats.sums import Sums  # noqa: PLC0415

    return Sums(*([0.0] * len(Sums._fields)))


def _limits(e):
    return (-math.inf, math.inf) if e.limits is None else e.limits


def close(left, right, closeness):
    """Compare two numbers, either of them absent."""
    return left == right or math.isclose(left, right, rel_tol=closeness, abs_tol=closeness)


@given(pools(least=3, most=8), st.integers(0, 9), st.booleans())
@settings(max_examples=60)
def test_equal_chances_change_nothing(prompts, unlabelled, stratified):
    """With one propensity and one stratum every estimate, error and interval is the one without weights."""
    mask = np.arange(len(prompts) + unlabelled) < len(prompts)
    sample = LabelSample.uniform(mask) if stratified else LabelSample(mask, np.full(len(mask), 0.37), None)
    sums = prompt_sums(*arrays(prompts))
    plain, weighted = estimate(ESTIMANDS, sums, RULE), weighted_estimates(ESTIMANDS, sums, sample, RULE)
    for name, one in plain.items():
        mine = weighted[name]
        if name == "inflation":
            continue  # its interval is Fieller's without weights alone
        assert (mine.reason, mine.n, mine.interval) == (one.reason, one.n, one.interval), name
        for key, closeness in (("estimate", 1e-12), ("se", 1e-9), ("low", 1e-9), ("high", 1e-9)):
            assert close(getattr(mine, key), getattr(one, key), closeness), (name, key)
        assert mine.method == "weighted"
        assert mine.labelled_only == one.with_method("labelled_only")
        assert mine.ess == pytest.approx(len(prompts))


def test_equal_chances_change_no_difference():
    """With one propensity and one stratum every paired difference is the one without weights."""
    drawn = next(replications(300, 1, seed=SEED, kind="T1"))
    first, second = (prompt_sums(*rectangle(s, drawn.labels)) for s in (drawn.scores, drawn.second))
    mask = drawn.rng.random(300) < 0.3
    sums = first[:, mask], second[:, mask]
    plain = difference(ESTIMANDS, *sums, RULE)
    for name, mine in weighted_difference(ESTIMANDS, *sums, LabelSample.uniform(mask), RULE).items():
        for key in ("estimate", "se", "low", "high"):
            assert getattr(mine, key) == pytest.approx(getattr(plain[name], key), abs=1e-9), (name, key)


GOLDEN = [([0.9, 0.1], [1.0, 0.0]), ([0.9, 0.1], [0.6, 0.2]), ([0.9, 0.1], [0.3, 0.1]), ([0.9, 0.1], [0.1, 0.5])]


def test_a_mean_worked_by_hand():
    """value_judge of two strata: mean, both parts of the variance and the degrees of freedom by hand."""
    # J = 1.0, .6 (2 of 4 prompts) and .3, .1 (2 of 6): stratum means .8 and .2; mean .4 * .8 + .6 * .2 = .44.
    # Within: .4^2 * .08 / 2 + .6^2 * .02 / 2 = .0064 + .0036 = .01.
    # Between: (4 * .36^2 + 6 * .24^2) / (10 * 9) = .864 / 90 = .0096. Variance .0196, standard error .14.
    # Satterthwaite: .0196^2 / (.0064^2 / 1 + .0036^2 / 1 + .0096^2 / 9) = 5.97.., cut to 4 - 1 = 3; t(3) = 3.18245.
    sample = of_sizes([4, 6], [2, 2])
    found = weighted_estimates(named("value_judge"), prompt_sums(*arrays(GOLDEN)), sample, RULE)["value_judge"]
    assert found.estimate == pytest.approx(0.44)
    assert found.se == pytest.approx(0.14)
    # As a share: .44 * .56 / .0196 = 12.571429 draws, times (1.959964 / 3.182446)^2 they are 4.768326.
    draws = 4.768326
    ends = betaincinv(0.44 * draws, 0.56 * draws + 1, 0.025), betaincinv(0.44 * draws + 1, 0.56 * draws, 0.975)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-5)
    assert found.labelled_only.estimate == pytest.approx(0.5)
    assert found.ess == pytest.approx(10**2 / (2 * 4 + 2 * 9))
    assert (found.method, found.n) == ("weighted", 4)


def test_a_ratio_worked_by_hand():
    """Recovery of two strata is the ratio of weighted means, and Fieller's interval rests on their covariance."""
    # J - R = .5, .2 | .1, -.2; M - R = .5, .2 | .1, .2; weights 2, 2 | 3, 3: 1.1 / 2.3.
    wide = IntervalRule(confidence=0.5)
    found = weighted_estimates(named("recovery"), prompt_sums(*arrays(GOLDEN)), of_sizes([4, 6], [2, 2]), wide)
    assert found["recovery"].estimate == pytest.approx(1.1 / 2.3)
    law = found["recovery"].law
    # a: means .35 | -.05, of all .11; within .0036 + .0081, between (4 * .24^2 + 6 * .16^2) / 90.
    assert law.a == pytest.approx(0.11)
    assert law.caa == pytest.approx(0.0117 + 0.384 / 90)
    # b: means .35 | .15, of all .23; within .0036 + .0009, between (4 * .12^2 + 6 * .08^2) / 90.
    assert law.b == pytest.approx(0.23)
    assert law.cbb == pytest.approx(0.0045 + 0.096 / 90)
    # ab: within .0036 - .0027, between (4 * .24 * .12 + 6 * .16 * .08) / 90.
    assert law.cab == pytest.approx(0.0009 + 0.192 / 90)
    assert found["recovery"].interval == "fieller"


def test_lonely_prompts_join_their_neighbours():
    """A stratum with one labelled prompt joins the next one, the last one joins the one before."""
    assert label_strata(of_sizes([2, 3, 4, 2], [1, 2, 2, 1])).counts.tolist() == [3, 3]
    assert label_strata(of_sizes([2, 3, 4], [1, 1, 1])).counts.tolist() == [3]
    assert label_strata(of_sizes([2, 3, 4], [1, 1, 1])).prompts.tolist() == pytest.approx([9])
    assert label_strata(of_sizes([5], [1])).counts.tolist() == [1]


def test_joining_errs_on_the_large_side():
    """Strata of one label each, joined, claim no less error than strata that could tell their own."""
    rng = np.random.default_rng(SEED)
    labels = np.repeat(np.linspace(0.1, 0.9, 20), 20)[:, None] + 0.05 * rng.standard_normal((400, 2))
    sums = prompt_sums(*rectangle(np.tile([0.9, 0.1], (400, 1)), labels))
    strata = np.repeat(np.arange(20), 20)
    errors = []
    for few in (1, 2):
        sample = LabelSample.realised(np.tile(np.arange(20) < few, 20), strata)
        found = weighted_estimates(named("value_random"), sums[:, sample.labelled], sample, RULE)
        errors.append(found["value_random"].se ** 2)
    assert errors[0] > errors[1]


def test_a_stratum_without_labels_is_spoken_for_by_the_next():
    """A stratum in which nothing is labelled is joined to its neighbour, so that the weights still add up."""
    sums, joined = prompt_sums(*arrays(GOLDEN[:2])), of_sizes([4, 3], [2, 0])
    assert (joined.borrowed, joined.weights.sum()) == (3, 7)
    assert weighted_estimates(ESTIMANDS, sums, joined, RULE) == weighted_estimates(
        ESTIMANDS, sums, of_sizes([7], [2]), RULE
    )


def test_no_labels_are_refused():
    """Without any label there is nothing to weigh."""
    with pytest.raises(UsageError, match="no prompt is labelled"):
        label_strata(of_sizes([4, 3], [0, 0]))


@pytest.mark.parametrize("heavy", [1e6, 3.0])
def test_one_huge_weight_leaves_no_interval(heavy):
    """Where the weights are worth fewer than two labels no metric has an interval."""
    prompts = GOLDEN[:3]
    sample = LabelSample(np.ones(3, dtype=bool), 1 / np.array([1.0, 1.0, heavy]) / 1e3, None)
    found = weighted_estimates(ESTIMANDS, prompt_sums(*arrays(prompts)), sample, RULE)
    if sample.ess >= 2:
        assert found["value_judge"].low is not None
        return
    assert {one.low for one in found.values()} == {None}
    assert "worth 1.0 labels drawn alike" in found["value_judge"].reason
    assert found["value_judge"].bounds(0.9) is None


def test_one_labelled_prompt_has_no_interval():
    """A single labelled prompt gives estimates, and says why there is no interval."""
    found = weighted_estimates(ESTIMANDS, prompt_sums(*arrays(GOLDEN[:1])), of_sizes([4], [1]), RULE)
    assert found["value_judge"].estimate == 1.0
    assert "single prompt" in found["value_judge"].reason


def test_alike_prompts_get_the_bound_of_as_many_equal_weights():
    """Where no labelled prompt differs, the exact bound counts the sum of weights over the largest."""
    # Weights 2, 2, 2 and 6: they weigh as 12 / 6 = 2 equal ones.
    same = [([0.9, 0.1], [1.0, 0.0])] * 4
    sample = LabelSample(np.ones(4, dtype=bool), 1 / np.array([2.0, 2.0, 2.0, 6.0]), None)
    found = weighted_estimates(named("value_judge"), prompt_sums(*arrays(same)), sample, RULE)["value_judge"]
    assert (found.interval, found.estimate, found.n) == ("exact", 1.0, 4)
    assert found.low == pytest.approx(0.025 ** (1 / 2))


def test_what_cannot_be_told_from_0_divides_nothing():
    """The reasons for undefined metrics and unbounded ratios are those of fully labelled tables."""
    tied = [([0.5, 0.5], [0.5, 0.5])] * 4
    found = weighted_estimates(ESTIMANDS, prompt_sums(*arrays(tied)), of_sizes([4, 6], [2, 2]), RULE)
    assert found["recovery"].reason == "undefined: needs a prompt where labels differ"
    noisy = [([0.9, 0.1], [1.0, 0.0]), ([0.9, 0.1], [0.0, 1.0])] * 2
    found = weighted_estimates(ESTIMANDS, prompt_sums(*arrays(noisy)), of_sizes([4, 6], [2, 2]), RULE)
    assert found["inflation"].estimate is None
    both = weighted_difference(ESTIMANDS, *[prompt_sums(*arrays(noisy))] * 2, of_sizes([4, 6], [2, 2]), RULE)
    assert both["inflation"].reason == found["inflation"].reason


# Simulation: prompts stratified by how many candidates the judge ties at the top, few of the ties labelled.


def tie_sample(prompts, shares=SHARES):
    """Draw the share of prompts that belongs to their number of tied candidates."""
    strata = (prompts.scores == prompts.scores.max(1, keepdims=True)).sum(1) - 1
    labelled = np.zeros(len(strata), dtype=bool)
    for h, share in enumerate(shares):
        mine = np.flatnonzero(strata == h)
        labelled[prompts.rng.choice(mine, max(3, round(share * len(mine))), replace=False)] = True
    return LabelSample.realised(labelled, strata)


def coverage(n, count, truth):
    """Count how many intervals of one judge hold the truth, and collect the pulls."""
    hits, pulls = Counter(), {name: [] for name in METRICS}
    for prompts in replications(n, count, seed=SEED):
        sample = tie_sample(prompts)
        known = sample.labelled
        sums = prompt_sums(*rectangle(prompts.scores[known], prompts.labels[known]))
        for name, found in weighted_estimates(CHOSEN, sums, sample, RULE).items():
            hits[name] += found.low <= truth[name] <= found.high
            pulls[name].append((found.estimate - truth[name], found.se))
    return hits, pulls


def test_weighted_intervals_hold_the_truth():
    """Under unequal chances 200 tables are not told apart from nominal coverage, nor claimed errors from scatter."""
    hits, pulls = coverage(1000, THIN, simulate("arena", n=1).population)
    assert_covered(hits, THIN)
    for name, found in pulls.items():
        errors, claimed = np.array(found).T
        assert np.sqrt(np.mean(claimed**2)) / errors.std() == pytest.approx(1, abs=0.2), name
        assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(THIN), name


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 1000, 5000])
def test_weighted_intervals_are_nominal(n):
    """Over 2,000 tables 95 % intervals under unequal chances hold the population's value in 93 to 97 %."""
    hits, pulls = coverage(n, FULL, simulate("arena", n=1).population)
    ratios = {
        name: np.sqrt(np.mean(np.array(found)[:, 1] ** 2)) / np.std(found, axis=0)[0] for name, found in pulls.items()
    }
    print(n, {name: (times / FULL, round(float(ratios[name]), 3)) for name, times in hits.items()})  # noqa: T201
    assert_covered(hits, FULL)


def test_what_lies_between_strata_counts():
    """Leaving the part between strata out would claim too little: here it is most of the error."""
    rng, errors, claimed = np.random.default_rng(SEED), [], []
    for _ in range(400):
        # Two kinds of prompts, mean label .2 and .8; how many of each the table holds is chance.
        kind = (rng.random(60) < 0.5).astype(np.int64)
        labels = np.clip(0.2 + 0.6 * kind + 0.02 * rng.standard_normal(60), 0, 1)
        mask = np.zeros(60, dtype=bool)
        for h in (0, 1):
            mask[rng.choice(np.flatnonzero(kind == h), 8, replace=False)] = True
        sums = prompt_sums(*rectangle(np.tile([0.9, 0.1], (16, 1)), np.repeat(labels[mask], 2).reshape(16, 2)))
        found = weighted_estimates(named("value_random"), sums, LabelSample.realised(mask, kind), RULE)
        errors.append(found["value_random"].estimate - 0.5)
        claimed.append(found["value_random"].se)
    assert np.sqrt(np.mean(np.square(claimed))) == pytest.approx(np.std(errors), rel=0.1)
    assert np.std(errors) > 0.03


FOLDER = Path(__file__).parent / "golden"


def rows():
    """Read the golden figures."""
    with (FOLDER / "partial_labels.csv").open() as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


@pytest.fixture(scope="module")
def found():
    """Estimate from the golden table, by method."""
    table = pd.read_csv(FOLDER / "partial_table.csv", comment="#")
    prompts = table.groupby("prompt")
    labelled, strata = prompts["label"].count().to_numpy() == 3, prompts["stratum"].first().to_numpy()
    sizes = np.full(len(labelled), 3)
    seen = table["label"].notna().to_numpy()
    scores, further = table["score"].to_numpy(), table["further"].to_numpy()
    sums = prompt_sums(scores[seen], table["label"].to_numpy()[seen], sizes[labelled])
    sample, rule = LabelSample.realised(labelled, strata), IntervalRule()
    alone, judged = (
        partial_estimates(sums, label_features(scores, sizes, others), sample, rule) for others in ((), (further,))
    )
    chosen = [e for e in ESTIMANDS if e.name in ("within_r", "kendall_tau")]
    assert (alone.fit.choice.name, judged.fit.choice.name) == ("labels only", "stand-in")
    return {
        "alone": alone.metrics,
        "further": judged.metrics,
        "weighted": weighted_estimates(chosen, sums, sample, rule),
    }


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['method']}-{row['metric']}")
def test_estimates_are_those_of_the_golden_table(found, row):
    """Estimate, standard error, degrees of freedom and both ends are those of a script that shares no code."""
    one = found[row["method"]][row["metric"]]
    figures = {name: getattr(one, name) for name in ("estimate", "se", "low", "high")}
    assert figures == {name: pytest.approx(float(row[name]), rel=1e-9, abs=1e-9) for name in figures}
    assert one.law.df == pytest.approx(float(row["df"]), rel=1e-9)


def test_the_golden_design_is_unequal():
    """Labelled prompts of the two strata stand for 3.6 and 1.33 prompts, so that forgotten weights show."""
    table = pd.read_csv(FOLDER / "partial_table.csv", comment="#").drop_duplicates("prompt")
    shares = table.groupby("stratum")["label"].agg(lambda labels: labels.notna().mean())
    assert shares.tolist() == [10 / 36, 18 / 24]


# Prompts that weigh differently, by a column of weights.


def weighted_frame(n, seed, most=3, lost=0.05, annotators=1):
    """Return a table with two judges, whole weights of the prompts, a topic, and a few lost scores."""
    rng = np.random.default_rng(seed)
    frame = simulate("arena", n=n, seed=seed).frame()
    ids = frame["prompt_id"].unique()
    weights = rng.integers(0, most + 1, len(ids))
    weights[:5] = 1  # some weigh something
    second = frame.assign(judge="second", judge_score=(rng.random(len(frame)).round(1) + frame["oracle_label"]) / 2)
    frame = pd.concat([frame.assign(judge="first"), second], ignore_index=True)
    frame.loc[rng.random(len(frame)) < lost, "judge_score"] = np.nan
    frame["w"] = frame["prompt_id"].map(dict(zip(ids, weights, strict=True)))
    frame["topic"] = frame["prompt_id"].map({one: "ab"[at % 2] for at, one in enumerate(ids)})
    if annotators == 1:
        return frame
    rows = [frame.assign(annotator=f"r{who}") for who in range(annotators)]
    for who, one in enumerate(rows):
        keys = {
            cell: (hash((seed, who, cell)) % 5) / 10 for cell in zip(one["prompt_id"], one["candidate"], strict=True)
        }
        one["oracle_label"] += [keys[cell] for cell in zip(one["prompt_id"], one["candidate"], strict=True)]
    return pd.concat(rows, ignore_index=True)


def repeated(frame):
    """Return the table with each prompt as often as it weighs, its copies one cluster."""
    return pd.concat(
        [
            frame[frame["w"] > at].assign(
                cluster=lambda some: some["prompt_id"], prompt_id=lambda some, at=at: some["prompt_id"] + f"/{at}"
            )
            for at in range(int(frame["w"].max()))
        ],
        ignore_index=True,
    ).drop(columns="w")


def assert_same_figures(weighted, copies, *, but=()):
    """Hold estimates and standard errors of two sets of figures against each other."""
    assert set(weighted) == set(copies)
    for name, one in weighted.items():
        if name in but:
            continue
        other = copies[name]
        # Correlations need 15 clusters of equal size, and those of unequal size have fewer degrees of freedom than
        # their tails leave: of weights neither is asked.
        if "the prompts are in" in (other.reason or ""):
            continue
        assert (one.estimate is None) == (other.estimate is None), (name, one.reason, other.reason)
        if one.estimate is not None:
            assert one.estimate == pytest.approx(other.estimate, abs=1e-9), name
        if one.interval not in (None, "exact") and other.interval is not None:
            assert one.se == pytest.approx(other.se, abs=1e-9), name


@given(seed=st.integers(0, 10**6), n=st.integers(12, 40), lost=st.sampled_from([0.0, 0.1]))
@settings(max_examples=12, deadline=None)
def test_whole_weights_are_copies_of_the_prompts(seed, n, lost):
    """Every figure of an audit, and its interval, is that of the table with each prompt k times as one cluster."""
    frame = weighted_frame(n, seed, lost=lost)
    weighted, copies = bw.audit(frame, weight_col="w"), bw.audit(repeated(frame))
    for name in ("first", "second"):
        one, other = weighted.judges[name], copies.judges[name]
        assert_same_figures(one.metrics, other.metrics, but=("unscored_cost",))
        kept = frame[(frame["w"] > 0) & (frame["judge"] == name)].drop_duplicates("prompt_id")["w"]
        assert one.data.effective_prompts == pytest.approx(kept.sum() ** 2 / (kept**2).sum(), abs=1e-6)
    assert_same_figures(weighted.comparisons[0].differences, copies.comparisons[0].differences)
    if weighted.judges["first"].subsets is not None:
        rows = {(row.column, row.value): row.estimate for row in weighted.judges["first"].subsets.rows}
        for row in copies.judges["first"].subsets.rows:
            if row.estimate is not None and rows.get((row.column, row.value)) is not None:
                assert rows[row.column, row.value] == pytest.approx(row.estimate, abs=1e-9)


def test_weights_of_one_size_change_nothing():
    """Equal weights, of any size, are no weights, but for what weights leave out."""
    frame = weighted_frame(40, 3)
    plain = bw.audit(frame.drop(columns="w"))
    for size in (1, 0.001, 7e6):
        found = bw.audit(frame.assign(w=size), weight_col="w")
        for name in ("first", "second"):
            assert_same_figures(found.judges[name].metrics, plain.judges[name].metrics, but=("unscored_cost",))
            assert found.judges[name].data.effective_prompts == pytest.approx(40)
            assert found.judges[name].metrics["recovery"].effective_n == pytest.approx(
                plain.judges[name].metrics["recovery"].effective_n
            )
            assert found.judges[name].verdict.level == plain.judges[name].verdict.level


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e170, 1e305])
def test_weights_of_any_size_are_their_proportions(size):
    """Sums of squares of weights are doubles whatever the unit."""
    frame = weighted_frame(30, 4)
    found = bw.audit(frame.assign(w=frame["w"] * size), weight_col="w")
    plain = bw.audit(frame, weight_col="w")
    for name in ("first", "second"):
        assert found.judges[name].data.effective_prompts == pytest.approx(plain.judges[name].data.effective_prompts)
        assert found.judges[name].metrics["recovery"].low == pytest.approx(plain.judges[name].metrics["recovery"].low)


def test_weighted_labels_in_part_are_not_sent_to_a_design(capsys, tmp_path):
    """A next command runs: weights and a stated draw do not go together, and without weights a draw is named."""
    frame = weighted_frame(40, 6, lost=0.0).query("judge == 'second'").reset_index(drop=True)
    frame.loc[frame.index[::9], "oracle_label"] = np.nan
    frame.to_csv(tmp_path / "in_part.csv", index=False)
    words = ("audit", str(tmp_path / "in_part.csv"))
    assert "--design" in typed(capsys, *words).out.partition("Next:")[2]
    weighted = typed(capsys, *words, "--weight-col", "w").out.partition("Next:")[2]
    assert weighted
    assert "--design" not in weighted
    good = frame.assign(judge_score=0.85 * frame["oracle_label"].fillna(0.5) + 0.15 * frame["judge_score"])
    found = bw.audit(good, weight_col="w", thresholds={"recovery_useful": 0.01})
    whole = " ".join(found.to_text(full=True).split())
    assert "Label the other prompts: prompts with weights (--weight-col) have no --design." in whole
    assert "labelled in part: prompts with weights (--weight-col) count when they are labelled whole." in whole
    assert "--design cells" not in whole


def test_gates_are_those_of_the_weights():
    """The test of no gain and the floor of effective prompts count weights: one heavy prompt decides nothing."""
    frame = weighted_frame(60, 5, lost=0.0)
    frame = frame[frame["judge"] == "second"]
    plain = bw.audit(frame.drop(columns="w"))
    assert plain.check({"recovery": 0.0}).checked[0].state == "met"
    ids = frame["prompt_id"].unique()
    heavy = frame.assign(w=np.where(frame["prompt_id"].isin(ids[:2]), 1e4, 1.0))
    found = bw.audit(heavy, weight_col="w")
    assert found.data.effective_prompts < 3
    assert found["value_random"].effective_n < 3
    assert found.check({"gain": 0.0}).checked[0].state == "inconclusive"
    assert found.verdict.level == "inconclusive"


def test_weights_that_are_worth_few_prompts_are_said_to_be_so():
    """Sixty labelled prompts are sixty, whatever their weights are worth; fewer than 20 of them are said first."""
    frame = weighted_frame(60, 5, lost=0.0).query("judge == 'second'")
    frame = frame.assign(judge_score=0.85 * frame["oracle_label"] + 0.15 * frame["judge_score"])
    ids = frame["prompt_id"].unique()
    uneven = frame.assign(w=np.where(frame["prompt_id"].isin(ids[:10]), 20.0, 1.0))
    words = "the weights of 60 labelled prompts are worth 15 prompts of equal weight, and a verdict needs 20"
    found = bw.audit(uneven, weight_col="w", thresholds={"recovery_useful": 0.05})
    assert words in found.verdict.sentences[0]
    assert "labelled completely" not in str(found)
    few = uneven[uneven["prompt_id"].isin(ids[:15])]
    assert "only 15 prompts are labelled completely" in bw.audit(few, weight_col="w").verdict.sentences[0]


def test_a_prompt_that_carries_all_leaves_no_interval():
    """Where weights are worth fewer than two prompts the estimate is one prompt; from two on Hall's end is kept.

    Of 1,500 tables of 60 prompts each, an interval of 95 %: with lognormal weights (sigma .5) and one loss of ten in
    twenty prompts Student's t covers .89 and Hall's end .95, with one weight of 60 among ones .91 and .95.
    """
    frame = weighted_frame(60, 5, lost=0.0).query("judge == 'second'")
    first = frame["prompt_id"].unique()[0]
    heavy, two = (
        bw.audit(frame.assign(w=np.where(frame["prompt_id"] == first, size, 1.0)), weight_col="w")
        for size in (1e3, 60)
    )
    for name, found in heavy.metrics.items():
        assert found.low is None, name
    assert "worth 1.1 prompts of equal weight, and an interval needs 2" in heavy["value_random"].reason
    assert heavy.check({"recovery": 0.0}).checked[0].state == "inconclusive"
    assert two["value_random"].low is not None
    assert {round(heavy[name].effective_n) for name in ("within_r", "global_r", "gain", "top1_accuracy")} == {1}


@given(st.lists(st.integers(1, 40), min_size=3, max_size=30), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_weights_cap_the_draws_of_a_rate(weights, seed):
    """What prompts are worth at most is what their weights are worth, spelled out; of a spread times each weight."""
    rng = np.random.default_rng(seed)
    sums = prompt_sums(*rng.random((2, 3 * len(weights))), np.full(len(weights), 3))
    w = np.array(weights, dtype=float)
    sample = JudgeSums([sums * w], RULE)
    top = named("top1_accuracy")[-1]
    assert sample.most_draws(top) == pytest.approx(sum(weights) ** 2 / sum(one * one for one in weights))
    within = named("within_r")[-1]
    spread = [weight * float(label) for weight, label in zip(weights, np.sqrt(Sums(*sums).eOO), strict=True)]
    assert within.weight(Sums(*(sums * w))) == pytest.approx(spread)


def test_what_weights_are_said_to_do():
    """The text says effective n and what is left out, the settings name the column, and zeros are dropped by name."""
    frame = weighted_frame(30, 7)
    found = bw.audit(frame, weight_col="w")
    said = " ".join(str(found).split())
    assert "w read as the weight of a prompt in every figure: 30 prompts are worth" in said
    assert "what cannot be weighted is left out (unscored_cost, alpha" in said
    assert found.settings.weight_col == "w"
    assert "needs prompts that weigh alike" in found.judges["first"].metrics["unscored_cost"].reason
    zeros = int((frame.drop_duplicates("prompt_id")["w"] == 0).sum())
    assert sum(one.reason == "its weight is 0" for one in found.judges["first"].data.dropped) == zeros > 0
    assert found.judges["first"].subsets is None or all(r.column != "w" for r in found.judges["first"].subsets.rows)


def test_a_column_named_weight_is_named_where_it_weighs_nothing():
    """A column ``weight`` without the flag is a column like any other, and the notes say so."""
    frame = weighted_frame(30, 7).rename(columns={"w": "Weight"})
    said = " ".join(str(bw.audit(frame)).split())
    assert "Weight read as a column like any other: no figure is weighted by it; --weight-col" in said
    assert "like any other: no figure" not in " ".join(str(bw.audit(frame, weight_col="Weight")).split())
    assert "no figure is weighted by it" in " ".join(str(bw.doctor(frame)).split())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2, 1], "row 1, column 'w': prompt 'p0000000' weighs 2 here and 1 elsewhere"),
        ([-1, -1, -1], "row 0, column 'w': the weight of prompt 'p0000000' is -1"),
        ([1, np.inf, np.inf], "row 1, column 'w': the weight of prompt 'p0000000' is inf"),
        ([np.nan, np.nan, np.nan], "the weight of prompt 'p0000000' is blank"),
        ([" ", " ", " "], "the weight of prompt 'p0000000' is blank"),
        (["many", "many", "many"], "the weight of prompt 'p0000000' is many"),
    ],
)
def test_weights_that_cannot_be_used_name_the_prompt(values, said):
    """A weight is a finite number, 0 or more, the same in every row of its prompt; another one is one clear error."""
    frame = simulate("arena", n=12, seed=1).frame()
    frame = frame[frame["candidate"] != "c3"].assign(w=1.0).astype({"w": object})
    frame.loc[frame["prompt_id"] == "p0000000", "w"] = values
    with pytest.raises(InputError, match=re.escape(said)):
        bw.audit(frame, weight_col="w")


def test_weights_and_what_they_do_not_go_with(tmp_path):
    """An unknown column, weights that are all 0, a stated draw, and logged picks are refused in one sentence."""
    frame = simulate("arena", n=30, seed=1).frame().assign(w=1.0)
    with pytest.raises(InputError, match="no column named 'x' to weigh prompts by"):
        bw.audit(frame, weight_col="x")
    named = frame.rename(columns={"judge_score": "points"})
    with pytest.raises(InputError, match="'points' is the column of judge_score already, so it cannot weigh prompts"):
        bw.audit(named, weight_col="points", score_col="points")
    with pytest.raises(InputError, match="every weight in 'w' is 0"):
        bw.audit(frame.assign(w=0), weight_col="w")
    with pytest.raises(UsageError, match="--design and --weight-col both weigh prompts"):
        bw.audit(frame, weight_col="w", design="uniform")
    with pytest.raises(UsageError, match="a column of propensities and --weight-col both weigh prompts"):
        bw.audit(frame.assign(propensity=0.5), weight_col="w")


def test_annotators_and_weights():
    """What one annotator recovers is weighted like everything else; alpha is left out, with its reason."""
    frame = weighted_frame(30, 11, lost=0.0, annotators=3)
    weighted = bw.audit(frame, weight_col="w", annotator_rule="mean").annotators
    copies = bw.audit(repeated(frame), annotator_rule="mean").annotators
    for name in ("recovery", "within_r", "top1_accuracy"):
        pairs = [
            (getattr(weighted.one_annotator, name), getattr(copies.one_annotator, name)),
            (getattr(weighted.judges["second"], name), getattr(copies.judges["second"], name)),
        ]
        for one, other in pairs:
            assert (one.estimate, one.se) == pytest.approx((other.estimate, other.se), abs=1e-9)
    assert weighted.alpha.estimate is None
    assert "weigh alike" in weighted.alpha.reason


def weighted_recovery(frame):
    """Compute recovery, hit rate and within_r in plain loops over weighted prompts."""
    top = bottom = hit = total = so = ss = oo = 0.0
    for _, pool in frame.groupby("prompt_id"):
        w, scores, labels = pool["w"].iloc[0], pool["judge_score"].tolist(), pool["oracle_label"].tolist()
        best = [label for score, label in zip(scores, labels, strict=True) if score == max(scores)]
        top += w * (fmean(best) - fmean(labels))
        bottom += w * (max(labels) - fmean(labels))
        hit += w * fmean(label == max(labels) for label in best)
        total += w
        for score, label in zip(scores, labels, strict=True):
            so += w * (score - fmean(scores)) * (label - fmean(labels))
            ss += w * (score - fmean(scores)) ** 2
            oo += w * (label - fmean(labels)) ** 2
    return {"recovery": top / bottom, "hit_rate": hit / total, "within_r": so / math.sqrt(ss * oo)}


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_weighted_figures_in_plain_loops(seed):
    """With any weights, figures are ratios of weighted sums over prompts."""
    rng = np.random.default_rng(seed)
    frame = simulate("arena", n=25, seed=seed).frame()
    frame["w"] = frame["prompt_id"].map({one: float(rng.gamma(0.7)) for one in frame["prompt_id"].unique()})
    found = bw.audit(frame, weight_col="w")
    for name, value in weighted_recovery(frame).items():
        if found[name].estimate is not None:
            assert found[name].estimate == pytest.approx(value, abs=1e-9), name


NOISES = (0.5, 1.0)
"""Of the judge at either kind: apart, and yet not of such tails together that correlations have no interval."""


def strata_of_traffic(n, seed):
    """Draw prompts of two kinds alike, which weigh 3 and 1 in traffic, a judge good at one kind alone."""
    rng = np.random.default_rng([SEED, seed])
    kind = rng.random(n) < 0.5
    labels = rng.normal(size=(n, 4))
    noise = np.where(kind, *NOISES)[:, None]
    scores = labels + noise * rng.normal(size=labels.shape)
    at = np.arange(n).repeat(4)
    return pd.DataFrame(
        {
            "prompt_id": [f"p{one:05d}" for one in at],
            "candidate": np.tile(list("abcd"), n),
            "judge_score": scores.ravel(),
            "oracle_label": labels.ravel(),
            "w": np.where(kind, 3.0, 1.0)[at],
        }
    )


def covered_by_weights(n, times):
    """Count the tables whose weighted intervals hold the truth of the traffic."""
    # Of normal values recovery is the correlation of score and label, and so is within_r in one kind.
    variances = [1 + noise**2 for noise in NOISES]
    good, bad = (1 / math.sqrt(variance) for variance in variances)
    so, ss = (3 * 1 + 1) / 4, (3 * variances[0] + variances[1]) / 4
    truth = {"recovery": (3 * good + bad) / 4, "within_r": so / math.sqrt(ss)}
    held = Counter()
    for seed in range(times):
        found = bw.audit(strata_of_traffic(n, seed), weight_col="w")
        ends = {name: (found[name].low, found[name].high) for name in truth}
        assert None not in ends["recovery"]
        held.update(name for name, (low, high) in ends.items() if low is not None and low <= truth[name] <= high)
    return {name: held[name] for name in truth}


def test_weighted_intervals_hold_the_truth_of_the_traffic():
    """Of prompts drawn alike, weights make the figures those of traffic, and intervals cover it."""
    for name, held in covered_by_weights(60, 40).items():
        assert_covered({name: held}, 40, least=0.93, most=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 200])
def test_weighted_intervals_hold_the_truth_in_full(n):
    """The same, 600 tables."""
    found = covered_by_weights(n, 600)
    print(n, {name: held / 600 for name, held in found.items()})  # noqa: T201 - the measured table
    for name, held in found.items():
        assert_covered({name: held}, 600, least=0.93, most=0.97)
