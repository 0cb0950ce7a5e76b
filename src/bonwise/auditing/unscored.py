"""The candidates that a judge left without a score: how many, why, and what they cost the picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import UnscoredCandidates
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted, estimate, interval, listed_counts
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation, unscored
from bonwise.table import cell_scores, score_table
from bonwise.table.panel import Panel

__all__ = ["NOTHING_LOST", "LostScores", "unscored_of"]

_MOVES = 0.02
"""Recovery that unscored candidates cost, from which the verdict says so, ..."""

_TOUCHES = 0.05
"""... as it does where this share of the prompts has one."""

_RECOVERY = next(one for one in catalog.VALUES if one.name == "recovery")


@dataclass(frozen=True, eq=False)
class LostScores:
    """What is known of the candidates without a score."""

    record: UnscoredCandidates | None = None
    metrics: Mapping[str, estimand.Estimate] = field(default_factory=dict)
    sentence: str = ""
    """For the verdict; empty where it does not matter."""


NOTHING_LOST = LostScores()


def unscored_of(labelling: Labelling, table: score_table.ScoreTable, settings: Settings) -> LostScores:
    """Return what the candidates without a score are, and what they cost; nothing where every one has one."""
    panel = labelling.panel
    lost = np.isnan(panel.scores)
    if not lost.any():
        return NOTHING_LOST
    others = panel.keep(labelling.labelled & (panel.scored_cells == panel.sizes))
    of_others = _recovery(others, settings).with_method(labelling.method) if len(others.sizes) else None
    record = UnscoredCandidates(
        candidates=int(lost.sum()),
        prompts=int((panel.scored_cells < panel.sizes).sum()),
        prompts_without_scores=int((panel.scored_cells == 0).sum()),
        reasons=said
        if (said := cell_scores.unscored_reasons(table, panel, lost)).keys() != {cell_scores.NOT_SAID}
        else {},
        **given(recovery_of_others=None if of_others is None else EstimateRecord.of(of_others)),
    )
    metrics = _metrics(labelling, settings)
    return LostScores(record, metrics, _sentence(record, metrics["unscored_cost"], of_others, labelling))


def _metrics(labelling: Labelling, settings: Settings) -> dict[str, estimand.Estimate]:
    panel = labelling.panel
    sums = replace(panel, labels=np.zeros(len(panel.scores))).sums()
    metrics = estimation.estimate(catalog.LOSSES, sums, settings.rule(np.zeros(0), panel.clusters))
    if labelling.method != "complete" or panel.weights is not None:
        needs = "labels of all prompts" if panel.weights is None else "prompts that weigh alike"
        cost = estimand.Estimate.undefined(f"undefined: needs {needs}", len(panel.sizes))
        return {**metrics, "unscored_cost": cost.with_method(labelling.method)}
    cost = unscored.unscored_cost(
        panel.scores,
        panel.labels,
        panel.sizes,
        confidence=settings.confidence,
        seed=settings.seed,
        clusters=panel.clusters,
    )
    return {**metrics, "unscored_cost": cost}


def _recovery(panel: Panel, settings: Settings) -> estimand.Estimate:
    rule = settings.rule(panel.labels, panel.clusters)
    return estimation.estimate([_RECOVERY], panel.sums(), rule)["recovery"]


def _sentence(
    record: UnscoredCandidates, cost: estimand.Estimate, of_others: estimand.Estimate | None, labelling: Labelling
) -> str:
    prompts = len(labelling.panel.sizes)
    moves = cost.estimate is not None and abs(cost.estimate) > _MOVES
    if not moves and record.prompts <= _TOUCHES * prompts:
        return ""
    why = f" ({listed_counts(record.reasons.items())})" if record.reasons else ""
    told = f"{counted(record.candidates, 'candidate')} in {record.prompts:,} of {counted(prompts, 'prompt')} "
    told += f"{'has' if record.candidates == 1 else 'have'} no score{why} and cannot be picked"
    if cost.estimate is not None:
        ends = "" if cost.low is None else f" {interval(cost, 'points', sign=True)}"
        told += f": scored like the others they would change recovery by {estimate(cost, 'points', sign=True)}{ends}"
    if of_others is None or of_others.estimate is None:
        return f"{told}."
    ends = "" if of_others.low is None else f" {interval(of_others, 'share')}"
    return f"{told}; on the prompts with all scores recovery is {estimate(of_others, 'share')}{ends}."
