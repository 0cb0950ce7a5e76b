"""The labels of single candidates behind a judge's figures: counts, what speaks against the statement, bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Literal

from bonwise.auditing.gates import Labelled
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.suspected import FEWEST_POOLS, Suspected, few_pools
from bonwise.data.labels_in_part import LabelsInPart
from bonwise.documents.audited.cells import CellCountsRecord, LabelledCells, LabelledShareRecord, PoolsByLabelsRecord
from bonwise.report.numbers import number
from bonwise.stats.catalog import ESTIMANDS

if TYPE_CHECKING:
    from bonwise.stats.cells.diagnostics import LabelDiagnostics, LabelledShare
    from bonwise.stats.cells.results import LabelledCellFigures
    from bonwise.stats.cells.table import CellTable

__all__ = ["CellLabels"]

_WHOLE = frozenset({"value_oracle", "recovery", "hit_rate", "top1_accuracy", "kendall_tau"})
"""Metrics that need prompts labelled whole."""

_WITHOUT_LABELS = frozenset(e.name for e in ESTIMANDS if not e.on_labels)

_By = Literal["name", "top", "score"]

_STATEMENTS: Mapping[str, Literal["at random", "propensities", "model"]] = {
    "cells": "at random",
    "propensity": "propensities",
    "cells-by-score": "model",
}


@dataclass(frozen=True, eq=False)
class CellLabels:
    """The labels of single candidates behind a judge's metrics."""

    labelling: Labelling = field(repr=False)
    table: CellTable = field(repr=False)
    """Of the panel, with what is stated of who was labelled."""
    figures: LabelledCellFigures = field(repr=False)
    diagnostics: LabelDiagnostics = field(repr=False)
    bounds: Mapping[str, tuple[float, float]]
    """Of metrics that these labels cannot estimate: the ends whatever the missing labels are."""
    notes: tuple[str, ...] = ()
    """What to keep in mind."""

    @property
    def labelled(self) -> Labelled:
        """The labels behind gates, and what more of them are made of: more prompts labelled as these are."""
        found = self.labelling.panel.labelled_cells
        prompts = int((found > 0).sum())
        return Labelled(prompts, len(found) - prompts, float(found.sum()) / prompts)

    def suspected(self, metric: str) -> tuple[Suspected, ...]:
        """Return what keeps a gate on a metric from being met: few prompts that it rests on."""
        counts = self.figures.counts.get(metric)
        if counts is None or counts.pools >= FEWEST_POOLS:
            return ()
        return (few_pools(counts.pools, whole=metric in _WHOLE),)

    def record(self) -> LabelledCells:
        """Return this part of the document."""
        labelling = self.labelling
        in_part = LabelsInPart.of_panel(labelling.panel)
        kind = "cells" if labelling.stated is None else labelling.stated.kind
        return LabelledCells(
            statement=_STATEMENTS[kind],
            labels=in_part.of,
            cells=len(labelling.panel.labels),
            labels_of_whole_prompts=in_part.of - in_part.labels,
            whole_prompts=int(labelling.labelled.sum()),
            effective_prompts=float(self.figures.ess),
            counts={
                name: CellCountsRecord(cells=one.cells, pools=one.pools, pairs=one.pairs)
                for name, one in self.figures.counts.items()
                if name not in _WITHOUT_LABELS
            },
            shares=list(_shares(self.diagnostics)),
            pools=list(_pools(self.diagnostics)),
            contradictions=list(_contradictions(self.diagnostics)),
            notes=list(self.notes),
        )


def _shares(found: LabelDiagnostics) -> Iterator[LabelledShareRecord]:
    by: tuple[tuple[_By, Sequence[LabelledShare]], ...] = (
        ("name", found.by_name),
        ("top", () if found.tops is None else (found.tops,)),
        ("score", found.terciles),
    )
    for what, shares in by:
        for one in shares:
            yield LabelledShareRecord(
                by=what,
                group=one.group,
                cells=one.cells,
                share=one.share,
                difference=one.difference,
                se=one.se,
                t=one.t if isfinite(one.t) else None,
            )


def _pools(found: LabelDiagnostics) -> Iterator[PoolsByLabelsRecord]:
    for block in found.counts:
        for labels, (pools, expected) in enumerate(zip(block.pools, block.expected, strict=True)):
            yield PoolsByLabelsRecord(candidates=block.size, labels=labels, pools=pools, expected=expected)


def _contradictions(found: LabelDiagnostics) -> Iterator[str]:
    """Say of each group whose labelled share differs beyond chance by how much."""
    tops = () if found.tops is None else (found.tops,)
    for one in (*found.by_name, *tops, *found.terciles):
        if one.group in found.contradicts:
            apart = (
                f"{number(abs(one.difference), 'points')} {'more' if one.difference > 0 else 'fewer'} than of others"
            )
            yield f"{number(one.share, 'share')} of {one.group} are labelled, {apart}"
