"""How often further judges would pick another candidate than this one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bonwise.stats.scored_pools import ScoredPools
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["disagreement"]

_Ints = npt.NDArray[np.int64]


def disagreement(scores: Floats, sizes: _Ints, others: Sequence[Floats]) -> Floats:
    """Measure how far further judges would pick other candidates than this one.

    1 minus the mean over the other judges of the probability that both pick the same candidate, each
    breaking its ties at random: ``sum_i w_i w'_i`` with ``w`` equal over a judge's top set. So a judge
    that ties two candidates agrees with itself by one half only: two coin tosses need not fall alike.

    Parameters
    ----------
    scores : ndarray of float64, shape (cells,)
        This judge's scores, grouped by prompt; NaN where unscored.
    sizes : ndarray of int64, shape (prompts,)
    others : sequence of ndarray, each of shape (cells,)
        Scores of the same cells by further judges; one that scored fewer than two candidates of a
        prompt has no say on it.

    Returns
    -------
    ndarray, shape (prompts,)
        In [0, 1]; NaN where no other judge has a say.

    Examples
    --------
    >>> disagreement(np.array([.9, .5]), np.array([2]), [np.array([.9, .9]), np.array([.1, .8])]).tolist()
    [0.75]
    """
    mine = _picks(scores, sizes)
    starts = np.cumsum(sizes) - sizes
    total, heard = np.zeros(len(sizes)), np.zeros(len(sizes))
    for other in others:
        same = np.add.reduceat(mine * _picks(other, sizes), starts)
        says = ~np.isnan(same)
        total += np.where(says, same, 0.0)
        heard += says
    found: Floats = 1 - np.divide(total, heard, out=np.full(len(sizes), np.nan), where=heard > 0)
    return found


def _picks(scores: Floats, sizes: _Ints) -> Floats:
    """Return the probability of each cell to be picked, NaN throughout a prompt with fewer than two scores."""
    scores, sizes = np.round(np.asarray(scores, dtype=float), TIE_DECIMALS), np.asarray(sizes, dtype=np.int64)
    pools = ScoredPools.of(~np.isnan(scores), sizes)
    best = np.repeat(pools.largest(scores), sizes)
    top = pools.cells & (scores == best)
    tied = np.add.reduceat(top.astype(float), np.cumsum(sizes) - sizes)
    return np.where(np.isnan(best), np.nan, top / np.repeat(np.maximum(tied, 1), sizes))
