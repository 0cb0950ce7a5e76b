"""Does a judge gain anything at all, where single cells are labelled? The test that deals those labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bonwise.stats.cells.table import CellTable, Ints, PoolBlock
from bonwise.stats.no_gain import Dealt, DealtLabels, dealt, z_of_dealt
from bonwise.stats.sums import Floats

__all__ = ["DealtCells", "dealt_cells"]

_BETWEEN = 0.5  # variance of a contrast between prompts, in units of that within: only the power depends on it


@dataclass(frozen=True, eq=False)
class DealtCells(DealtLabels):
    """The test of no gain on labelled cells, made when it is asked for.

    The parameters are those of `bonwise.stats.no_gain.DealtLabels`; a label is NaN where there is none.
    """

    @cached_property
    def z(self) -> float | None:
        """The gain in standard deviations of dealt labels; None where no prompt has a top and another label."""
        found, prompts = dealt_cells(CellTable(self.sizes, self.scores, self.labels))
        if not len(prompts):
            return None
        return z_of_dealt(found, None if self.clusters is None else self.clusters[prompts])


def dealt_cells(table: CellTable) -> tuple[Dealt, Ints]:
    """Return the moments of every prompt's contrast when its labels are dealt to its labelled candidates at random.

    The contrast D of a prompt is the mean label of the labelled candidates with the top score less that of the other
    labelled ones. It counts by ``(1 - a/K) / (1/2 + 1/lt - 1/a + 1/ln - 1/(K - a))``, a function of counts alone: K
    candidates, a of them at the top, lt and ln labelled there and elsewhere.

    Parameters
    ----------
    table : CellTable

    Returns
    -------
    moments : Dealt
    prompts : ndarray of int64
        Those with a label at the top and one elsewhere.

    Examples
    --------
    >>> table = CellTable(np.array([3]), np.array([.9, .1, .1]), np.array([1., np.nan, 0.]))
    >>> found, prompts = dealt_cells(table)
    >>> [round(float(one[0]), 4) for one in found]  # D is 1 or -1, and counts 2/3
    [0.6667, 0.4444, 0.0]
    """
    parts = [_of_block(block) for block in table.blocks]
    gain, variance, third = (np.concatenate([part[0][at] for part in parts]) for at in range(3))
    return Dealt(gain, variance, third), np.concatenate([part[1] for part in parts])


def _of_block(block: PoolBlock) -> tuple[Dealt, Ints]:
    tops, others = (block.A & block.L).sum(axis=1), (~block.A & block.L).sum(axis=1)
    used = np.flatnonzero((tops > 0) & (others > 0))
    L, labelled = block.L[used], block.labelled[used]
    if not used.size:
        return Dealt(np.zeros(0), np.zeros(0), np.zeros(0)), block.prompts[used]
    found = dealt(block.S[used][L], block.O[used][L], labelled)
    # That is of the mean at the top less that of all labelled candidates, which is ln / l of the contrast.
    k: Floats = _weights(block, used, tops[used], others[used]) * labelled / others[used]
    return Dealt(k * found.gain, k**2 * found.variance, k**3 * found.third), block.prompts[used]


def _weights(block: PoolBlock, used: Ints, tops: Ints, others: Ints) -> Floats:
    a, K = block.tops[used].astype(np.float64), float(block.K)
    found: Floats = (1 - a / K) / (_BETWEEN + 1 / tops - 1 / a + 1 / others - 1 / (K - a))
    return found
