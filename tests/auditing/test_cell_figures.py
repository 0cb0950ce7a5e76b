"""Figures from every labelled cell: what they are, what limits them, how often their intervals hold the truth."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.cell_figures import cell_figures
from bonwise.auditing.cell_intervals import compare_cells
from bonwise.auditing.cell_table import CellTable, _in_errors, label_diagnostics
from bonwise.stats import support
from bonwise.stats.catalog import ESTIMANDS, METRICS
from bonwise.stats.correlation import heavy_tails
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.level_bias import level_bias
from bonwise.stats.sums import Sums, prompt_sums
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson

RULE = IntervalRule()
UNBOUNDED = IntervalRule(label_range=(-np.inf, np.inf))


def table_of(S, labels, **more):
    """Lay a rectangle out, candidates named by their column."""
    n, K = S.shape
    return CellTable(np.full(n, K), S.ravel(), labels.ravel(), names=np.tile(np.arange(K), n), **more)


def hidden(labels, rates, rng):
    """Take labels away."""
    return np.where(rng.random(labels.shape) < rates, labels, np.nan)


def counted(cells, pools, pairs):
    """Return counts by their keys."""
    return {"cells": cells, "pools": pools, "pairs": pairs}


@pytest.mark.parametrize("law", ["binary", "likert", "hetero", "ties90"])
def test_a_table_that_is_labelled_whole_has_the_figures_of_complete_labels(law):
    """With every cell labelled each figure is that of complete labels, its interval nearly the same."""
    S, labels = LAWS[law](np.random.default_rng(3), 300)
    rule = UNBOUNDED if law == "hetero" else RULE
    found, expected = cell_figures(table_of(S, labels), rule).metrics, estimate(ESTIMANDS, sums_of(S, labels), rule)
    expected |= support.of_whole_prompts(expected, Sums(*sums_of(S, labels)), labels.min(axis=1), rule)
    for name, one in expected.items():
        assert found[name].estimate == pytest.approx(one.estimate, abs=1e-9), name
        if one.estimate is None:
            assert (name, found[name].reason) == ("inflation", one.reason)
            continue
        if name in ("within_r", "global_r") and heavy_tails(S.ravel(), labels.ravel()):
            continue  # an audit withholds either interval
        width = one.high - one.low
        # The jackknife and its linearisation differ most for correlations under heavy tails.
        allowed = 0.25 * width if law in {"hetero", "ties90"} else 0.05 * width
        assert (found[name].low, found[name].high) == pytest.approx((one.low, one.high), abs=allowed), name


def test_pools_of_several_sizes_labelled_whole_have_the_figures_of_complete_labels():
    """Sizes, a rare one included, are put end to end: with every cell labelled nothing changes.

    Strata of fewer than three pools join others, which moves the gain by a thousandth of its standard error.
    """
    rng = np.random.default_rng(7)
    sizes = rng.choice([2, 4, 6, 9], 400, p=[0.3, 0.4, 0.29, 0.01])
    labels = np.round(rng.random(sizes.sum()), 1)
    scores = np.round(labels + rng.normal(0, 0.4, len(labels)), 1)
    found = cell_figures(CellTable(sizes, scores, labels), RULE).metrics
    expected = estimate(ESTIMANDS, prompt_sums(scores, labels, sizes), RULE)
    for name, one in expected.items():
        if one.estimate is None:
            assert (name, found[name].estimate, found[name].reason) == ("inflation", None, one.reason)
            continue
        assert found[name].estimate == pytest.approx(one.estimate, abs=0.001 * one.se), name


def test_every_metric_is_there_and_says_what_stands_behind_it():
    """Metrics come in the order of the catalogue; counts are those of the cells, pools and pairs used."""
    rng = np.random.default_rng(2)
    S, labels = LAWS["likert"](rng, 200)
    some = hidden(labels, 0.7, rng)
    L = ~np.isnan(some)
    figures = cell_figures(table_of(S, some), RULE)
    assert list(figures.metrics) == list(figures.counts) == [metric.name for metric in METRICS]
    assert {one.method for name, one in figures.metrics.items() if name not in figures.contributions} <= {
        "cells",
        "complete",
    }
    assert figures.metrics["tie_rate"].method == "complete"
    assert figures.counts["value_random"].to_dict() == counted(L.sum(), L.any(1).sum(), 0)
    seen = L.sum(1)
    pairs = (seen * (seen - 1) // 2).sum()
    assert figures.counts["within_r"].to_dict() == counted(seen[seen > 1].sum(), (seen > 1).sum(), pairs)
    assert figures.counts["recovery"].pools == figures.metrics["recovery"].n == L.all(1).sum()
    A = S.max(1, keepdims=True) == S
    assert figures.counts["gain"].pairs == ((A & L).sum(1) * (~A & L).sum(1)).sum()
    assert figures.gain_parts.mean() == pytest.approx(figures.metrics["gain"].estimate)
    ratio = figures.gain_parts.mean() / figures.oracle_parts.mean()
    assert ratio == pytest.approx(figures.metrics["recovery"].estimate)
    assert figures.ess == pytest.approx(L.all(1).sum())


@pytest.mark.parametrize(
    ("difference", "se", "errors"), [(0.3, 0.2, 1.5), (-0.1, 0.4, -0.25), (0.0, 0.0, 0.0), (0.3, 0.0, None)]
)
def test_a_difference_in_standard_errors_by_hand(difference, se, errors):
    """A difference that is the same in every prompt has none; where there is no difference it is none of them."""
    assert _in_errors(difference, se) == (None if errors is None else pytest.approx(errors))


def test_level_bias_of_complete_labels():
    """With every cell labelled the largest bias is found as among complete labels, but for how folds are dealt."""
    rng = np.random.default_rng(4)
    S, labels = LAWS["binary"](rng, 400)
    S[:, 0] = np.clip(S[:, 0] + 0.3, 0, 1)
    table = table_of(S, labels)
    found = cell_figures(table, RULE).metrics["level_bias"]
    expected = level_bias(table.scores, table.labels, table.sizes, table.names, confidence=0.95, seed=0)
    assert found.estimate == pytest.approx(expected.estimate, abs=0.01)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)
    thinned = cell_figures(table_of(S, hidden(labels, 0.5, rng)), RULE).metrics["level_bias"]
    assert thinned.low < expected.estimate < thinned.high


def test_too_few_labels_are_refused_with_the_reason():
    """What the labels cannot bear has no value and says why; what they can is there."""
    rng = np.random.default_rng(5)
    S, labels = LAWS["binary"](rng, 100)
    some = hidden(labels, 0.6, rng)
    some[np.cumsum((~np.isnan(some)).all(1)) > 7, 0] = np.nan
    found = cell_figures(table_of(S, some), RULE)
    complete = int((~np.isnan(some)).all(1).sum())
    assert complete == 7
    for name in ("recovery", "value_oracle", "hit_rate", "top1_accuracy", "kendall_tau"):
        assert found.metrics[name].estimate is None
        assert found.metrics[name].reason == (
            "refused: 7 of the 100 pools of 4 candidates are labelled whole, and 8 are needed"
        )
    assert found.oracle_parts is None
    assert found.metrics["gain"].low < found.metrics["gain"].high
    nothing = cell_figures(table_of(S, np.full(labels.shape, np.nan)), RULE)
    assert nothing.metrics["gain"].reason == "undefined: no cell is labelled"
    assert nothing.metrics["tie_rate"].estimate is not None


def test_single_labels_say_nothing_of_gain():
    """One label a pool gives the value of a random pick and neither gain nor correlation within prompts."""
    rng = np.random.default_rng(6)
    S, labels = LAWS["binary"](rng, 100)
    one = np.where(np.arange(4) == rng.integers(0, 4, (100, 1)), labels, np.nan)
    found = cell_figures(table_of(S, one), RULE).metrics
    assert found["value_random"].estimate == pytest.approx(np.nanmean(one), abs=0.1)
    assert "too few pools of 4 candidates have a label on a top-scored candidate" in found["gain"].reason
    assert found["within_r"].reason == "refused: no pool of 4 candidates has two labels"
    assert found["global_r"].estimate is not None


def test_unequal_chances_refuse_few_effective_pools_and_say_approximate():
    """Complete pools of very different chances are refused below 30 effective ones; rates of hits are approximate."""
    rng = np.random.default_rng(8)
    S, labels = LAWS["likert"](rng, 400)
    few = np.clip(0.5 + 0.8 * (S - 0.5), 0.05, 0.95)
    found = cell_figures(table_of(S, hidden(labels, few, rng), propensities=few.ravel()), RULE)
    assert found.ess < 30
    assert found.metrics["recovery"].estimate is None
    assert "of equal chance to be complete, and 30 are needed" in found.metrics["recovery"].reason
    many = np.clip(0.8 + 0.1 * (S - 0.5), 0.05, 0.95)
    found = cell_figures(table_of(S, hidden(labels, many, rng), propensities=many.ravel()), RULE)
    assert found.metrics["recovery"].ess == found.ess > 30
    assert any("approximate" in note for note in found.notes)
    rare = many.copy()
    rare[0, :] = 0.01
    assert (
        "below 0.02"
        in cell_figures(table_of(S, hidden(labels, rare, rng), propensities=rare.ravel()), RULE)
        .metrics["value_random"]
        .reason
    )


def test_few_complete_pools_are_said():
    """Between 8 and 20 complete pools a note says that they are few."""
    rng = np.random.default_rng(9)
    S, labels = LAWS["binary"](rng, 150)
    found = cell_figures(table_of(S, hidden(labels, 0.57, rng)), RULE)
    assert 8 <= found.counts["recovery"].pools < 20
    assert found.notes[0].startswith("Few complete pools")


def test_clusters_widen_and_few_give_no_interval():
    """Copies of a prompt in one cluster bear no more than one; fewer than five clusters give no interval."""
    rng = np.random.default_rng(10)
    S, labels = LAWS["binary"](rng, 100)
    some = hidden(labels, 0.8, rng)
    once = cell_figures(table_of(S, some), RULE).metrics
    S3, some3, clusters = np.repeat(S, 3, axis=0), np.repeat(some, 3, axis=0), np.repeat(np.arange(100), 3)
    naive = cell_figures(table_of(S3, some3), RULE).metrics
    honest = cell_figures(table_of(S3, some3, clusters=clusters), RULE).metrics
    for name in ("gain", "value_judge", "within_r", "recovery"):
        width = once[name].high - once[name].low
        assert honest[name].high - honest[name].low == pytest.approx(width, rel=0.15)
        assert naive[name].high - naive[name].low < 0.75 * width
    four = cell_figures(table_of(S3, some3, clusters=clusters % 4), RULE).metrics
    assert four["gain"].low is None
    assert four["gain"].reason == "no interval: the prompts are in 4 clusters, and an interval needs 5"
    assert four["recovery"].estimate == pytest.approx(once["recovery"].estimate, abs=0.1)


def test_a_second_judge_narrows_and_one_that_scored_some_cells_is_taken():
    """Another judge's scores are covariates; where it has none the cell stands at its mean."""
    rng = np.random.default_rng(11)
    quality = rng.standard_normal((600, 4)) + rng.standard_normal((600, 1))
    S, labels = np.round(quality + 1.5 * rng.standard_normal((600, 4)), 1), quality
    other = quality + 0.3 * rng.standard_normal((600, 4))
    some = hidden(labels, 0.6, rng)
    alone = cell_figures(table_of(S, some), UNBOUNDED).metrics
    helped = cell_figures(table_of(S, some, others=(other.ravel(),)), UNBOUNDED).metrics
    partly = np.where(rng.random(2400) < 0.9, other.ravel(), np.nan)
    partly_helped = cell_figures(table_of(S, some, others=(partly,)), UNBOUNDED).metrics
    for name in ("gain", "value_judge", "recovery"):
        widths = [m[name].high - m[name].low for m in (helped, partly_helped, alone)]
        assert widths[0] < widths[1] < widths[2]


