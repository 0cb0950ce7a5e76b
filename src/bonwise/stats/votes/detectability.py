"""How often a subsample of votes shows a preference: rates of detection, and z.

After Lee (2026), sections 4 and D.5. A pool of votes is three counts: for the second model, ties that count half, for
the first model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from bonwise.stats.sums import Floats

__all__ = ["PooledVotes", "ZLaw", "detection_rate", "rejections", "z_law", "z_quantiles", "z_score"]


class PooledVotes(NamedTuple):
    """Votes of one pair, by what they say."""

    second: int
    halves: int
    first: int

    @property
    def votes(self) -> int:
        """Votes in all."""
        return sum(self)

    @classmethod
    def of(cls, values: Floats) -> PooledVotes:
        """Count values of 1, 1/2 and 0."""
        return cls(*(int((values == value).sum()) for value in (1.0, 0.5, 0.0)))


class ZLaw(NamedTuple):
    """The z of subsamples of one size, and the probability of each."""

    z: Floats
    chance: Floats


def rejections(votes: int, significance: float) -> npt.NDArray[np.bool_]:
    """Return, for 0 to `votes` votes for one side, whether the exact two-sided binomial test of 1/2 rejects.

    Examples
    --------
    >>> np.flatnonzero(rejections(6, 0.05)).tolist()
    [0, 6]
    """
    k = np.arange(votes + 1)
    # A p-value that is the significance level but for rounding rejects, as it does on paper.
    return np.asarray(2 * stats.binom.cdf(np.minimum(k, votes - k), votes, 0.5) <= significance * (1 + 1e-9))


def detection_rate(pool: PooledVotes, votes: int, *, significance: float, replace: bool) -> float | None:
    """Return the share of all subsamples of a pool in which the binomial test rejects "no preference".

    Every subsample counts, weighed by how likely it is: the number that repeated subsampling tends to.

    Parameters
    ----------
    pool : PooledVotes
    votes : int
        Size of a subsample.
    significance : float
        Of the two-sided test.
    replace : bool
        Drawn with replacement (the pool as the population) or without (the pool is all there is: towards its size
        the rate becomes the verdict of the pool itself, 0 or 1).

    Returns
    -------
    float or None
        None where the pool holds fewer votes, or half votes, for which the test is not defined.

    Examples
    --------
    >>> round(detection_rate(PooledVotes(15, 0, 5), 6, significance=0.05, replace=True), 4)
    0.1782
    """
    if pool.halves or (votes > pool.votes and not replace):
        return None
    k = np.flatnonzero(rejections(votes, significance))
    if replace:
        chance = stats.binom.pmf(k, votes, pool.second / pool.votes)
    else:
        chance = stats.hypergeom.pmf(k, pool.votes, pool.second, votes)
    # Sums of probabilities may pass 1 by rounding.
    return min(1.0, float(chance.sum()))


def z_score(rate: Floats | float, votes: int) -> Floats:
    """Return ``|rate - 1/2| / sqrt(rate (1 - rate) / votes)``, infinite where the rate is 0 or 1.

    Examples
    --------
    >>> z_score(np.array([0.6, 1.0]), 100).round(2).tolist()
    [2.04, inf]
    """
    rate = np.asarray(rate, dtype=np.float64)
    spread = np.sqrt(np.maximum(rate * (1 - rate), 0.0) / votes)
    found: Floats = np.divide(np.abs(rate - 0.5), spread, out=np.full(rate.shape, np.inf), where=spread > 0)
    return found


def z_law(pool: PooledVotes, votes: int, *, replace: bool) -> ZLaw | None:
    """Return every z that a subsample can have and how likely it is; None where the pool is too small.

    All subsamples count, so that nothing depends on a seed. The z are those of 0, 1/2, 1, ... `votes` votes for the
    second model, in this order for every pool.

    Parameters
    ----------
    pool : PooledVotes
    votes : int
        Size of a subsample.
    replace : bool
        Drawn with replacement, or without.
    """
    if votes > pool.votes and not replace:
        return None
    # With replacement one half vote can be drawn many times; without any none can.
    most = votes * bool(pool.halves) if replace else min(votes, pool.halves)
    second, halves = np.meshgrid(np.arange(votes + 1), np.arange(most + 1))
    possible = second + halves <= votes
    second, halves = second[possible], halves[possible]
    drawn = np.column_stack([second, halves, votes - second - halves])
    if replace:
        chance = stats.multinomial.pmf(drawn, votes, np.array(pool) / pool.votes)
    else:
        chance = stats.multivariate_hypergeom.pmf(drawn, np.array(pool), votes)
    summed = np.bincount(2 * second + halves, weights=chance, minlength=2 * votes + 1)
    return ZLaw(z_score(np.arange(2 * votes + 1) / (2 * votes), votes), np.asarray(summed, dtype=np.float64))


def z_quantiles(laws: Sequence[ZLaw], shares: Floats, weights: Floats) -> Floats:
    """Return quantiles of z over pools, the smallest z that is not exceeded with the share's probability.

    Parameters
    ----------
    laws : sequence of ZLaw
        Of subsamples of one size, one a pool.
    shares : ndarray of float64, shape (quantiles,)
    weights : ndarray of float64, shape (..., pools)
        Not negative, of sum 1 along the last axis.

    Returns
    -------
    ndarray of float64, shape (..., quantiles)
        Infinite where so many subsamples agree.

    Examples
    --------
    >>> z_quantiles([z_law(PooledVotes(3, 0, 1), 4, replace=False)], np.array([0.5]), np.ones(1)).round(3).tolist()
    [1.155]
    """
    order = np.argsort(laws[0].z, kind="stable")
    below = weights @ np.cumsum([law.chance[order] for law in laws], axis=1)
    # What sums to the share but for rounding has reached it.
    at = (below[..., None, :] < shares[:, None] - 1e-9).sum(axis=-1)
    found: Floats = laws[0].z[order][np.minimum(at, len(order) - 1)]
    return found
