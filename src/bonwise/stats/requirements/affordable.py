"""Which prompts a curve is computed from where all of them would take long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_CELLS", "MOST_PAIRS", "affordable"]

MOST_CELLS = 100_000
"""Candidates, over all prompts, that a curve is computed from: 25,000 prompts of 4."""

MOST_PAIRS = 2_000_000
"""Pairs of candidates of a prompt, over all prompts."""


def affordable(
    sizes: npt.NDArray[np.int64], seed: int, *, cells: int = MOST_CELLS, pairs: int = MOST_PAIRS
) -> npt.NDArray[np.bool_]:
    """Return which prompts to compute from: all, or where they are too many a uniform draw of them.

    Parameters
    ----------
    sizes : ndarray of int64, shape (prompts,)
        Candidates a prompt.
    seed : int
        Of the draw.
    cells, pairs : int
        Limits; at least two prompts are kept whatever they hold.

    Examples
    --------
    >>> affordable(np.full(1000, 4), 0, cells=400).sum()
    np.int64(100)
    """
    wanted = np.array([sizes, sizes * (sizes - 1) // 2])
    limits = np.array([[cells], [pairs]])
    if (wanted.sum(axis=1, keepdims=True) <= limits).all():
        return np.ones(len(sizes), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(sizes))
    fits = (np.cumsum(wanted[:, order], axis=1) <= limits).all(axis=0)
    kept = np.zeros(len(sizes), dtype=bool)
    kept[order[: max(2, int(fits.sum()))]] = True
    return kept
