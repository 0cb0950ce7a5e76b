"""Several annotators in an audit: how far they agree, and how good one of them would be as a judge of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.auditing.judge_record import JudgeAudit
from bonwise.auditing.krippendorff import Level, krippendorff_alpha
from bonwise.auditing.result_labels import AgainstOthers, AnnotatorRecord, Annotators, JudgeAgainstOthers
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.results import given as stated
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Floats, prompt_sums
from bonwise.table.annotators import AnnotatorLabels, aggregate
from bonwise.table.cells import positions
from bonwise.table.checks import AnnotatorRule
from bonwise.table.panel import Panel
from bonwise.table.score_table import ScoreTable

__all__ = ["LEVELS", "AnnotatorPools", "CellLabelsGiven", "annotator_pools", "annotators_of", "labels_given"]

_Ints = npt.NDArray[np.int64]

_AT_A_TIME = 1 << 20
"""Labels of others that are gathered at a time."""


@dataclass(frozen=True, eq=False)
class CellLabelsGiven:
    """The labels of several annotators at the cells of a panel."""

    cells: _Ints
    """Sorted by cell."""
    annotators: _Ints
    """Sorted by cell."""
    values: Floats
    prompts: _Ints
    """The prompt of each label, by its place in the panel."""


@dataclass(frozen=True, eq=False)
class AnnotatorPools:
    """Prompts of which an annotator labelled every candidate, and others too; a prompt once per such annotator."""

    prompts: _Ints
    """Sorted by prompt."""
    annotators: _Ints
    """Sorted by prompt."""
    sizes: _Ints
    """Sorted by prompt."""
    cells: _Ints
    """Of the panel, grouped by pool."""
    own: Floats
    """The annotator's label of each of these cells, and the one label that those of all others become."""
    others: Floats
    """The annotator's label of each of these cells, and the one label that those of all others become."""


