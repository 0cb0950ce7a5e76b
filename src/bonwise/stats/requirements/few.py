"""Intervals of a recovery, and of its difference to what was expected, where few picks decide it.

A judge that is nearly always right loses something on few prompts, and a sum of few losses is skewed: an interval of
as much above as below it is too short on the side of losses not yet seen, and of no length where none was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bonwise.stats.laws import Exact, Law, student_quantile
from bonwise.stats.sums import TIE_DECIMALS, Floats, Sums

__all__ = ["MANY", "Few", "MoverDifference", "few_picks"]

MANY = 30
"""Picks, counted by their weight, from which on a sum is not skewed to speak of."""


@dataclass(frozen=True, slots=True)
class Few:
    """A recovery that few losses hold below its most, or few wins above its least.

    The sum y of amounts x_i is taken as a multiple ``u = sum x^2 / y`` of a Poisson count, which has the mean and
    the variance of a sum of rare amounts; its ends are those of that count, and nowhere inside Student's.
    """

    estimate: float
    """Of the recovery; se the jackknife's."""
    se: float
    """Of the recovery; se the jackknife's."""
    amount: float
    """y and u, in shares of the possible gain of all prompts; where nothing was seen u is the largest possible one.

    """
    unit: float
    """y and u, in shares of the possible gain of all prompts; where nothing was seen u is the largest possible one.

    """
    losses: bool
    """Whether the amounts are losses; wins otherwise."""
    df: float
    kind: str = "jackknife"

    @property
    def count(self) -> float:
        """Picks that were seen, counted by their weight."""
        return self.amount / self.unit

    def at(self, confidence: float) -> tuple[float, float]:
        """Return the interval.

        Examples
        --------
        >>> low, high = Few(1.0, 0.0, 0.0, 0.01, True, 99).at(0.95)
        >>> round(low, 4), high
        (0.9631, 1.0)
        """
        tail, count = (1 - confidence) / 2, self.count
        fewest = self.unit * float(special.gammaincinv(count, tail)) if count else 0.0
        most = self.unit * float(special.gammaincinv(count + 1, 1 - tail))
        below, above = self.amount - fewest, most - self.amount
        if self.losses:
            below, above = above, below
        half = student_quantile(confidence, self.df) * self.se
        return self.estimate - max(below, half), min(self.estimate + max(above, half), 1.0)


@dataclass(frozen=True, slots=True)
class MoverDifference:
    """Interval of a difference from those of its two parts and their correlation (Zou and Donner 2008)."""

    first: Law
    second: Law
    estimates: tuple[float, float]
    """Of the two."""
    correlation: float
    kind: str = "jackknife"

    def at(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval, None where a part has none."""
        one, other = self.first.at(confidence), self.second.at(confidence)
        if one is None or other is None:
            return None
        first, second = self.estimates
        below = self._reach(first - one[0], other[1] - second)
        above = self._reach(one[1] - first, second - other[0])
        return first - second - below, first - second + above

    def _reach(self, one: float, other: float) -> float:
        return math.sqrt(max(one**2 + other**2 - 2 * self.correlation * one * other, 0.0))


def few_picks(sums: Sums, widest: Floats, se: float) -> Few | Exact | None:
    """Return the law of a judge's recovery where few picks, or none that differ, decide it; None where many do.

    Parameters
    ----------
    sums : Sums
        The judge's, of each prompt.
    widest : ndarray of float64, shape (prompts,)
        Best label less worst.
    se : float
        The jackknife's, of the recovery.
    """
    possible = float((sums.M - sums.R).sum())
    own = float((sums.J - sums.R).sum()) / possible
    loss = np.round(sums.M - sums.J, TIE_DECIMALS)
    losses = bool(2 * loss.sum() <= widest.sum())
    amounts = loss if losses else np.round(widest - loss, TIE_DECIMALS)
    total, squares = float(amounts.sum()), float(amounts @ amounts)
    largest, n = float(widest.max()) / possible, len(loss)
    if se <= 10.0**-TIE_DECIMALS:
        return Exact(own, n, (own - n * largest, min(own + n * largest, 1.0)), kind="jackknife")
    if total > 0 and total**2 >= MANY * squares:
        return None
    return Few(own, se, total / possible, squares / total / possible if total > 0 else largest, losses, n - 1)
