"""Stored draws played again: what a rule would have asked, and what calls may cost for it to ask so many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.progress import counting
from bonwise.stats import draw_prior
from bonwise.stats.beliefs import Beliefs

_SAME = 1e-9
"""Opportunity costs this close, as a share of themselves, are one: a price cannot part them."""


class CallPrice(NamedTuple):
    """What a call costs: one of two neighbouring prices, by each pool's lot, as scores are coarse."""

    lower: float
    higher: float
    """Both: in score units."""
    share: float
    """Of the pools, that take the lower one, from 0 to 1."""

    def of(self, lot: float) -> float:
        """Return the price of the pool that drew this lot, uniform in [0, 1)."""
        return self.lower if lot < self.share else self.higher


class CallCurve(NamedTuple):
    """How many calls a price buys."""

    calls: Floats
    """Of a pool on average, increasing, from the first draws alone to all draws."""
    prices: Floats
    """At which just as many are taken, decreasing to 0; none lies on an opportunity cost."""

    def prices_for(self, mean_calls: float) -> CallPrice:
        """Return the neighbouring prices that, mixed, buy so many calls on average; ValueError where none can."""
        least, most = float(self.calls[0]), float(self.calls[-1])
        if not least <= mean_calls <= most:
            raise ValueError(f"between {least:g} and {most:g} calls can be asked on average, not {mean_calls:g}")
        behind = int(self._behind(np.array([mean_calls]))[0])
        fewer, more = self.calls[behind - 1], self.calls[behind]
        share = float((mean_calls - fewer) / (more - fewer))
        return CallPrice(float(self.prices[behind]), float(self.prices[behind - 1]), share)

    def thinned(self, points: int) -> CallCurve:
        """Return the curve on the neighbours of so many equally spaced mean numbers of calls."""
        behind = self._behind(np.linspace(self.calls[0], self.calls[-1], points))
        kept = np.unique(np.concatenate([behind - 1, behind]))
        return CallCurve(self.calls[kept], self.prices[kept])

    def _behind(self, calls: Floats) -> Ints:
        """Return the place of the first point that buys so many calls, never the very first one."""
        return np.clip(np.searchsorted(self.calls, calls), 1, len(self.calls) - 1)


class Stopped(NamedTuple):
    """Where each pool stands when a call has a price."""

    calls: Ints
    """Draws asked, the first ones among them."""
    top: Mask
    """The candidates that share the highest posterior mean."""


class Replay(NamedTuple):
    """Every step that the rule would take if calls were free; a price only says at which step it ends."""

    first: Ints
    """First draws of each pool."""
    opportunity: Floats
    """Expected opportunity cost before each further draw, in score units; minus infinity where none can be asked."""
    top: Mask
    """As in `Stopped`."""
    highest: Floats
    """Highest posterior mean, in score units."""

    def at(self, price: float | Floats) -> Stopped:
        """Stop each pool before the first draw whose opportunity cost is below the price, one for all or one each."""
        stop = np.broadcast_to(np.asarray(price, dtype=np.float64), len(self.first))[:, None]
        step = (np.minimum.accumulate(self.opportunity, axis=1) >= stop).sum(axis=1)
        step = np.minimum(step, self.opportunity.shape[1] - 1)
        return Stopped(self.first + step, self.top[np.arange(len(step)), step])

    def curve(self) -> CallCurve:
        """Return how many calls each price buys of these pools, exactly; ValueError without a further draw to ask."""
        lowest = np.minimum.accumulate(self.opportunity, axis=1)
        steps = np.sort(lowest[np.isfinite(lowest)])[::-1]
        if not len(steps):
            raise ValueError("no pool has two candidates with a score")
        # A step is taken when its cost reaches the price: prices lie between the costs, where rounding cannot matter.
        last = np.flatnonzero(steps[:-1] - steps[1:] > _SAME * steps[:-1])
        prices = np.concatenate([[2 * steps[0]], (steps[last] + steps[last + 1]) / 2, [0.0]])
        taken = np.concatenate([[0], last + 1, [len(steps)]])
        return CallCurve(self.first.mean() + taken / len(lowest), prices)


def replay(draws: Floats, prior: draw_prior.DrawPrior, *, most: int = 8, seed: int = 0) -> Replay:
    """Apply the rule to stored draws.

    `draws` is (n, K, k), ``draws[:, :, 0]`` the first scores, NaN where not scored; all NaN fills up a smaller pool.
    `most` counts a candidate's draws; where fewer are stored, later ones are drawn again, and the first one where it
    counts as one of them. The seed is of these and of the order of ties.
    """
    rng = np.random.default_rng(seed)
    stored = lengthened(draws, most, rng, start=0 if prior.first_counts else 1)
    n, K, _ = stored.shape
    rank = rng.random((n, K)).argsort(axis=1)
    beliefs = Beliefs(prior, stored[:, :, 0], rank, most)
    steps, rows = K * (most - 1), np.arange(n)
    opportunity, top = np.full((n, steps + 1), -np.inf), np.zeros((n, steps + 1, K), dtype=bool)
    highest = np.zeros((n, steps + 1))
    with counting("draw", steps + 1) as drawn:
        for step in range(steps + 1):
            top[:, step] = beliefs.top()
            highest[:, step] = np.fmax.reduce(beliefs.posterior().mean, axis=1)
            who = beliefs.best_draw()
            opportunity[:, step] = np.where(who >= 0, beliefs.opportunity_cost(), -np.inf)
            if (who < 0).all():
                top[:, step:] = top[:, step, None]
                highest[:, step:] = highest[:, step, None]
                break
            number = np.minimum(beliefs.asked[rows, who], most - 1)
            beliefs.hear(who, stored[rows, who, number])
            drawn()
    return Replay((~np.isnan(draws).all(axis=2)).sum(axis=1), opportunity, top, highest)


def lengthened(draws: Floats, most: int, rng: np.random.Generator, start: int = 1) -> Floats:
    """Return so many draws per candidate: those stored, and where they end, some of its own from `start` on again."""
    stored = draws.shape[2]
    if stored >= most:
        return draws[:, :, :most]
    again = rng.integers(start, stored, size=(*draws.shape[:2], most - stored))
    return np.concatenate([draws, np.take_along_axis(draws, again, axis=2)], axis=2)
