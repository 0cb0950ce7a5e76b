"""Shares of weighted pairs, and their differences, clustered by prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import Exact
from bonwise.stats.share_laws import Logit
from bonwise.stats.sums import Floats

__all__ = ["Share", "mean_difference", "pair_share", "share_difference"]

_Ints = npt.NDArray[np.int64]


class Share(NamedTuple):
    """A share of some pairs, each of shape (pairs,)."""

    hit: Floats  # 1, 0, or 1/2 for a tie; anything where it does not count
    counted: Floats  # 1 where the pair counts, 0 where not


def pair_share(share: Share, prompt: _Ints, confidence: float, weights: Floats | None = None) -> Estimate:
    """Estimate a share, clustered by prompt.

    Parameters
    ----------
    share : Share
    prompt : ndarray of int64, shape (pairs,)
    confidence : float
        Two-sided, in (0, 1).
    weights : ndarray of float64, shape (pairs,), optional
        1 over the probability with which the pair was drawn; 1 where none are given.

    Examples
    --------
    >>> found = pair_share(Share(np.array([1., 0, 1, 1]), np.ones(4)), np.array([0, 0, 1, 2]), 0.95)
    >>> found.estimate, found.n
    (0.75, 3)
    """
    top, base = _sums(share, prompt, weights)
    n = int(np.count_nonzero(base))
    if not n:
        return Estimate.undefined("undefined: no such pair", 0)
    top, base = top[base > 0], base[base > 0]
    value = min(max(float(top.sum() / base.sum()), 0.0), 1.0)
    scatter = Scatter.without(_ratio(top.sum() - top, base.sum() - base))
    stretch = float(base.max() / base.mean())
    law = Logit(value, scatter.se, n - 1) if 0 < value < 1 else None
    exact = partial(Exact, value, n, (0.0, 1.0), stretch)
    return from_jackknife(value, scatter, n, (0.0, 1.0), confidence, exact=exact, law=law)


def share_difference(
    first: Share, second: Share, prompt: _Ints, confidence: float, weights: Floats | None = None
) -> Estimate:
    """Estimate the first share minus the second, paired by prompt; the other parameters as in `pair_share`."""
    sides = [_sums(one, prompt, weights) for one in (first, second)]
    n = int(np.count_nonzero(np.minimum(sides[0][1], sides[1][1])))
    if any(not base.any() for _, base in sides):
        return Estimate.undefined("undefined: no such pair", 0)
    value = float(sides[0][0].sum() / sides[0][1].sum() - sides[1][0].sum() / sides[1][1].sum())
    return _differing(value, [_ratio(top.sum() - top, base.sum() - base) for top, base in sides], n, confidence)


def mean_difference(
    first: Floats, second: Floats, prompt: _Ints, confidence: float, weights: Floats | None = None
) -> Estimate:
    """Estimate the mean of the first values minus that of the second, both in [0, 1], paired by pair."""
    ones = np.ones(len(first))
    return share_difference(Share(first, ones), Share(second, ones), prompt, confidence, weights)


def _differing(value: float, left: Sequence[Floats], n: int, confidence: float) -> Estimate:
    limits = (-1.0, 1.0)
    exact = partial(Exact, value, n, limits)
    return from_jackknife(value, Scatter.without(left[0] - left[1]), n, limits, confidence, exact=exact)


def _sums(share: Share, prompt: _Ints, weights: Floats | None) -> tuple[Floats, Floats]:
    units, owner = np.unique(prompt, return_inverse=True)
    counted = share.counted if weights is None else share.counted * weights
    hit = np.where(share.counted > 0, share.hit, 0.0)
    top, base = (np.bincount(owner, weights=part, minlength=len(units)) for part in (hit * counted, counted))
    return top.astype(np.float64), base.astype(np.float64)


def _ratio(top: Floats, base: Floats) -> Floats:
    scale = float(base.max(initial=0.0))
    out: Floats = np.divide(top, base, out=np.full(len(top), np.nan), where=base > 1e-9 * max(scale, 1e-300))
    return out
