"""The level of a signal over some periods, with an interval that takes periods, not picks, as its units."""

from __future__ import annotations

import numpy as np
from scipy import special

from bonwise.results import given
from bonwise.stats.laws import EffectiveShare
from bonwise.stats.running_ratio import RunningRatio
from bonwise.stats.sums import Floats
from bonwise.watching.result import LevelRecord

__all__ = [
    "FEWEST",
    "highest_share",
    "level_over",
    "lowest_recovery",
    "lowest_share",
    "neighbour_correlation",
]

FEWEST = 3
"""Periods below which a level has no interval."""

_ENOUGH = 20
"""Periods below which their correlation says little."""

_STRIKING = 3.0
"""Standard errors, 1 / sqrt(periods), beyond which the correlation of neighbours is told."""


def level_over(u: Floats, v: Floats, picks: Floats, confidence: float, *, share: bool = False) -> LevelRecord:
    """Return ``sum u / sum v`` with Fieller's interval by periods, Student's t with as many degrees less one.

    A part of a whole gets Clopper and Pearson's interval on as many draws as that standard error is worth.

    Parameters
    ----------
    u, v, picks : ndarray of float64, shape (periods,)
        Sums over the picks of each period, and how many these are.
    confidence : float
        Two-sided, in (0, 1).
    share : bool
        Whether it is a part of a whole, each u from 0 to its v.

    Examples
    --------
    >>> level = level_over(np.array([2.0, 4.0, 3.0, 3.0]), np.full(4, 10.0), np.full(4, 10.0), 0.95)
    >>> [round(value, 3) for value in (level.estimate, level.low, level.high)]
    [0.3, 0.17, 0.43]
    """
    estimate, low, high, reason = _interval_over(u, v, confidence, share=share)
    return LevelRecord(
        estimate=estimate, low=low, high=high, periods=len(u), picks=int(picks.sum()), **given(reason=reason)
    )


def _interval_over(
    u: Floats, v: Floats, confidence: float, *, share: bool
) -> tuple[float | None, float | None, float | None, str | None]:
    """Return estimate, lower and upper end, and why these are missing."""
    count = len(u)
    if not v.sum():
        return None, None, None, "no pick tells it"
    estimate = float(u.sum() / v.sum())
    if count < FEWEST:
        return estimate, None, None, f"an interval needs {FEWEST} periods"
    running = RunningRatio.of(u, v).at(np.array([count]))
    if not running.varies(estimate)[0]:
        return estimate, None, None, "all periods are alike"
    if share:
        se = float(running.gap(estimate)[1][0] / running.b[0])
        ends = EffectiveShare(estimate, se, count - 1).at(confidence)
        return estimate, *(ends or (None, None)), None
    squared = np.array([float(special.stdtrit(count - 1, 0.5 + confidence / 2)) ** 2])
    low, high = (float(end[0]) for end in running.limits(squared))
    if np.isnan(low) or np.isnan(high):
        return estimate, None, None, "the interval is unbounded"
    return estimate, low, high, None


def highest_share(estimate: float, se: float, count: int, chance: float) -> float:
    """Return the upper bound of a share: the larger one of Student's t and of Clopper and Pearson.

    Parameters
    ----------
    estimate, se : float
    count : int
        Units behind it.
    chance : float
        That the share lies above the bound.

    Examples
    --------
    >>> round(highest_share(0.04, 0.01, 400, 0.025), 4), round(highest_share(0.0, 0.0, 400, 0.025), 4)
    (0.0641, 0.0092)
    """
    student = estimate - float(special.stdtrit(max(count - 1, 1), chance)) * se
    hits = estimate * count
    exact = float(special.betaincinv(hits + 1, count - hits, 1 - chance)) if hits < count else 1.0
    return min(max(student, exact), 1.0)


def lowest_share(estimate: float, se: float, count: int, chance: float) -> float:
    """Return the lower bound, as `highest_share` does for the upper one.

    Examples
    --------
    >>> round(lowest_share(0.04, 0.01, 400, 0.025), 4)
    0.0203
    """
    return 1 - highest_share(1 - estimate, se, count, chance)


def lowest_recovery(estimate: float, se: float, count: int, draws: float, chance: float) -> float:
    """Return the lower bound of a recovery: the smaller one of Student's t and of Clopper and Pearson.

    A prompt loses at most its possible gain, which is at most 1. So the lost share, a ratio of sums, counts as a
    share of as many draws as the possible gains add up to. Where few losses were seen, or none, the standard error
    says little, and that bound is the lower one.

    Parameters
    ----------
    estimate, se : float
    count : int
        Prompts whose labels differ.
    draws : float
        Sum of the possible gains of all prompts, labels in [0, 1]; above 0.
    chance : float
        That the recovery lies below the bound.

    Examples
    --------
    >>> round(lowest_recovery(0.6, 0.05, 100, 60.0, 0.025), 3), round(lowest_recovery(1.0, 0.0, 100, 60.0, 0.025), 3)
    (0.465, 0.94)
    """
    student = estimate + float(special.stdtrit(max(count - 1, 1), chance)) * se
    if estimate <= 0:
        return student
    hits = min(estimate, 1.0) * draws
    return min(student, float(special.betaincinv(hits, draws - hits + 1, chance)))


def neighbour_correlation(values: Floats) -> float | None:
    """Return the correlation of neighbouring periods where it is striking, None where it is not.

    Parameters
    ----------
    values : ndarray of float64, shape (periods,)

    Examples
    --------
    >>> neighbour_correlation(np.repeat([1.0, 2.0], 15)), neighbour_correlation(np.tile([1.0, 2.0], 15))
    (0.9, None)
    """
    apart = values - values.mean()
    total = float(apart @ apart)
    if len(values) < _ENOUGH or total <= 0:
        return None
    correlation = float(apart[1:] @ apart[:-1]) / total
    return correlation if correlation > _STRIKING / np.sqrt(len(values)) else None
