"""What further draws of the weak judge are expected to bring, at any mean number of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.beliefs import Beliefs
from bonwise.stats.draw_prior import DrawPrior
from bonwise.stats.redraws import lengthened
from bonwise.stats.sums import Floats

__all__ = ["RedrawPaths", "label_slope", "redraw_paths"]


class RedrawPaths(NamedTuple):
    """Every step of the redraws of each pool as if calls were free; a price says at which step it ends.

    Parameters
    ----------
    opportunity : ndarray of float64, shape (n, steps + 1)
        Lowest expected opportunity cost so far, in score units: a pool goes on while it reaches the price.
    gained : ndarray of float64, shape (n, steps + 1)
        Highest posterior mean minus that after the first draws, in score units.
    """

    opportunity: Floats
    gained: Floats

    def at(self, calls: float, which: npt.NDArray[np.bool_]) -> Floats:
        """Return the gain of each of some pools that may take so many further calls on average.

        Parameters
        ----------
        calls : float
            Per pool, beyond the first draws; 0 or more.
        which : ndarray of bool, shape (n,)

        Returns
        -------
        ndarray of float64, shape (pools,)
        """
        costs, gained = self.opportunity[which], self.gained[which]
        steps = np.sort(costs[np.isfinite(costs)])[::-1]
        wanted = min(int(calls * len(costs)), len(steps))
        if wanted < 1:
            return np.zeros(len(costs))
        taken = np.minimum((costs >= steps[wanted - 1]).sum(axis=1), costs.shape[1] - 1)
        found: Floats = gained[np.arange(len(taken)), taken]
        return found


def label_slope(labels: Floats, draws: Floats) -> float:
    """Return by how much the label rises where the true score rises by 1: cov_w(O, y) / cov_w(y, y').

    Within prompts, over the later draws; y and y' are two different draws of one candidate, so the
    noise of a single draw does not flatten the slope.

    Parameters
    ----------
    labels : ndarray of float64, shape (n, K)
        NaN fills up a smaller pool.
    draws : ndarray of float64, shape (n, K, k)
        k of 3 or more; the first draw is not looked at.

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
    m = len(each)
    alike = float(np.sum((total**2 - np.sum(np.square(each), axis=0)) / freedom)) / (m * (m - 1))
    if alike <= 0:
        raise ValueError("later draws of a candidate do not agree with each other beyond chance")
    return float(np.sum(centred(labels) * total / freedom)) / m / alike


def redraw_paths(draws: Floats, prior: DrawPrior, *, most: int = 8, seed: int = 0) -> RedrawPaths:
    """Play the redraws of every pool to their end.

    Parameters
    ----------
    draws : ndarray of float64, shape (n, K, k)
        ``draws[:, :, 0]`` are the first scores; a candidate without any draw fills up a smaller pool.
    prior : DrawPrior
    most : int
        Draws of one candidate, the first among them.
    seed : int
    """
    rng = np.random.default_rng(seed)
    stored = lengthened(draws, most, rng)
    n, K, _ = stored.shape
    beliefs = Beliefs(prior, stored[:, :, 0], rng.random((n, K)).argsort(axis=1), most)
    rows, steps = np.arange(n), K * (most - 1)
    opportunity, best = np.full((n, steps + 1), -np.inf), np.zeros((n, steps + 1))
    for step in range(steps + 1):
        best[:, step] = np.nanmax(beliefs.posterior().mean, axis=1)
        who = beliefs.best_draw()
        opportunity[:, step] = np.where(who >= 0, beliefs.opportunity_cost(), -np.inf)
        if (who < 0).all():
            best[:, step:] = best[:, step, None]
            break
        beliefs.hear(who, stored[rows, who, np.minimum(beliefs.asked[rows, who], most - 1)])
    return RedrawPaths(np.minimum.accumulate(opportunity, axis=1), best - best[:, :1])
