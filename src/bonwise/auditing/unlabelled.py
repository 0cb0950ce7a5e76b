"""What is not labelled behind a judge's figures: how many, how others differ, what the gaps could hide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from bonwise.arrays import Floats
from bonwise.auditing import bounds, cell_table, gates, result_labels, settings
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result import Balance
from bonwise.auditing.suspected import Suspected, few_pools
from bonwise.report.numbers import number
from bonwise.stats import catalog, laws, support
from bonwise.stats.top_of_scores import top_of_scores
from bonwise.table.checks import Unpicked
from bonwise.table.panel import MAY_LACK, LabelsInPart, Panel

if TYPE_CHECKING:
    from bonwise.auditing import cell_intervals, cell_table

_WHOLE = frozenset({"value_oracle", "recovery", "hit_rate", "top1_accuracy", "kendall_tau"})
"""Metrics that need prompts labelled whole."""

_WITHOUT_LABELS = frozenset(e.name for e in catalog.ESTIMANDS if not e.on_labels)

_STATEMENTS: Mapping[str, Literal["at random", "propensities", "model"]] = {
    "cells": "at random",
    "propensity": "propensities",
    "cells-by-score": "model",
}


@dataclass(frozen=True, eq=False)
class CellLabels:
    """The labels of single candidates behind a judge's metrics."""

    labelling: Labelling = field(repr=False)
    table: cell_table.CellTable = field(repr=False)
    """Of the panel, with what is stated of who was labelled."""
    figures: cell_intervals.LabelledCellFigures = field(repr=False)
    diagnostics: cell_table.LabelDiagnostics = field(repr=False)
    bounds: Mapping[str, tuple[float, float]]
    """Of metrics that these labels cannot estimate: the ends whatever the missing labels are."""
    notes: tuple[str, ...] = ()
    """What to keep in mind."""

    @property
    def labelled(self) -> gates.Labelled:
        """The labels behind gates, and what more of them are made of: more prompts labelled as these are."""
        found = self.labelling.panel.labelled_cells
        prompts = int((found > 0).sum())
        return gates.Labelled(prompts, len(found) - prompts, float(found.sum()) / prompts)

    def suspected(self, metric: str) -> tuple[Suspected, ...]:
        """Return what keeps a gate on a metric from being met: few prompts that it rests on."""
        counts = self.figures.counts.get(metric)
        if counts is None or counts.pools >= support.FEWEST:
            return ()
        return (few_pools(counts.pools, whole=metric in _WHOLE),)

    def record(self) -> result_labels.LabelledCells:
        """Return this part of the document."""
        labelling = self.labelling
        in_part = LabelsInPart.of_panel(labelling.panel)
        kind = "cells" if labelling.stated is None else labelling.stated.kind
        return result_labels.LabelledCells(
            statement=_STATEMENTS[kind],
            labels=in_part.of,
            cells=len(labelling.panel.labels),
            labels_of_whole_prompts=in_part.of - in_part.labels,
            whole_prompts=int(labelling.labelled.sum()),
            effective_prompts=float(self.figures.ess),
            counts={name: count for name, count in self.figures.counts.items() if name not in _WITHOUT_LABELS},
            shares=self.diagnostics.shares,
            pools=list(_pools(self.diagnostics)),
            contradictions=list(_contradictions(self.diagnostics)),
            notes=list(self.notes),
        )


def _pools(found: cell_table.LabelDiagnostics) -> Iterator[result_labels.PoolsByLabelsRecord]:
    for block in found.counts:
        for labels, (pools, expected) in enumerate(zip(block.pools, block.expected, strict=True)):
            yield result_labels.PoolsByLabelsRecord(
                candidates=block.size, labels=labels, pools=pools, expected=expected
            )


def _contradictions(found: cell_table.LabelDiagnostics) -> Iterator[str]:
    """Say of each group whose labelled share differs beyond chance by how much."""
    for share in found.shares:
        if share.group in found.contradicts:
            direction = "more" if share.difference > 0 else "fewer"
            apart = f"{number(abs(share.difference), 'points')} {direction} than of others"
            yield f"{number(share.share, 'share')} of {share.group} are labelled, {apart}"


