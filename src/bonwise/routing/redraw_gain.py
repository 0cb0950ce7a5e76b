"""What further draws of the weak judge are expected to bring, at any mean number of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.stats.draw_prior import DrawPrior
from bonwise.stats.redraws import replay
from bonwise.stats.sums import Floats

__all__ = ["RedrawPaths", "label_slope", "redraw_paths"]


class RedrawPaths(NamedTuple):
    """Every step of the redraws of each pool as if calls were free; a price says at which step it ends."""

    opportunity: Floats
    """Lowest expected opportunity cost so far, in score units: a pool goes on while it reaches the price."""
    gained: Floats
    """Highest posterior mean minus that after the first draws, in score units."""

    def at(self, calls: float, weights: Floats | None = None) -> Floats:
        """Return the expected gain of each pool where they may take so many further calls on average.

        Many steps may have one cost: then they are taken with the probability that fills the calls.

        Parameters
        ----------
        calls : float
            Per pool, beyond the first draws; 0 or more.
        weights : ndarray of float64, shape (n,), optional
            Of the pools that are redrawn, 0 for others; their mean number of calls is weighted so.

        Returns
        -------
        ndarray of float64, shape (n,)

        Examples
        --------
        >>> paths = RedrawPaths(np.array([[0.5, -np.inf], [0.5, -np.inf]]), np.array([[0.0, 0.2], [0.0, 0.4]]))
        >>> paths.at(0.5).tolist()
        [0.1, 0.2]
        """
        w = np.ones(len(self.opportunity)) if weights is None else weights
        possible = np.isfinite(self.opportunity) & (w > 0)[:, None]
        wanted = calls * float(w.sum())
        if wanted <= 0 or not possible.any():
            return np.zeros(len(w))
        prices, at = np.unique(-self.opportunity[possible], return_inverse=True)
        spent = np.cumsum(np.bincount(at, weights=np.broadcast_to(w[:, None], possible.shape)[possible]))
        edge = min(int(np.searchsorted(spent, wanted)), len(prices) - 1)
        before = float(spent[edge - 1]) if edge else 0.0
        part = min((wanted - before) / (float(spent[edge]) - before), 1.0)
        return (1 - part) * self._stopped(-prices[edge], over=True) + part * self._stopped(-prices[edge])

    def _stopped(self, price: float, *, over: bool = False) -> Floats:
        """Return the gain of each pool that goes on while its cost reaches a price, or lies over it."""
        steps = (self.opportunity > price) if over else (self.opportunity >= price)
        taken = np.minimum(steps.sum(axis=1), self.opportunity.shape[1] - 1)
        found: Floats = self.gained[np.arange(len(taken)), taken]
        return found


def label_slope(labels: Floats, draws: Floats, weights: Floats | None = None) -> float:
    """Return by how much the label rises where the true score rises by 1: cov_w(O, y) / cov_w(y, y').

    Within prompts, over the later draws; y and y' are two different draws of one candidate, so the
    noise of a single draw does not flatten the slope.

    Parameters
    ----------
    labels : ndarray of float64, shape (n, K)
        NaN fills up a smaller pool.
    draws : ndarray of float64, shape (n, K, k)
        k of 3 or more; the first draw is not looked at.
    weights : ndarray of float64, shape (n,), optional
        Such as 1 / propensity.

    Raises
    ------
    ValueError
        Later draws do not agree with each other at all.
    """
    later = draws[:, :, 1:]
    whole = ~np.isnan(later).any(axis=2) & ~np.isnan(labels)
    count = np.maximum(whole.sum(axis=1), 1)

    def centred(values: Floats) -> Floats:
        known = np.where(whole, values, 0.0)
        found: Floats = np.where(whole, known - (known.sum(axis=1) / count)[:, None], 0.0)
        return found

    each = [centred(later[:, :, k]) for k in range(later.shape[2])]
    total = np.sum(each, axis=0)
    freedom = np.maximum(count - 1, 1)[:, None]
    if weights is not None:
        freedom = freedom / weights[:, None]
    m = len(each)
    alike = float(np.sum((total**2 - np.sum(np.square(each), axis=0)) / freedom)) / (m * (m - 1))
    if alike <= 0:
        raise ValueError("later draws of a candidate do not agree with each other beyond chance")
    return float(np.sum(centred(labels) * total / freedom)) / m / alike


def redraw_paths(draws: Floats, prior: DrawPrior, *, most: int = 8, seed: int = 0) -> RedrawPaths:
    """Simulate the redraws of every pool until the rule stops.

    Parameters
    ----------
    draws : ndarray of float64, shape (n, K, k)
        ``draws[:, :, 0]`` are the first scores; a candidate without any draw fills up a smaller pool.
    prior : DrawPrior
    most : int
        Draws of one candidate, the first among them.
    seed : int
    """
    played = replay(draws, prior, most=most, seed=seed)
    return RedrawPaths(np.minimum.accumulate(played.opportunity, axis=1), played.highest - played.highest[:, :1])
