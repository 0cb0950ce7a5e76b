"""A judge's scores with labels on some of the cells: what the statistics of labelled cells start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["Bools", "CellTable", "Ints", "PoolBlock"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PoolBlock:
    """The prompts with one number of candidates, K."""

    prompts: Ints
    """Their positions in the table."""
    cells: Ints
    """Positions of their cells."""
    S: Floats
    """Scores, and labels with 0 where there is none."""
    O: Floats
    """Scores, and labels with 0 where there is none."""
    L: Bools
    """Whether a cell is labelled; whether its score is the highest of its prompt."""
    A: Bools
    """Whether a cell is labelled; whether its score is the highest of its prompt."""

    @property
    def K(self) -> int:  # noqa: N802 - the letter of the paper
        """Candidates of each prompt."""
        return int(self.S.shape[1])

    @cached_property
    def labelled(self) -> Ints:
        """Number of labelled cells of each prompt."""
        found: Ints = self.L.sum(axis=1)
        return found

    @cached_property
    def tops(self) -> Ints:
        """Number of candidates with the highest score of each prompt."""
        found: Ints = self.A.sum(axis=1)
        return found

    @cached_property
    def complete(self) -> Bools:
        """Whether all cells of a prompt are labelled."""
        found: Bools = self.labelled == self.K
        return found

    @cached_property
    def contrast(self) -> Floats:
        """Weights c that make J - R of the labels of a prompt; exactly 0 where the judge ties all candidates."""
        c: Floats = self.A / self.tops[:, None] - 1 / self.K
        c[self.tops == self.K] = 0.0
        return c


@dataclass(frozen=True, eq=False)
class CellTable:
    """One judge's scores on prompts where it scored every candidate, and the labels of some cells.

    Examples
    --------
    >>> table = CellTable(np.array([2, 2]), np.array([.9, .1, .5, .5]), np.array([1., np.nan, 0., 1.]))
    >>> [int(block.labelled.sum()) for block in table.blocks]
    [3]
    """

    sizes: Ints
    """Candidates of each prompt, 2 or more; cells lie end to end, prompt after prompt."""
    scores: Floats
    labels: Floats
    """NaN where there is none."""
    others: tuple[Floats, ...] = ()
    """Scores of further judges, NaN where one did not score."""
    names: Ints | None = None
    """Code of each cell's candidate name, where candidates are named."""
    propensities: Floats | None = None
    """Probability with which a cell came to be labelled, independently of others; None where all cells had the same.

    """
    fitted: bool = False
    """Whether propensities are to be fitted from scores and names."""
    clusters: Ints | None = None
    """Code of the cluster of each prompt."""

    @property
    def prompts(self) -> int:
        """Number of prompts."""
        return len(self.sizes)

    @cached_property
    def owners(self) -> Ints:
        """Position of the prompt of each cell."""
        return np.repeat(np.arange(self.prompts), self.sizes)

    @cached_property
    def labelled(self) -> Bools:
        """Whether a cell is labelled, shape (cells,)."""
        return ~np.isnan(self.labels)

    @cached_property
    def units(self) -> Ints:
        """Code of the unit of each prompt, from 0 without gaps: its cluster, or the prompt itself."""
        if self.clusters is None:
            return np.arange(self.prompts)
        return np.unique(self.clusters, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def blocks(self) -> tuple[PoolBlock, ...]:
        """The prompts by number of candidates, the smallest first."""
        starts = np.cumsum(self.sizes) - self.sizes
        scores, labels = np.round(self.scores, TIE_DECIMALS), np.round(self.labels, TIE_DECIMALS)
        found = []
        for size in np.unique(self.sizes).tolist():
            prompts = np.flatnonzero(self.sizes == size)
            cells = starts[prompts][:, None] + np.arange(size)
            S, O = scores[cells], labels[cells]
            L = ~np.isnan(O)
            found.append(PoolBlock(prompts, cells, S, np.where(L, O, 0.0), L, S == S.max(axis=1, keepdims=True)))
        return tuple(found)
