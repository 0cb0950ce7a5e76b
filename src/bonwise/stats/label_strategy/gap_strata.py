"""Pairs drawn by the size of their gap: ties are a stratum of their own, the others are cut at quantiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.label_strategy.matched import gap_groups
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["draw_in_strata", "even_counts", "gap_strata"]

_Ints = npt.NDArray[np.int64]


def gap_strata(gaps: Floats, groups: int) -> tuple[_Ints, list[str]]:
    """Return the stratum of each pair, and the names of the strata.

    Parameters
    ----------
    gaps : ndarray of float64, shape (pairs,)
        0 or more.
    groups : int
        Strata of the pairs that do not tie, at most.

    Examples
    --------
    >>> strata, names = gap_strata(np.array([0., .1, .2, 0., .4]), 2)
    >>> strata.tolist(), names
    ([0, 1, 1, 0, 2], ['tie', '0.1 to 0.2', 'above 0.2 to 0.4'])
    """
    gaps = np.round(gaps, TIE_DECIMALS)
    apart = gaps > 0
    strata, names = np.zeros(len(gaps), dtype=np.int64), [] if apart.all() else ["tie"]
    if apart.any():
        group, ends = gap_groups(gaps[apart], groups)
        strata[apart] = group + len(names)
        names += [_between(ends[at], ends[at + 1], first=at == 0) for at in range(len(ends) - 1)]
    return strata, names


def _between(low: float, high: float, *, first: bool) -> str:
    if low == high:
        return f"{low:g}"
    return f"{low:g} to {high:g}" if first else f"above {low:g} to {high:g}"


def even_counts(sizes: _Ints, count: int) -> _Ints:
    """Share a count evenly among strata, none getting more than it holds.

    Parameters
    ----------
    sizes : ndarray of int64, shape (strata,)
    count : int
        At most their sum.

    Examples
    --------
    >>> even_counts(np.array([2, 10, 10]), 12).tolist()
    [2, 5, 5]
    """
    taken = np.zeros(len(sizes), dtype=np.int64)
    left = count
    # The smallest first: what they cannot take is there for the others.
    for behind, h in enumerate(np.argsort(sizes, kind="stable").tolist()):
        taken[h] = min(int(sizes[h]), left // (len(sizes) - behind))
        left -= int(taken[h])
    return taken


def draw_in_strata(strata: _Ints, count: int, seed: int) -> tuple[_Ints, Floats]:
    """Draw pairs without replacement, the same number of each stratum as far as it goes.

    Parameters
    ----------
    strata : ndarray of int64, shape (pairs,)
    count : int
    seed : int

    Returns
    -------
    ndarray of int64, shape (count,)
        Positions of the drawn pairs, ascending.
    ndarray of float64, shape (count,)
        Weights: 1 over the probability with which a pair of its stratum was drawn.
    """
    sizes = np.bincount(strata)
    counts = even_counts(sizes, count)
    chance = np.random.default_rng(seed)
    drawn = np.sort(
        np.concatenate(
            [chance.choice(np.flatnonzero(strata == h), size=m, replace=False) for h, m in enumerate(counts.tolist())]
        )
    ).astype(np.int64)
    mine = strata[drawn]
    return drawn, sizes[mine] / counts[mine]
