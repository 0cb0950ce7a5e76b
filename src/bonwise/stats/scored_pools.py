"""The candidates of each prompt that have a score: pools in which a cell may be blank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["ScoredPools"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoredPools:
    """The scored cells of the prompts that have two or more of them."""

    cells: _Mask
    """Which cells these are."""
    prompts: _Mask
    """Which prompts these are."""
    sizes: _Ints
    """Scored cells of each of these prompts."""

    @classmethod
    def of(cls, scored: _Mask, sizes: _Ints) -> ScoredPools:
        """Find them, given which cells are scored and how many cells each prompt has."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.bincount(owner[scored], minlength=len(sizes)).astype(np.int64)
        enough = counts >= 2
        return cls(scored & enough[owner], enough, counts[enough])

    def back(self, values: Floats) -> Floats:
        """Return values of these prompts as values of all prompts, NaN for the others."""
        found = np.full(len(self.prompts), np.nan)
        found[self.prompts] = values
        return found

    def mean(self, by_cell: Floats) -> Floats:
        """Average over the cells with a value; NaN for a prompt without one."""
        values = by_cell[self.cells]
        known = ~np.isnan(values)
        count = self._total(known.astype(float))
        total = self._total(np.where(known, values, 0.0))
        return self.back(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))

    def largest(self, by_cell: Floats) -> Floats:
        """Take the largest value; NaN for a prompt without one."""
        values = by_cell[self.cells]
        if not len(values):
            return self.back(values)
        found = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), self._starts)
        return self.back(np.where(found > -np.inf, found, np.nan))

    @property
    def _starts(self) -> _Ints:
        starts: _Ints = np.cumsum(self.sizes) - self.sizes
        return starts

    def _total(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self._starts) if len(values) else values
