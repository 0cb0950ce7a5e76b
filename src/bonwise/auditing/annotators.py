"""Several annotators in an audit: how far they agree, and how good one of them would be as a judge of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from bonwise.arrays import Floats, Ints
from bonwise.auditing import judge_record, result_labels
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.results import given as stated
from bonwise.stats import catalog, estimand, estimation, jackknife
from bonwise.stats.clusters import cluster_codes, too_few_clusters
from bonwise.stats.sums import compared, prompt_sums
from bonwise.table import annotators, cells, checks, score_table
from bonwise.table.panel import Panel

Level = Literal["nominal", "ordinal", "interval"]


_MOST_NUMBERS = 1 << 22
"""Numbers that a block of clusters may hold by label at a time."""

_LIMITS = (-1.0, 1.0)

_ROUNDING = 1e-12


class _PairableLabels(NamedTuple):
    """Labels of units that have two or more, by cluster from `starts`; ``weight`` is 1 / (m - 1)."""

    code: Ints
    of: Ints
    weight: Floats
    cluster: Ints
    starts: Ints
    distinct: Floats


def krippendorff_alpha(
    labels: Floats,
    units: Ints,
    prompts: Ints,
    level: Level,
    *,
    clusters: Ints | None = None,
    confidence: float = 0.95,
) -> estimand.Estimate:
    """Estimate Krippendorff's alpha, ``1 - D_o / D_e``, and its jackknife interval over prompts.

    Alpha is 1 where all labels of every unit agree, and 0 where they agree as labels drawn at random from all would.
    Arrays hold one entry a label and no NaN: `units` says what it is of, `prompts` its prompt (one for all labels of
    a unit), `clusters` the cluster of that prompt. Two nominal labels are the same or not, ordinal ones differ by the
    labels between them, interval ones by their distance. ``n`` counts the prompts that have a unit with two labels.
    """
    several = np.bincount(units, minlength=1)[units] > 1
    n = len(np.unique(prompts[several]))
    if not n:
        return estimand.Estimate.undefined("no candidate has two labels", 0)
    own = (prompts if clusters is None else clusters)[several]
    pairable_labels = _sorted_by_cluster(compared(labels[several]), units[several], own)
    if len(pairable_labels.distinct) < 2:
        return estimand.Estimate.undefined("undefined: all labels are the same", n)
    value, left_out = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[level](pairable_labels)
    few = too_few_clusters(None if clusters is None else own)
    if few:
        return estimand.Estimate(value, None, None, None, n, None, reason=f"no interval: {few}")
    return estimation.from_jackknife(value, jackknife.Scatter.without(left_out), n, _LIMITS, confidence, exact=None)


def _sorted_by_cluster(labels: Floats, units: Ints, clusters: Ints) -> _PairableLabels:
    cluster, _ = cluster_codes(clusters)
    order = np.argsort(cluster, kind="stable")
    distinct, code = np.unique(labels[order], return_inverse=True)
    of, _ = cluster_codes(units[order])
    cluster = cluster[order]
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    weight = 1.0 / (np.bincount(of)[of].astype(np.float64) - 1.0)
    return _PairableLabels(code.reshape(-1).astype(np.int64), of, weight, cluster, starts, distinct)


def _nominal(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of labels that are the same or not, and alpha without each cluster in turn."""
    # Labels of a unit that are the same: each of the k equal labels meets k - 1 others.
    pair = found.of * len(found.distinct) + found.code
    _, at, equal = np.unique(pair, return_inverse=True, return_counts=True)
    others = equal[at.reshape(-1)].astype(np.float64) - 1.0
    agreeing = np.add.reduceat(others * found.weight, found.starts)
    sizes = np.diff(found.starts, append=len(found.code)).astype(np.float64)
    totals = np.bincount(found.code, minlength=len(found.distinct)).astype(np.float64)
    # Of each cluster: the sum over labels c of n_c n_c(cluster), and of n_c(cluster) squared.
    own, counts = np.unique(found.cluster * len(found.distinct) + found.code, return_counts=True)
    whose, which = own // len(found.distinct), own % len(found.distinct)
    crossed = np.bincount(whose, weights=totals[which] * counts)
    squared = np.bincount(whose, weights=counts.astype(np.float64) ** 2)
    total, n = float(totals @ totals), float(len(found.code))
    value = _alpha_of_shares(np.array(agreeing.sum()), np.array(total), np.array(n))
    squares: Floats = np.asarray(total - 2 * crossed + squared, dtype=np.float64)
    rest = _alpha_of_shares(agreeing.sum() - agreeing, squares, n - sizes)
    return float(value), rest