def test_two_judges_on_the_same_cells():
    """With every cell labelled differences are those of complete labels; swapped judges swap signs."""
    rng = np.random.default_rng(12)
    S, labels = LAWS["likert"](rng, 300)
    T = np.round(labels + 0.3 * rng.standard_normal(labels.shape), 1)
    first, second = (cell_figures(table_of(one, labels), RULE) for one in (S, T))
    found = compare_cells(first, second, RULE)
    expected = difference(ESTIMANDS, sums_of(S, labels), sums_of(T, labels), RULE)
    for name, one in expected.items():
        assert found[name].estimate == pytest.approx(one.estimate, abs=1e-9), name
        if one.low is None:
            assert found[name].low is None, name
            continue
        width = one.high - one.low
        assert (found[name].low, found[name].high) == pytest.approx((one.low, one.high), abs=0.06 * width + 1e-9), (
            name
        )
    some = hidden(labels, 0.7, rng)
    first, second = (cell_figures(table_of(one, some), RULE) for one in (S, T))
    there, back = compare_cells(first, second, RULE), compare_cells(second, first, RULE)
    for name, one in there.items():
        assert one.estimate == pytest.approx(-back[name].estimate, abs=1e-12), name
        assert (one.low is None) == (back[name].low is None), name
        if one.low is not None:
            assert (one.low, one.high) == pytest.approx((-back[name].high, -back[name].low), abs=1e-9), name
    assert there["gain"].high - there["gain"].low < sum(
        f.metrics["gain"].high - f.metrics["gain"].low for f in (first, second)
    )


