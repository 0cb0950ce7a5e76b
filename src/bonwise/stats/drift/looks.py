"""Looks of one size: the same number of picks from each period, so that traffic does not pass for drift.

How skewed the level of a period is depends on how many picks it has: with rare events the usual period has none while
traffic is low and some while it is high, although their chance stays as it is. So each look holds as many picks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["PART", "Looks", "look_size"]

PART = 0.75
"""Part of the usual period that a look holds: a day with less traffic than usual has as many picks."""

_Ints = npt.NDArray[np.int64]


def look_size(picks: _Ints, part: float = PART) -> int:
    """Return the size of a look: a part of the median of the picks per period of the baseline, at least 1.

    Parameters
    ----------
    picks : ndarray of int64, shape (periods,)
        Of the baseline; periods without a pick do not count.
    part : float
        In (0, 1].

    Examples
    --------
    >>> look_size(np.array([100, 120, 0, 20]))
    75
    """
    there = picks[picks > 0]
    return max(int(part * np.median(there)), 1) if there.size else 1


@dataclass(frozen=True, eq=False)
class Looks:
    """A signal at each look: ``sum u / sum v`` over the picks of that look."""

    size: int
    """Picks per look."""
    u: Floats
    """Sums of numerators and of denominators."""
    v: Floats
    """Sums of numerators and of denominators."""
    first: _Ints
    """Periods that a look spans."""
    last: _Ints
    """Periods that a look spans."""
    baseline: int
    """Looks of the baseline, which come first."""

    @classmethod
    def of(
        cls,
        numerator: Floats,
        denominator: Floats,
        period: _Ints,
        *,
        periods: int,
        baseline: int,
        part: float = PART,
        seed: int | tuple[int, ...] = 0,
    ) -> Looks:
        """Divide picks into looks.

        A period with fewer picks than a look is joined with the next ones; of one with more, a seeded draw is taken.
        A look that later periods have yet to fill is left out.

        Parameters
        ----------
        numerator, denominator : ndarray of float64, shape (picks,)
            u and v of each pick on which the signal is defined.
        period : ndarray of int64, shape (picks,)
            Of each pick, from 0, never decreasing.
        periods, baseline : int
            How many there are, and how many of these, the first ones, are the baseline.
        part : float
            See `look_size`.
        seed : int or tuple of int
            Later periods do not change what is drawn from earlier ones.

        Examples
        --------
        >>> u, period = np.array([1.0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 3])
        >>> looks = Looks.of(u, np.ones(6), period, periods=4, baseline=1)
        >>> looks.size, looks.baseline, looks.first.tolist(), looks.v.tolist()
        (1, 1, [0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0])
        """
        picks = np.bincount(period, minlength=periods)
        ends = np.cumsum(picks)
        size = look_size(picks[:baseline], part)
        spans = [*_spans(picks, size, 0, baseline), *_spans(picks, size, baseline, periods)]
        drawn = np.empty((len(spans), size), dtype=np.int64)
        for at, (first, last) in enumerate(spans):
            start = ends[first] - picks[first]
            chance = np.random.default_rng([*np.atleast_1d(seed), first])
            drawn[at] = start + chance.choice(ends[last] - start, size, replace=False)
        bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return cls(
            size,
            numerator[drawn].sum(axis=1),
            denominator[drawn].sum(axis=1),
            bounds[:, 0],
            bounds[:, 1],
            sum(last < baseline for _, last in spans),
        )


def _spans(picks: _Ints, size: int, start: int, end: int) -> list[tuple[int, int]]:
    """Return the first and the last period of each look."""
    found, first, held = [], start, 0
    for at in range(start, end):
        if not held:
            first = at
        held += int(picks[at])
        if held >= size:
            found.append((first, at))
            held = 0
    return found
