"""Which prompts a curve is computed from where all of them would take long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_CELLS", "MOST_PAIRS", "Afforded", "affordable"]

MOST_CELLS = 40_000
"""Candidates, over all prompts, that a curve is computed from: 10,000 prompts of 4."""

MOST_PAIRS = 600_000
"""Pairs of candidates of a prompt, over all prompts."""


class Afforded(NamedTuple):
    """Which prompts to compute from."""

    kept: npt.NDArray[np.bool_]  # (prompts,)
    too_large: int  # prompts that were set aside before the draw: each breaks a limit alone


def affordable(
    sizes: npt.NDArray[np.int64], seed: int, *, cells: int = MOST_CELLS, pairs: int = MOST_PAIRS
) -> Afforded:
    """Return which prompts to compute from: all, or where they are too many a uniform draw of them.

    Prompts that break a limit alone are set aside. How many of the others are drawn follows from the limits and their
    mean sizes, not from which are drawn, so each has the same chance; what was drawn may exceed a limit by chance.

    Parameters
    ----------
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt.
    seed : int
        Of the draw.
    cells, pairs : int
        Limits. At least two prompts are kept whatever they hold: where all but one break a limit, the smallest two.

    Examples
    --------
    >>> int(affordable(np.full(1000, 4), 0, cells=400).kept.sum())
    100
    """
    costs = np.array([sizes, sizes * (sizes - 1) // 2])
    limits = np.array([[cells], [pairs]])
    if (costs.sum(axis=1, keepdims=True) <= limits).all():
        return Afforded(np.ones(len(sizes), dtype=bool), 0)
    left = np.flatnonzero((costs <= limits).all(axis=0))
    if len(left) < 2:
        left = np.argsort(sizes, kind="stable")[:2]
    number = int((limits[:, 0] / costs[:, left].mean(axis=1)).min())
    drawn = np.random.default_rng(seed).permutation(left)[: max(2, number)]
    kept = np.zeros(len(sizes), dtype=bool)
    kept[drawn] = True
    return Afforded(kept, len(sizes) - len(left))