def test_a_difference_with_a_refused_figure_is_refused():
    """Where one judge has no recovery the difference has none, and carries its reason."""
    rng = np.random.default_rng(13)
    S, labels = LAWS["binary"](rng, 60)
    figures = cell_figures(table_of(S, hidden(labels, 0.4, rng)), RULE)
    found = compare_cells(figures, figures, RULE)["recovery"]
    assert found.estimate is None
    assert found.reason == figures.metrics["recovery"].reason


def test_gain_worked_by_hand():
    """Six prompts of two with scores of one pattern: the ridge cannot move the gain away from the mean difference.

    Complete pools differ by .5, .5, .5, 1, 1, 1 (top less other); two further pools carry one label. At one size and
    one number of tops every usable pool has the same weight, so that the gain is half the mean difference but for
    what the predictions of the two other pools add, whose residuals the same mean takes off again.
    """
    nan = np.nan
    labels = np.array([[0.5, 0], [0.5, 0], [0.5, 0], [1, 0], [1, 0], [1, 0], [nan, 0.25], [0.75, nan]])
    S = np.tile([0.9, 0.1], (8, 1))
    found = cell_figures(CellTable(np.full(8, 2), S.ravel(), labels.ravel()), RULE).metrics["gain"]
    # c = (1/2, -1/2); f differs between folds only, by what is left of a label's own fold.
    assert found.estimate == pytest.approx(0.375, abs=0.02)
    assert found.n == 6


