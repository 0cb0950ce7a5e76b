"""What the labelled cells of a table say: figures, and how much stands behind each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bonwise.stats.cells.table import Ints
from bonwise.stats.estimate import Estimate
from bonwise.stats.sums import Floats

__all__ = ["CellCounts", "LabelledCellFigures"]


class CellCounts(NamedTuple):
    """Labelled cells, pools and pairs of cells that a figure rests on."""

    cells: int
    pools: int
    pairs: int


@dataclass(frozen=True, eq=False)
class LabelledCellFigures:
    """Figures of one judge from every labelled cell."""

    metrics: Mapping[str, Estimate]
    """Every metric of the catalogue, in its order; one that is refused carries the reason."""
    counts: Mapping[str, CellCounts]
    """Behind each metric."""
    gain_parts: Floats | None
    """What each prompt contributes to the mean of J - R and of M - R; None where the figure is refused."""
    oracle_parts: Floats | None
    """What each prompt contributes to the mean of J - R and of M - R; None where the figure is refused."""
    ess: float
    """Complete pools of equal chance to be complete that would say as much as those there are."""
    notes: tuple[str, ...]
    """Plain sentences on what the figures can bear."""
    contributions: Mapping[str, Floats] = field(repr=False)
    """Of the metrics that are means of them: what each prompt contributes."""
    units: Ints = field(repr=False)
    """Code of the prompt or cluster that is the unit of the intervals."""
    score_sums: Floats = field(repr=False)
    """Of the scores; rows that need labels say nothing."""