def labels_given(found: AnnotatorLabels, table: ScoreTable, panel: Panel) -> CellLabelsGiven:
    """Return the labels that annotators gave the candidates of a panel."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    keys = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    at = positions(found.cell_keys(table.prompts, table.candidates), keys)
    rows = np.flatnonzero(at >= 0)
    rows = rows[np.argsort(at[rows], kind="stable")]
    of_cell = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    return CellLabelsGiven(at[rows], found.annotators[rows], found.values[rows], of_cell[at[rows]])


def annotator_pools(given: CellLabelsGiven, sizes: _Ints, rule: AnnotatorRule) -> AnnotatorPools:
    """Return the pools of every annotator beside the labels of all others.

    Parameters
    ----------
    given : CellLabelsGiven
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt of the panel.
    rule : {"mean", "median", "majority"}
        How labels become one.
    """
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


def _without_each(given: CellLabelsGiven, mine: _Ints, held: _Ints, rule: AnnotatorRule) -> Floats:
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
        out[first : first + step] = aggregate(rule, whose[other], given.values[label[other]], len(some)).labels
    return out


LEVELS: Mapping[AnnotatorRule, Level] = MappingProxyType(
    {"majority": "nominal", "median": "ordinal", "mean": "interval"}
)
"""How alpha takes the difference of two labels, by the rule that makes them one."""

_METRICS = ("recovery", "within_r", "top1_accuracy")
_OF_PICKS = ("recovery", "top1_accuracy")

_MOST = 20
"""Annotators whose figures are given one by one."""


def annotators_of(
    table: ScoreTable, found: AnnotatorLabels, judges: Sequence[JudgeAudit], settings: Settings
) -> Annotators:
    """Return what an audit says of several annotators.

    Parameters
    ----------
    table : ScoreTable
    found : AnnotatorLabels
        Of the table.
    judges : sequence of JudgeAudit
        Of the table. Agreement is that on the candidates of the judge with the most prompts.
    settings : Settings
    """
    panel = max((judge.labelling.panel for judge in judges), key=lambda one: len(one.sizes))
    given = labels_given(found, table, panel)
    pools = annotator_pools(given, panel.sizes, found.rule)
    beside: dict[str, Any] = {"reason": _why_none(given, found)}
    each = [_counted(found, given, at) for at in _busiest(given)]
    if len(pools.prompts):
        rule, sums = _rule(pools, panel, settings), prompt_sums(pools.own, pools.others, pools.sizes)
        whole = estimate(ESTIMANDS, sums, rule)
        one = AgainstOthers(**_counts(pools), **_figures(whole, pools))
        compared = {judge.judge: _judge(judge, table, found, settings) for judge in judges}
        beside = {"one_annotator": one, "judges": {name: told for name, told in compared.items() if told} or None}
        each = [_alone(found, given, pools, (sums, rule), at) for at in _busiest(given)]
    several = np.bincount(given.cells, minlength=1)
    return Annotators(
        layout="rows" if found.in_rows else "columns",
        columns=list(map(str, found.columns)),
        annotators=len(np.unique(given.annotators)),
        labels=len(given.cells),
        labelled_candidates=int((several > 0).sum()),
        several_labels=int((several > 1).sum()),
        kind=found.kind,
        rule=found.rule,
        rule_stated=found.stated,
        split=int(aggregate(found.rule, given.cells, given.values, len(several)).split.sum()),
        level=LEVELS[found.rule],
        alpha=EstimateRecord.of(_alpha(found, given, panel, settings)),
        each=each,
        **stated(**beside),
    )


def _alpha(found: AnnotatorLabels, given: CellLabelsGiven, panel: Panel, settings: Settings) -> Estimate:
    clusters = None if panel.clusters is None else panel.clusters[given.prompts]
    return krippendorff_alpha(
        given.values,
        given.cells,
        given.prompts,
        LEVELS[found.rule],
        clusters=clusters,
        confidence=settings.confidence,
    )


def _why_none(given: CellLabelsGiven, found: AnnotatorLabels) -> str:
    if len(np.unique(given.annotators)) < 2:
        return "the audited candidates have labels of one annotator alone"
    named = "column" if not found.in_rows else "annotator"
    return f"no {named} has labels of every candidate of a prompt, each labelled by another one too"


def _rule(pools: AnnotatorPools, panel: Panel, settings: Settings) -> IntervalRule:
    """Return how intervals are made: the pools of a prompt stay together."""
    clusters = pools.prompts if panel.clusters is None else panel.clusters[pools.prompts]
    return settings.rule(pools.others, clusters)


def _counts(pools: AnnotatorPools) -> dict[str, Any]:
    return {"prompts": len(np.unique(pools.prompts)), "pools": len(pools.prompts)}


def _figures(found: Mapping[str, Estimate], pools: AnnotatorPools, names: Sequence[str] = _METRICS) -> dict[str, Any]:
    """Return the records of some metrics, which count prompts, not pools."""
    prompts = len(np.unique(pools.prompts))
    return {name: EstimateRecord.of(replace(found[name], n=min(found[name].n, prompts))) for name in names}


def _judge(
    judge: JudgeAudit, table: ScoreTable, found: AnnotatorLabels, settings: Settings
) -> JudgeAgainstOthers | None:
    """Compare a judge with the labels that one annotator is compared with; None where it scored none of them."""
    panel = judge.labelling.panel
    pools = annotator_pools(labels_given(found, table, panel), panel.sizes, found.rule)
    if not len(pools.prompts):
        return None
    names = _OF_PICKS if judge.logged else _METRICS
    rule = _rule(pools, panel, settings)
    sums = prompt_sums(panel.scores[pools.cells], pools.others, pools.sizes)
    annotator = prompt_sums(pools.own, pools.others, pools.sizes)
    return JudgeAgainstOthers(
        **_counts(pools),
        **_figures(estimate(ESTIMANDS, sums, rule), pools, names),
        minus_annotator=_figures(difference(ESTIMANDS, sums, annotator, rule), pools, names),
    )


def _busiest(given: CellLabelsGiven) -> list[int]:
    """Return the annotators with the most labels, in the order of their names."""
    who, labels = np.unique(given.annotators, return_counts=True)
    most = np.argsort(-labels, kind="stable")[:_MOST]
    return sorted(who[most].tolist())


def _counted(found: AnnotatorLabels, given: CellLabelsGiven, at: int) -> AnnotatorRecord:
    return AnnotatorRecord(annotator=found.names[at], labels=int((given.annotators == at).sum()), prompts=0, pools=0)


def _alone(
    found: AnnotatorLabels,
    given: CellLabelsGiven,
    pools: AnnotatorPools,
    known: tuple[Floats, IntervalRule],
    at: int,
) -> AnnotatorRecord:
    """Return what one annotator recovers of the labels of the others."""
    mine = pools.annotators == at
    if not mine.any():
        return _counted(found, given, at)
    sums, rule = known
    own = replace(pools, prompts=pools.prompts[mine])
    return AnnotatorRecord(
        annotator=found.names[at],
        labels=int((given.annotators == at).sum()),
        **_counts(own),
        **_figures(estimate(ESTIMANDS, sums[:, mine], rule.keep(mine)), own),
    )