def t_of(groups, labelled, owners):
    """Return difference, standard error and t in plain loops; groups hold True, False, or None for cells left out."""
    inside = [x for g, x in zip(groups, labelled, strict=True) if g is True]
    outside = [x for g, x in zip(groups, labelled, strict=True) if g is False]
    if not inside or not outside:
        return None
    p, q = sum(inside) / len(inside), sum(outside) / len(outside)
    pulls = dict.fromkeys(owners, 0.0)
    for g, x, owner in zip(groups, labelled, owners, strict=True):
        if g is True:
            pulls[owner] += (x - p) / len(inside)
        elif g is False:
            pulls[owner] -= (x - q) / len(outside)
    units = len(pulls)
    se = sqrt(units / (units - 1) * sum(v * v for v in pulls.values())) if units > 1 else 0.0
    return p - q, se


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=2, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_shares_are_those_of_plain_loops(pools, clustered):
    """Differences and standard errors by name and of top cells agree with a twin that loops over cells."""
    sizes = np.array([len(p) for p in pools])
    scores = np.array([s for p in pools for s, _ in p])
    labelled = [x for p in pools for _, x in p]
    names = np.array([i for p in pools for i in range(len(p))])
    clusters = np.arange(len(pools)) // 2 if clustered else None
    table = CellTable(sizes, scores, np.where(labelled, 1.0, np.nan), names=names, clusters=clusters)
    found = label_diagnostics(table)
    unit = [x // 2 if clustered else x for x, p in enumerate(pools) for _ in p]
    tops = [None if len({v for v, _ in p}) == 1 else s == max(v for v, _ in p) for p in pools for s, _ in p]
    expected = t_of(tops, labelled, unit)
    assert (found.tops is None) == (expected is None)
    if expected is not None:
        assert (found.tops.difference, found.tops.se) == pytest.approx(expected, abs=1e-12)
    for one in found.by_name:
        code = int(one.group.split()[-1])
        assert (one.difference, one.se) == pytest.approx(t_of((names == code).tolist(), labelled, unit), abs=1e-12)


def test_worked_by_hand():
    """Four prompts of two: three tops and one other labelled.

    Shares 3/4 and 1/4, difference .5. Pulls of the prompts, (L - share) / 4 of the top less the same of the other:
    labelled both (1/4 - 3/4) / 4 = -1/8; top alone (1/4 + 1/4) / 4 = 1/8, twice; none (-3/4 + 1/4) / 4 = -1/8.
    The standard error is sqrt(4/3 * 4/64) = .2887.
    """
    nan = np.nan
    table = CellTable(np.full(4, 2), np.tile([0.9, 0.1], 4), np.array([1, 0, 1, nan, 0, nan, nan, nan]))
    found = label_diagnostics(table)
    assert (found.tops.share, found.tops.difference) == (0.75, 0.5)
    assert found.tops.se == pytest.approx(sqrt(1 / 12))
    assert found.tops.t == pytest.approx(0.5 / sqrt(1 / 12))
    assert found.contradicts == ()
    assert found.counts[0].pools == (1, 2, 1)
    assert found.counts[0].expected == pytest.approx((1.0, 2.0, 1.0))


def test_labels_at_random_contradict_nothing_and_labels_by_score_do():
    """At one rate nothing is beyond chance, labels in bunches included; labels by score are found out."""
    rng = np.random.default_rng(5)
    scores, names = np.round(rng.random((800, 4)), 1), np.tile(np.arange(4), 800)
    sizes, labels = np.full(800, 4), rng.random(3200)

    def under(rates):
        hidden = np.where((rng.random((800, 4)) < rates).ravel(), labels, np.nan)
        return label_diagnostics(CellTable(sizes, scores.ravel(), hidden, names=names), list("abcd"))

    assert under(0.6).contradicts == ()
    bunched = under(np.where(rng.random((800, 1)) < 0.5, 0.85, 0.25))
    assert bunched.contradicts == ()
    assert bunched.counts[0].pools[4] > 2 * bunched.counts[0].expected[4]
    by_score = under(0.3 + 0.5 * scores).contradicts
    assert {"top-scored candidates", "the lowest third of scores", "the highest third of scores"} <= set(by_score)
    assert under(np.array([0.9, 0.5, 0.5, 0.5])).contradicts == tuple(f"candidate {c}" for c in "abcd")


def test_expected_pools_follow_the_binomial_law():
    """Pools of one size are expected to hold l labels as often as the binomial law says."""
    table = CellTable(np.array([3, 3]), np.arange(6.0), np.array([1.0, np.nan, np.nan, 1.0, 1.0, np.nan]))
    expected = [2 * comb(3, k) * 0.5**3 for k in range(4)]
    assert label_diagnostics(table).counts[0].expected == pytest.approx(expected)


# Intervals from every labelled cell hold the truth, and are narrower than those of prompts labelled whole.


SEED = 20261123
FIGURES = ("recovery", "gain", "value_oracle", "hit_rate", "value_judge", "value_random", "within_r")
GOLDEN = {(row["law"], float(row["rate"]), row["figure"]): row for row in golden("cell_coverage")}
OWN = [("graded", 0.7), ("skewed", 0.7)]
"""Laws that the table of the prototype does not have."""

WHOLE = [e for e in ESTIMANDS if e.name in FIGURES]
BOUNDED = ("recovery", "hit_rate", "value_oracle", "value_judge", "value_random")
FULL = 2000
FROM_CELLS = 1000
"""Tables behind a golden coverage."""


def unequal(law, figure):
    """Tell what holds less often than it says: a correlation whose prompts differ by a lognormal spread."""
    return law == "hetero" and figure == "within_r"


def at_random(rng, scores, rate):
    """Return one chance for all."""
    return np.full(scores.shape, rate)


def in_bunches(rng, scores, _rate):
    """Return a chance of 85 % or of 25 % for all candidates of a prompt."""
    return np.where(rng.random((len(scores), 1)) < 0.5, 0.85, 0.25) * np.ones_like(scores)


def by_score(rng, scores, rate):
    """Return chances of 10 to 97 %: more for the highest score of a prompt, and for high scores."""
    top = scores == scores.max(1, keepdims=True)
    return np.clip(rate - 0.1 + 0.2 * top + 0.15 * (scores - scores.mean()) / scores.std(), 0.1, 0.97)


def measured(law, rate, replications, n=600, chances=at_random, **stated):
    """Return, by figure, how many intervals hold the truth, and the median width over that of whole prompts.

    ``known=True`` states the chances of the candidates, ``fitted=True`` that they follow from scores.
    """
    known = stated.pop("known", False)
    truths, K = truth(law), LAWS[law](np.random.default_rng(0), 2)[0].shape[1]
    rule = IntervalRule(label_range=(-np.inf, np.inf) if law in {"hetero", "lognormal", "skewed"} else (0.0, 1.0))
    held, widths = Counter(), defaultdict(list)
    rng = np.random.default_rng([SEED, list(LAWS).index(law), int(100 * rate)])
    for _ in range(replications):
        scores, labels = LAWS[law](rng, n)
        chance = chances(rng, scores, rate)
        seen = rng.random(labels.shape) < chance
        more = {"propensities": chance.ravel()} if known else stated
        table = CellTable(np.full(n, K), scores.ravel(), np.where(seen, labels, np.nan).ravel(), **more)
        found = cell_figures(table, rule).metrics
        complete = seen.all(1)
        whole = estimate(WHOLE, sums_of(scores[complete], labels[complete]), rule) if complete.sum() > 3 else {}
        for name in FIGURES:
            one, other = found[name], whole.get(name)
            held[name] += one.low is None or one.low <= truths[name] <= one.high
            if one.low is not None and other is not None and other.low is not None:
                widths[name].append((one.high - one.low) / (other.high - other.low))
    return held, {name: float(np.median(ratios)) for name, ratios in widths.items()}


def assert_held(law, rate, replications, n=600):
    """Fail where an interval is shown to hold in fewer than 93 % of tables, or off the golden table."""
    held, widths = measured(law, rate, replications, n)
    print(law, rate, {name: (held[name] / replications, round(widths[name], 2)) for name in FIGURES})  # noqa: T201
    for name in FIGURES:
        if unequal(law, name):
            continue
        assert clopper_pearson(held[name], replications)[1] >= 0.93, (name, held[name])
        known = GOLDEN.get((law, rate, name))
        if known is not None:
            share = float(known["coverage"])
            error = np.sqrt(share * (1 - share) * (1 / FROM_CELLS + 1 / replications))
            over = held[name] / replications - share
            # Means between two ends, and a recovery near 1, have wider intervals than the prototype gave them.
            assert over >= -3.5 * error, name
            assert over <= 3.5 * error or name in BOUNDED, name
            if n == 600:
                assert widths[name] == pytest.approx(float(known["width"]), rel=0.15), name


@pytest.mark.parametrize(("law", "rate"), [("arena", 0.7), ("likert", 0.5), ("skewed", 0.7)])
def test_intervals_from_cells_hold_the_truth(law, rate):
    """Over 100 tables of 200 prompts no interval is shown to hold in fewer than 93 % of tables."""
    assert_held(law, rate, 100, n=200)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "rate"), [*dict.fromkeys((law, rate) for law, rate, _ in GOLDEN), *OWN])
