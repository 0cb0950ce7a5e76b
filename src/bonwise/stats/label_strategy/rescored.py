"""Scores changed: cut into bins, or their ties at the top broken by comparisons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.label_strategy.borda import Pairs, borda
from bonwise.stats.sums import TIE_DECIMALS, Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["between_top", "quantised", "tie_broken"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]

_STEP = 1e-6
"""By how much a rank among tied candidates moves a score, in the smallest gap of scores: enough to order, no more."""


def quantised(scores: Floats, bins: int, low: float, high: float) -> Floats:
    """Cut scores into bins of equal width; each becomes the middle of its bin.

    Parameters
    ----------
    scores : ndarray of float64
    bins : int
        1 or more.
    low, high : float
        Range of the scores; its upper end belongs to the last bin.

    Examples
    --------
    >>> quantised(np.array([0., .04, .05, 1.]), 20, 0., 1.).tolist()
    [0.025, 0.025, 0.075, 0.975]
    """
    if high <= low:
        return np.full(len(scores), low)
    # Rounded first: 0.15 * 20 is a hair below 3.
    at = np.floor(np.round((scores - low) / (high - low) * bins, TIE_DECIMALS)).clip(0, bins - 1)
    middles: Floats = np.round(low + (at + 0.5) * (high - low) / bins, TIE_DECIMALS)
    return middles


def between_top(scores: Floats, sizes: _Ints, pairs: Pairs) -> _Mask:
    """Return which pairs are of two candidates that share the highest score of their prompt."""
    top = at_top(scores, sizes)
    found: _Mask = top[pairs.i] & top[pairs.j]
    return found


def tie_broken(scores: Floats, sizes: _Ints, pairs: Pairs, values: Floats) -> Floats:
    """Order the candidates that share the highest score by the verdicts on their own pairs, round robin.

    Parameters
    ----------
    scores : ndarray of float64, shape (cells,)
        Grouped by prompt.
    sizes : ndarray of int64, shape (prompts,)
    pairs : Pairs
        Every pair of candidates that share the highest score, and any others, which are passed over.
    values : ndarray of float64, shape (pairs,)
        What candidate `i` earned.

    Returns
    -------
    ndarray of float64, shape (cells,)
        The scores in units of the smallest gap between two of them, those at the top raised by next to nothing in
        the order of what the candidates earned: correlations stay those of the scores, on whatever scale these were
        written; order and ties do not.

    Examples
    --------
    >>> pairs = Pairs(np.zeros(1, int), np.array([0]), np.array([1]))
    >>> tie_broken(np.array([9., 9., 1.]), np.array([3]), pairs, np.array([0.])).round(5).tolist()
    [1.125, 1.125, 0.125]
    >>> int(tie_broken(np.array([9., 9., 1.]), np.array([3]), pairs, np.array([0.])).argmax())
    1
    """
    kept = between_top(scores, sizes, pairs)
    earned = borda(pairs.some(kept), values[kept], len(scores))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    top = np.flatnonzero(at_top(scores, sizes))
    out = _in_gaps(scores)
    # Where the scores are huge beside their gaps, a step has to be one that such a number can take.
    step = max(_STEP, 4 * float(np.spacing(np.abs(out).max(initial=0.0))))
    out[top] += step * _ranks(owner[top], earned[top])
    return out


def _in_gaps(scores: Floats) -> Floats:
    """Return scores in units of the smallest gap between two that do not tie, so that a step survives rounding."""
    rounded = np.round(scores, TIE_DECIMALS)
    gap = float(np.diff(np.unique(rounded)).min(initial=np.inf))
    found: Floats = rounded / gap if np.isfinite(gap) else rounded
    return found


def _ranks(owner: _Ints, values: Floats) -> Floats:
    """Return the rank of each value among those of its owner, from 0; equal values share one."""
    order = np.lexsort((values, owner))
    owners, ordered = owner[order], values[order]
    new = np.diff(owners, prepend=-1) != 0
    risen = (np.diff(ordered, prepend=np.nan) > 0) & ~new
    steps = np.cumsum(risen)
    ranks = np.empty(len(values))
    ranks[order] = steps - np.repeat(steps[new], np.diff(np.flatnonzero(np.append(new, True))))
    return ranks
