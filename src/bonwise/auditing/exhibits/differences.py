"""How far apart the candidates of a prompt are, and how often they are exactly equal (Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bonwise.documents.exhibits import DifferencesOf
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["differences"]

_Ints = npt.NDArray[np.int64]

_BINS_A_SIDE = 20
_SORTED_FROM = 2_000  # candidates: from here on, sorting costs less than looking at each pair


def differences(values: Floats, sizes: _Ints) -> DifferencesOf | None:
    """Count the differences between any two candidates of a prompt, exact ties apart.

    A pair counts in both directions, so the histogram is symmetric about 0.

    Parameters
    ----------
    values : ndarray of float64, shape (cells,)
        Scores or labels grouped by prompt, no NaN; they tie after rounding to nine decimals.
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt.

    Returns
    -------
    DifferencesOf or None
        None without a prompt.

    Examples
    --------
    >>> found = differences(np.array([.5, .5, .9]), np.array([3]))
    >>> found.ties, found.pairs, sum(found.counts), found.largest
    (1, 3, 4, 0.4)
    """
    if not len(sizes):
        return None
    values = np.round(values, TIE_DECIMALS)
    starts = np.cumsum(sizes) - sizes
    reach = float((np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)).max())
    width = _nice(reach / _BINS_A_SIDE) if reach > 0 else 1 / _BINS_A_SIDE
    side = _bin(np.array([reach]), width)[0]
    large = sizes >= _SORTED_FROM
    counts, ties = _single_counts(values[np.repeat(~large, sizes)], sizes[~large], width, side)
    for start, size in zip(starts[large].tolist(), sizes[large].tolist(), strict=True):
        more, tied = _sorted_counts(values[start : start + size], width, side)
        counts, ties = counts + more, ties + tied
    both = np.concatenate([counts[:0:-1], [2 * counts[0]], counts[1:]])
    edges = (np.arange(-side, side + 2) - 0.5) * width
    return DifferencesOf(
        edges=np.round(edges, 12).tolist(),
        counts=both.tolist(),
        ties=int(ties),
        pairs=int((sizes * (sizes - 1) // 2).sum()),
        # 0.9 - 0.5 is not quite 0.4.
        largest=round(reach, TIE_DECIMALS),
    )


def _single_counts(values: Floats, sizes: _Ints, width: float, side: int) -> tuple[_Ints, int]:
    """Count untied pairs by bin, and ties, one pair after the other."""
    counts, ties = np.zeros(side + 1, dtype=np.int64), 0
    for apart in _apart(values, sizes):
        untied = apart[apart > 0]
        ties += len(apart) - len(untied)
        counts += np.bincount(_bin(untied, width), minlength=side + 1)
    return counts, ties


def _sorted_counts(values: Floats, width: float, side: int) -> tuple[_Ints, int]:
    """Count the same in one pool: in rising order the bins of a value with all later ones rise too."""
    rising = np.sort(values)
    here = np.arange(len(rising))
    within = []
    for most in range(side + 1):
        # Bisection for the first that lies beyond a bin, in the very arithmetic that bins a single pair.
        low, high = here + 1, np.full(len(rising), len(rising))
        while (low < high).any():
            middle = (low + high) // 2
            near = (_bin(rising[np.minimum(middle, len(rising) - 1)] - rising, width) <= most) & (low < high)
            low, high = np.where(near, middle + 1, low), np.where(near | (low >= high), high, middle)
        within.append(int((low - here - 1).sum()))
    alike = np.unique(rising, return_counts=True)[1]
    ties = int((alike * (alike - 1) // 2).sum())
    counts = np.diff([0, *within])
    counts[0] -= ties
    return counts, ties


def _apart(values: Floats, sizes: _Ints) -> Iterator[Floats]:
    """Yield the distances of candidates that stand d apart in their pool, for d = 1, 2 and so on."""
    first = np.arange(len(values))
    last = np.repeat(np.cumsum(sizes) - 1, sizes)
    for d in range(1, int(sizes.max(initial=1))):
        # What is too near the end of its pool for this distance is so for every greater one.
        first = first[first + d <= last[first]]
        yield np.abs(values[first + d] - values[first])


def _bin(apart: Floats, width: float) -> _Ints:
    # A difference on an edge, as 0.05 on bins of 0.02, falls outwards on both sides whatever the rounding.
    return np.floor(apart / width + 0.5 + 1e-6).astype(np.int64)


def _nice(width: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is no smaller."""
    unit = 10.0 ** np.floor(np.log10(width))
    return float(next(step * unit for step in (1, 2, 5, 10) if step * unit >= width * (1 - 1e-9)))
