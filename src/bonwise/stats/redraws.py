"""Stored draws played again: what a rule would have asked, and what a call may cost for it to ask so many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.beliefs import Beliefs
from bonwise.stats.draw_prior import DrawPrior
from bonwise.stats.sums import Floats

__all__ = ["Replay", "Stopped", "lengthened", "price_for", "replay"]


class Stopped(NamedTuple):
    """Where each pool stands when a call has a price.

    Parameters
    ----------
    calls : ndarray of int64, shape (n,)
        Draws asked, the first ones among them.
    top : ndarray of bool, shape (n, K)
        The candidates that share the highest posterior mean.
    """

    calls: npt.NDArray[np.int64]
    top: npt.NDArray[np.bool_]


class Replay(NamedTuple):
    """Every step that the rule would take if calls were free; a price only says at which step it ends.

    Parameters
    ----------
    first : ndarray of int64, shape (n,)
        First draws of each pool.
    opportunity : ndarray of float64, shape (n, steps + 1)
        Expected opportunity cost before each further draw, in score units; minus infinity where none can be asked.
    top : ndarray of bool, shape (n, steps + 1, K)
        As in `Stopped`.
    """

    first: npt.NDArray[np.int64]
    opportunity: Floats
    top: npt.NDArray[np.bool_]

    def at(self, price: float) -> Stopped:
        """Stop each pool before the first draw whose opportunity cost is below the price."""
        step = (np.minimum.accumulate(self.opportunity, axis=1) >= price).sum(axis=1)
        step = np.minimum(step, self.opportunity.shape[1] - 1)
        return Stopped(self.first + step, self.top[np.arange(len(step)), step])

    def price_for(self, mean_calls: float) -> float:
        """Return the price at which the pools take so many calls on average.

        Raises
        ------
        ValueError
            Fewer calls than the first draws take, or more than there can be.
        """
        return float(self.prices(np.array([mean_calls]))[0])

    def prices(self, mean_calls: Floats) -> Floats:
        """Return the price for each mean number of calls.

        Raises
        ------
        ValueError
            As `price_for`.
        """
        least, most = self.range_of_calls
        if mean_calls.min() < least or mean_calls.max() > most:
            raise ValueError(f"between {least:g} and {most:g} calls can be asked on average")
        lowest = np.minimum.accumulate(self.opportunity, axis=1)
        steps = np.sort(lowest[np.isfinite(lowest)])[::-1]
        if not len(steps):
            return np.zeros(len(mean_calls))
        # A step is taken when its cost reaches the price, so the price lies between the last taken and the next.
        bounds = np.concatenate([[2 * steps[0]], steps, [0.0]])
        taken = np.rint((mean_calls - least) * len(lowest)).astype(int)
        prices: Floats = (bounds[taken] + bounds[taken + 1]) / 2
        return np.where(taken == len(steps), 0.0, prices)

    @property
    def range_of_calls(self) -> tuple[float, float]:
        """The fewest and the most calls on average."""
        further = np.isfinite(self.opportunity).sum() / len(self.opportunity)
        least = float(self.first.mean())
        return least, least + float(further)


def replay(draws: Floats, prior: DrawPrior, *, most: int = 8, seed: int = 0) -> Replay:
    """Play the rule on stored draws.

    Parameters
    ----------
    draws : ndarray of float64, shape (n, K, k)
        ``draws[:, :, 0]`` are the first scores; NaN where a draw was not scored. A candidate without any draw is
        none: it fills up a smaller pool.
    prior : DrawPrior
    most : int
        Draws of one candidate, the first among them; where fewer are stored, its later ones are drawn again.
    seed : int
        Of the order in which ties are broken and of the draws that are drawn again.

    Returns
    -------
    Replay
    """
    rng = np.random.default_rng(seed)
    stored = lengthened(draws, most, rng)
    n, K, _ = stored.shape
    rank = rng.random((n, K)).argsort(axis=1)
    beliefs = Beliefs(prior, stored[:, :, 0], rank, most)
    steps, rows = K * (most - 1), np.arange(n)
    opportunity, top = np.full((n, steps + 1), -np.inf), np.zeros((n, steps + 1, K), dtype=bool)
    for step in range(steps + 1):
        top[:, step] = beliefs.top()
        who = beliefs.best_draw()
        opportunity[:, step] = np.where(who >= 0, beliefs.opportunity_cost(), -np.inf)
        if (who < 0).all():
            top[:, step:] = top[:, step, None]
            break
        number = np.minimum(beliefs.asked[rows, who], most - 1)
        beliefs.hear(who, stored[rows, who, number])
    return Replay((~np.isnan(draws).all(axis=2)).sum(axis=1), opportunity, top)


def lengthened(draws: Floats, most: int, rng: np.random.Generator) -> Floats:
    """Return so many draws a candidate: those stored, and where they end, later ones of its own drawn again."""
    stored = draws.shape[2]
    if stored >= most:
        return draws[:, :, :most]
    again = rng.integers(1, stored, size=(*draws.shape[:2], most - stored))
    return np.concatenate([draws, np.take_along_axis(draws, again, axis=2)], axis=2)


def price_for(draws: Floats, prior: DrawPrior, mean_calls: float, *, most: int = 8, seed: int = 0) -> float:
    """Return the price of a call at which stored pools take so many calls on average.

    Parameters
    ----------
    draws, prior, most, seed
        As in `replay`.
    mean_calls : float
        Per pool, its first draws among them.

    Raises
    ------
    ValueError
        Fewer calls than the first draws take, or more than `most` draws a candidate.
    """
    return replay(draws, prior, most=most, seed=seed).price_for(mean_calls)