def _alpha_of_shares(agreeing: Floats, squares: Floats, n: Floats) -> Floats:
    """Return alpha from the agreeing labels, the sum of ``n_c`` squared and ``n``."""
    observed, expected = n - agreeing, n * n - squares
    return _one_less(observed * (n - 1), expected)


def _one_less(numerator: Floats, denominator: Floats) -> Floats:
    ratio = np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=denominator > 0)
    return np.asarray(1.0 - ratio)


def _interval(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of labels that differ by their distance, and alpha without each cluster in turn."""
    place = (found.distinct - found.distinct.mean())[found.code]
    sums = np.array(
        [np.add.reduceat(row, found.starts) for row in (np.ones(len(place)), place, place**2, _met(found, place))]
    )
    totals = sums.sum(axis=1)
    return float(_alpha_of_sums(*totals)), _alpha_of_sums(*(totals[:, None] - sums))


def _met(found: _PairableLabels, place: Floats) -> Floats:
    """Return of each label the sum of its products with the other labels of its unit, over m - 1."""
    sums = np.bincount(found.of, weights=place)
    return place * (sums[found.of] - place) * found.weight


def _ordinal(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of ordered labels, by mean ranks, and alpha without each cluster, whose ranks are its own."""
    width = len(found.distinct)
    totals = np.bincount(found.code, minlength=width).astype(np.float64)
    met = _coincidences(found, width)
    place = _mean_ranks(totals)
    value = _alpha_of_places(place, totals, place @ (met @ place))
    left_out = []
    ends = np.append(found.starts[1:], len(found.code))
    step = max(1, _MOST_NUMBERS // width)
    for first in range(0, len(found.starts), step):
        last = min(first + step, len(ends))
        some = slice(found.starts[first], ends[last - 1])
        at = found.cluster[some] - first
        counts = np.zeros((last - first, width))
        np.add.at(counts, (at, found.code[some]), 1.0)
        rest = totals - counts
        places = _mean_ranks(rest)
        block = _PairableLabels(
            found.code[some], cluster_codes(found.of[some])[0], found.weight[some], at, found.starts, found.distinct
        )
        own = np.bincount(at, weights=_met(block, places[at, block.code]), minlength=last - first)
        left_out.append(_alpha_of_places(places, rest, np.einsum("gv,gv->g", (met @ places.T).T, places) - own))
    return float(value), np.concatenate(left_out)


def _coincidences(found: _PairableLabels, width: int) -> csr_array:
    """Return how often each label meets each other one in a unit, over m - 1: shape (labels, labels)."""
    held = coo_array((np.ones(len(found.code)), (found.of, found.code))).tocsr()
    weight = np.zeros(held.shape[0])
    weight[found.of] = found.weight
    # A label meets those of its unit, itself left out.
    itself = np.bincount(found.code, weights=found.weight, minlength=width)
    return csr_array(held.T @ (held * weight[:, None]) - diags_array(itself))


def _mean_ranks(counts: Floats) -> Floats:
    """Return the mean rank of each label, where each occurs as often as `counts` says, along the last axis."""
    return np.cumsum(counts, axis=-1) - counts / 2


def _alpha_of_places(place: Floats, counts: Floats, products: Floats) -> Floats:
    """Return alpha from the place of each label, how often it occurs, and the products of those that meet."""
    return _alpha_of_sums(
        counts.sum(axis=-1), (counts * place).sum(axis=-1), (counts * place * place).sum(axis=-1), products
    )


def _alpha_of_sums(n: Floats, first: Floats, second: Floats, products: Floats) -> Floats:
    """Return alpha from the number of labels, the sums of their places and of the squares, and their products."""
    observed, expected = second - products, n * second - first * first
    # Where all labels are the same, only rounding keeps what is expected from 0.
    expected = np.where(expected > _ROUNDING * n * second, expected, 0.0)
    return _one_less(np.maximum(observed, 0.0) * (n - 1), expected)


_AT_A_TIME = 1 << 20
"""Labels of others that are gathered at a time."""


@dataclass(frozen=True, eq=False)
class CellLabelsGiven:
    """The labels of several annotators at some cells."""

    cells: Ints
    annotators: Ints
    """Sorted by cell."""
    values: Floats
    prompts: Ints
    """The prompt of each label, by its place in the panel, or in the table."""


@dataclass(frozen=True, eq=False)
class AnnotatorPools:
    """Prompts of which an annotator labelled every candidate, and others too; a prompt once per such annotator."""

    prompts: Ints
    annotators: Ints
    sizes: Ints
    """Sorted by prompt."""
    cells: Ints
    """Of the panel, grouped by pool."""
    own: Floats
    others: Floats
    """The annotator's label of each of these cells, and the one label that those of all others become."""


def labels_given(found: annotators.AnnotatorLabels, table: score_table.ScoreTable, panel: Panel) -> CellLabelsGiven:
    """Return the labels that annotators gave the candidates of a panel."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    keys = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    at = cells.positions(found.cell_keys(table.prompts, table.candidates), keys)
    rows = np.flatnonzero(at >= 0)
    rows = rows[np.argsort(at[rows], kind="stable")]
    of_cell = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    return CellLabelsGiven(at[rows], found.annotators[rows], found.values[rows], of_cell[at[rows]])


def every_label(
    given: annotators.AnnotatorLabels, table: score_table.ScoreTable, left_out: Sequence[str] = ()
) -> CellLabelsGiven:
    """Return the labels of all candidates of a table but those left out, also where a prompt cannot be audited."""
    keys = given.cell_keys(table.prompts, table.candidates)
    rows = np.flatnonzero((keys >= 0) & ~table.candidates.isin(list(left_out))[keys % len(table.candidates)])
    rows = rows[np.argsort(keys[rows], kind="stable")]
    of_cell, _ = cluster_codes(keys[rows])
    return CellLabelsGiven(of_cell, given.annotators[rows], given.values[rows], keys[rows] // len(table.candidates))


def annotator_pools(given: CellLabelsGiven, sizes: Ints, rule: checks.AnnotatorRule) -> AnnotatorPools:
    """Return the pools of every annotator beside the labels of all others; `sizes` are candidates per prompt."""
    count = int(given.annotators.max(initial=0)) + 1
    held = np.bincount(given.cells, minlength=int(sizes.sum()))
    pairs = given.prompts * count + given.annotators
    with_others = held[given.cells] > 1
    known, at, times = np.unique(pairs, return_inverse=True, return_counts=True)
    shared = np.bincount(at.reshape(-1), weights=with_others, minlength=len(known)).astype(np.int64)
    # An annotator gives a candidate one label, so that these are all candidates of the prompt.
    whole = (times == sizes[known // count]) & (shared == times)
    mine = np.flatnonzero(whole[at.reshape(-1)])
    mine = mine[np.argsort(pairs[mine], kind="stable")]
    pools = known[whole]
    return AnnotatorPools(
        prompts=pools // count,
        annotators=pools % count,
        sizes=sizes[pools // count],
        cells=given.cells[mine],
        own=given.values[mine],
        others=_without_each(given, mine, held, rule),
    )


def _without_each(given: CellLabelsGiven, mine: Ints, held: Ints, rule: checks.AnnotatorRule) -> Floats:
    """Return what the labels of a cell become without each of some labels in turn."""
    starts = np.cumsum(held) - held
    sizes = held[given.cells[mine]]
    out = np.empty(len(mine))
    step = max(1, _AT_A_TIME // max(1, int(sizes.max(initial=1))))
    for first in range(0, len(mine), step):
        some, many = mine[first : first + step], sizes[first : first + step]
        whose = np.repeat(np.arange(len(some)), many)
        begins = np.repeat(np.cumsum(many) - many, many)
        label = np.repeat(starts[given.cells[some]], many) + np.arange(len(whose)) - begins
        other = label != some[whose]
        out[first : first + step] = annotators.aggregate(
            rule, whose[other], given.values[label[other]], len(some)
        ).labels
    return out


LEVELS: Mapping[checks.AnnotatorRule, Level] = MappingProxyType(
    {"majority": "nominal", "median": "ordinal", "mean": "interval"}
)
"""How alpha takes the difference of two labels, by the rule that makes them one."""

_METRICS = ("recovery", "within_r", "top1_accuracy")
_OF_PICKS = ("recovery", "top1_accuracy")

_MOST = 20
"""Annotators whose figures are given one by one."""


def annotators_of(
    table: score_table.ScoreTable,
    found: annotators.AnnotatorLabels,
    judges: Sequence[judge_record.JudgeAudit],
    settings: Settings,
) -> result_labels.Annotators:
    """Return what an audit says of several annotators, on the candidates of the judge with the most prompts."""
    panel = max((judge.labelling.panel for judge in judges), key=lambda one: len(one.sizes))
    every = every_label(found, table, (*settings.exclude, *settings.control))
    given = labels_given(found, table, panel)
    pools = annotator_pools(given, panel.sizes, found.rule)
    beside: dict[str, Any] = {"reason": _why_none(given, found)}
    each = [_counted(found, every, at) for at in _busiest(every)]
    if len(pools.prompts):
        rule, sums = _rule(pools, panel, settings), _sums(pools, panel, pools.own)
        whole = estimation.estimate(catalog.ESTIMANDS, sums, rule)
        one = result_labels.AgainstOthers(**_counts(pools), **_figures(whole, pools))
        by_judge = {judge.judge: _judge(judge, table, found, settings) for judge in judges}
        beside = {"one_annotator": one, "judges": {name: told for name, told in by_judge.items() if told} or None}
        each = [_alone(found, every, pools, (sums, rule), at) for at in _busiest(every)]
    several = np.bincount(every.cells, minlength=1)
    return result_labels.Annotators(
        layout="rows" if found.in_rows else "columns",
        columns=list(map(str, found.columns)),
        annotators=len(np.unique(every.annotators)),
        labels=len(every.cells),
        labelled_candidates=int((several > 0).sum()),
        several_labels=int((several > 1).sum()),
        kind=found.kind,
        rule=found.rule,
        rule_stated=found.stated,
        split=int(annotators.aggregate(found.rule, every.cells, every.values, len(several)).split.sum()),
        level=LEVELS[found.rule],
        alpha=EstimateRecord.of(_alpha(found, every, table, settings)),
        each=each,
        **stated(**beside),
    )


def _alpha(
    found: annotators.AnnotatorLabels, given: CellLabelsGiven, table: score_table.ScoreTable, settings: Settings
) -> estimand.Estimate:
    if table.weights is not None:
        return estimand.Estimate.undefined("undefined: needs prompts that weigh alike", 0)
    clusters = None if table.clusters is None else table.clusters[given.prompts]
    return krippendorff_alpha(
        given.values,
        given.cells,
        given.prompts,
        LEVELS[found.rule],
        clusters=clusters,
        confidence=settings.confidence,
    )


def _why_none(given: CellLabelsGiven, found: annotators.AnnotatorLabels) -> str:
    if len(np.unique(given.annotators)) < 2:
        return "the audited candidates have labels of one annotator alone"
    named = "column" if not found.in_rows else "annotator"
    return f"no {named} has labels of every candidate of a prompt, each labelled by another one too"


def _rule(pools: AnnotatorPools, panel: Panel, settings: Settings) -> estimation.IntervalRule:
    """Return how intervals are made: the pools of a prompt stay together."""
    clusters = pools.prompts if panel.clusters is None else panel.clusters[pools.prompts]
    return settings.rule(pools.others, clusters)


def _sums(pools: AnnotatorPools, panel: Panel, scores: Floats, ranked: Floats | None = None) -> Floats:
    weights = panel.weighted(np.ones(len(panel.sizes)))[pools.prompts]
    return prompt_sums(scores, pools.others, pools.sizes, ranked) * weights


def _counts(pools: AnnotatorPools) -> dict[str, Any]:
    return {"prompts": len(np.unique(pools.prompts)), "pools": len(pools.prompts)}


def _figures(
    found: Mapping[str, estimand.Estimate], pools: AnnotatorPools, names: Sequence[str] = _METRICS
) -> dict[str, Any]:
    """Return the records of some metrics, which count prompts, not pools."""
    prompts = len(np.unique(pools.prompts))
    return {name: EstimateRecord.of(replace(found[name], n=min(found[name].n, prompts))) for name in names}


def _judge(
    judge: judge_record.JudgeAudit,
    table: score_table.ScoreTable,
    found: annotators.AnnotatorLabels,
    settings: Settings,
) -> result_labels.JudgeAgainstOthers | None:
    """Compare a judge with the labels that one annotator is compared with; None where it scored none of them."""
    panel = judge.labelling.panel
    pools = annotator_pools(labels_given(found, table, panel), panel.sizes, found.rule)
    if not len(pools.prompts):
        return None
    names = _OF_PICKS if judge.logged else _METRICS
    rule = _rule(pools, panel, settings)
    sums = _sums(pools, panel, panel.scores[pools.cells], panel.ranked[pools.cells])
    annotator = _sums(pools, panel, pools.own)
    return result_labels.JudgeAgainstOthers(
        **_counts(pools),
        **_figures(estimation.estimate(catalog.ESTIMANDS, sums, rule), pools, names),
        minus_annotator=_figures(estimation.difference(catalog.ESTIMANDS, sums, annotator, rule), pools, names),
    )


def _busiest(given: CellLabelsGiven) -> list[int]:
    """Return the annotators with the most labels, in the order of their names."""
    who, labels = np.unique(given.annotators, return_counts=True)
    most = np.argsort(-labels, kind="stable")[:_MOST]
    return sorted(who[most].tolist())


def _counted(found: annotators.AnnotatorLabels, given: CellLabelsGiven, at: int) -> result_labels.AnnotatorRecord:
    return result_labels.AnnotatorRecord(
        annotator=found.names[at], labels=int((given.annotators == at).sum()), prompts=0, pools=0
    )


def _alone(
    found: annotators.AnnotatorLabels,
    given: CellLabelsGiven,
    pools: AnnotatorPools,
    known: tuple[Floats, estimation.IntervalRule],
    at: int,
) -> result_labels.AnnotatorRecord:
    """Return what one annotator recovers of the labels of the others."""
    mine = pools.annotators == at
    if not mine.any():
        return _counted(found, given, at)
    sums, rule = known
    own = replace(pools, prompts=pools.prompts[mine])
    return result_labels.AnnotatorRecord(
        annotator=found.names[at],
        labels=int((given.annotators == at).sum()),
        **_counts(own),
        **_figures(estimation.estimate(catalog.ESTIMANDS, sums[:, mine], rule.keep(mine)), own),
    )
