from __future__ import annotations

import numpy as np
import pytest

from bonwise.auditing.cell_figures import cell_figures
from bonwise.auditing.cell_intervals import compare_cells
from bonwise.auditing.cell_table import CellTable
from bonwise.stats.catalog import ESTIMANDS, METRICS
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.level_bias import level_bias
from bonwise.stats.sums import prompt_sums
from judge_laws import LAWS, sums_of

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
    for name, one in expected.items():
        assert found[name].estimate == pytest.approx(one.estimate, abs=1e-9), name
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
