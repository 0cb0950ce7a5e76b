"""Of the pairs that the raw scores tie: how often the calibrated scores order them as the labels do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["tie_break_agreement"]

_Ints = npt.NDArray[np.int64]


def tie_break_agreement(
    raw: Floats, calibrated: Floats, labels: Floats, sizes: _Ints, *, confidence: float
) -> Estimate:
    """Estimate the agreement on the pairs of candidates that a calibration tells apart and the raw scores do not.

    Over pairs of one prompt with equal raw scores, unequal calibrated scores and unequal labels: the share on which
    the two signs agree. Guessing has 0.5.

    Parameters
    ----------
    raw, calibrated, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    confidence : float

    Returns
    -------
    Estimate
        With the jackknife's interval over prompts, `n` being the prompts with such a pair.

    Examples
    --------
    >>> raw, labels = np.array([.5, .5, .7, .7]), np.array([1., 0., 0., 1.])
    >>> tie_break_agreement(raw, np.array([.6, .4, .9, .8]), labels, np.array([2, 2]), confidence=0.95).estimate
    0.5
    """
    raw, calibrated, labels = (np.round(values, TIE_DECIMALS) for values in (raw, calibrated, labels))
    agree, pairs = _pairs(raw, calibrated, labels, sizes)
    n, total, decided = int(np.count_nonzero(pairs)), float(agree.sum()), float(pairs.sum())
    if not decided:
        return Estimate.undefined("undefined: needs a tie that is broken where labels differ", n)
    rest = decided - pairs
    left_out = np.divide(total - agree, rest, out=np.full(len(pairs), np.nan), where=rest > 0)
    se = float(np.sqrt((len(pairs) - 1) * left_out.var()))
    return from_jackknife(total / decided, se, n, (0.0, 1.0), confidence, exact=None)


def _pairs(raw: Floats, calibrated: Floats, labels: Floats, sizes: _Ints) -> tuple[Floats, Floats]:
    """Count by prompt the pairs of the same sign, and all pairs."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    agree, pairs = np.zeros(len(sizes)), np.zeros(len(sizes))
    for apart in range(1, int(sizes.max())):
        tied = (owner[apart:] == owner[:-apart]) & (raw[apart:] == raw[:-apart])
        at = np.flatnonzero(tied)
        signs = np.sign(calibrated[at + apart] - calibrated[at]) * np.sign(labels[at + apart] - labels[at])
        pairs += np.bincount(owner[at], weights=signs != 0, minlength=len(sizes))
        agree += np.bincount(owner[at], weights=signs > 0, minlength=len(sizes))
    return agree, pairs
