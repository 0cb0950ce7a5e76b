"""Columns of the regression on human ratings: skills from stage 1, models, judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from bonwise.factors.capabilities import CapabilityFactors
from bonwise.factors.verdict_columns import RatedCells, VerdictColumns
from bonwise.stats.sums import Floats

__all__ = ["BLOCKS", "Block", "HumanDesign"]

Block = Literal["skills", "models", "verdicts", "mean_verdict"]
"""``skills`` are ``M_m * P_p``; ``models`` has one column per model, ``verdicts`` one per judge.

``mean_verdict`` is the mean of the verdicts.
"""

BLOCKS: tuple[Block, ...] = get_args(Block)


@dataclass(frozen=True, eq=False)
class HumanDesign:
    """Makes the columns of any cell."""

    models: int
    verdicts: VerdictColumns = field(repr=False)
    skills: Floats | None = field(default=None, repr=False)
    """Features of stage 1, each of variance 1 over all cells."""
    scales: Floats | None = field(default=None, repr=False)
    """By what the features were divided."""

    def with_skills(self, capabilities: CapabilityFactors) -> HumanDesign:
        """Return the design with the features of a stage 1."""
        features = capabilities.features()
        scales = features.reshape(-1, capabilities.rank).std(axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        return HumanDesign(self.models, self.verdicts, features / scales, scales)

    def at(self, cells: RatedCells, blocks: Sequence[Block]) -> Floats:
        """Return the columns of the blocks in their order, shape (cells, columns)."""
        parts = [self._block(cells, block) for block in blocks]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(cells), 0))

    def widths(self, blocks: Sequence[Block]) -> list[int]:
        """Return how many columns each block has."""
        none = np.zeros(0, dtype=np.int64)
        return [self._block(RatedCells(none, none, none), block).shape[1] for block in blocks]

    def _block(self, cells: RatedCells, block: Block) -> Floats:
        if block == "skills":
            if self.skills is None:
                raise ValueError("no stage 1 was fitted")
            found = self.skills[cells.model, cells.prompt]
            rival = self.skills[cells.opponent, cells.prompt]
        elif block == "models":
            found, rival = np.eye(self.models)[cells.model], np.eye(self.models)[cells.opponent]
        else:
            verdicts = self.verdicts.at(cells)
            return verdicts if block == "verdicts" else verdicts.mean(axis=1, keepdims=True)
        return np.asarray(found - np.where((cells.opponent >= 0)[:, None], rival, 0.0))
