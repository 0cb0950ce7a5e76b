"""Several annotators in an audit: how far they agree, and how good one of them would be as a judge of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from bonwise.auditing.annotator_pools import AnnotatorPools, CellLabelsGiven, annotator_pools, labels_given
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.settings import Settings
from bonwise.data.annotator_rules import aggregate
from bonwise.data.annotators import AnnotatorLabels
from bonwise.data.checks import AnnotatorRule
from bonwise.data.panel import Panel
from bonwise.data.table import ScoreTable
from bonwise.documents.audited.annotators import AgainstOthers, AnnotatorRecord, Annotators, JudgeAgainstOthers
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import given as stated
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.krippendorff import Level, krippendorff_alpha
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["LEVELS", "annotators_of"]

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