def test_coverage_from_cells(law, rate):
    """Over 2,000 tables of 600 prompts coverage and width are those of the prototype."""
    assert_held(law, rate, FULL)


DRAWN = {
    "bunches": (in_bunches, {}, ("recovery", "gain", "value_oracle")),
    "known chances": (by_score, {"known": True}, ("recovery", "gain", "value_judge", "value_random", "within_r")),
    "fitted chances": (by_score, {"fitted": True}, ("recovery", "gain", "value_judge", "value_random")),
}
"""How labels came about, what is stated of it, and the figures that are then to hold."""


def assert_drawn_held(law, drawn, replications, n=600):
    """Fail where an interval is shown to hold in fewer than 92 % of tables."""
    chances, stated, names = DRAWN[drawn]
    held, _ = measured(law, 0.7, replications, n, chances, **stated)
    print(law, drawn, {name: held[name] / replications for name in names})  # noqa: T201 - the measured figures
    for name in names:
        assert clopper_pearson(held[name], replications)[1] >= 0.92, (name, held[name])


@pytest.mark.parametrize("drawn", DRAWN)
def test_labels_that_come_in_other_ways_hold_the_truth(drawn):
    """Bunches need no statement; chances that follow the scores do, and intervals then hold."""
    assert_drawn_held("likert", drawn, 60, n=200)


def test_prompts_labelled_whole_miss_where_labels_follow_scores():
    """What the statement is for: without it the value of a random pick is off."""
    rng, missed = np.random.default_rng(SEED), 0
    for _ in range(40):
        scores, labels = LAWS["likert"](rng, 300)
        complete = (rng.random(labels.shape) < by_score(rng, scores, 0.7)).all(1)
        found = estimate(WHOLE, sums_of(scores[complete], labels[complete]), IntervalRule(label_range=(0.0, 1.0)))
        one = found["value_random"]
        missed += not one.low <= truth("likert")["value_random"] <= one.high
    assert missed > 30


@pytest.mark.slow
@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("law", ["arena", "binary", "likert"])
def test_coverage_of_labels_that_come_in_other_ways(law, drawn):
    """The same over 1,000 tables of 600 prompts."""
    assert_drawn_held(law, drawn, 1000)