_BOUNDED = ("value_random", "value_judge", "value_oracle", "recovery", "gain")


@dataclass(frozen=True, slots=True)
class Picked:
    """How many of the pools of a log have a pick."""

    pools: int
    """Pools of two or more candidates."""
    without: int
    """Those of which nothing was picked: owed, or nothing scored."""
    left_out: int = 0
    """Those of them that are in no figure."""
    unpicked: Unpicked = "random"
    """What the others count as."""
    scores: Panel | None = field(default=None, repr=False)
    """What was picked by, of the same prompts; None where the log does not hold it."""

    @property
    def complete(self) -> bool:
        """Whether so few pools lack a pick that the figures describe the whole log."""
        return self.left_out <= MAY_LACK * self.pools

    @property
    def scope(self) -> str:
        """Which pools the figures describe, as a sentence; empty where it is all of them."""
        counted = self.without - self.left_out
        if self.complete and counted > MAY_LACK * self.pools:
            of = "a random pick" if self.unpicked == "random" else "their first candidate"
            return f"{counted:,} of {self.pools:,} pools have no pick: {of} counts in its place."
        if self.complete:
            return ""
        return (
            f"Figures describe the {self.pools - self.left_out:,} of {self.pools:,} pools that have a pick; the "
            "others have none, and the figures may not hold for them."
        )

    @property
    def unsettled(self) -> str:
        """Why no gate on all pools can pass; empty where one can."""
        if self.complete:
            return ""
        return (
            f"{self.left_out:,} of {self.pools:,} pools have no pick, so no gate on all of them can pass; "
            "finish the run, or pick for the others"
        )


def balance(labelling: Labelling, confidence: float, *, of_scores: bool = True) -> list[Balance]:
    """Compare the judge's scores on labelled and unlabelled prompts (Welch intervals); of picks, the pools alone."""
    panel, labelled = labelling.panel, labelling.labelled
    tops = top_of_scores(panel.scores, panel.sizes, panel.ranked)
    features: Mapping[str, Floats] = {
        "mean score": tops.mean,
        "spread of scores": tops.spread,
        "margin of the top score": tops.margin,
        "share tied at the top": (tops.tied > 1).astype(float),
        "candidates": panel.sizes.astype(float),
    }
    return [
        _compare(name, values[labelled], values[~labelled], confidence)
        for name, values in features.items()
        if of_scores or name == "candidates"
    ]


def _compare(feature: str, left: Floats, right: Floats, confidence: float) -> Balance:
    means = float(left.mean()), float(right.mean())
    low, high = _welch(left, right, confidence) or (None, None)
    gap = means[0] - means[1]
    return Balance(feature=feature, labelled=means[0], unlabelled=means[1], difference=gap, low=low, high=high)


def _welch(left: Floats, right: Floats, confidence: float) -> tuple[float, float] | None:
    if min(len(left), len(right)) < 2:
        return None
    gap = float(left.mean() - right.mean())
    parts = np.array([left.var(ddof=1) / len(left), right.var(ddof=1) / len(right)])
    if parts.sum() == 0:
        return gap, gap
    df = parts.sum() ** 2 / (parts[0] ** 2 / (len(left) - 1) + parts[1] ** 2 / (len(right) - 1))
    half = laws.student_quantile(confidence, float(df)) * float(np.sqrt(parts.sum()))
    return gap - half, gap + half


def worst_case(panel: Panel) -> dict[str, tuple[float, float]]:
    """Bound values, recovery and gain whatever the missing labels are; empty where labels have no known scale."""
    ends = settings.label_range(panel.labels)
    if not np.isfinite(ends).all():
        return {}
    found = bounds.cell_bounds(cell_table.CellTable(panel.sizes, panel.ranked, panel.labels), ends)
    return {name: found[name] for name in _BOUNDED if name in found}
