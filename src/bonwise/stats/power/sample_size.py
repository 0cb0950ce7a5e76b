"""How many prompts or votes are enough for a test to find what is there with the power asked for.

Legend: as in `bonwise.stats.power.power`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from bonwise.stats.power.power import critical_value, equal_votes_power, votes_power
from bonwise.stats.sums import Floats

__all__ = [
    "SMALLEST_MARGIN",
    "ExactSampleSize",
    "correlation_pairs",
    "detectable_margin",
    "equal_mean_units",
    "equal_votes",
    "mean_units",
    "nearest",
    "paper_margin",
    "paper_votes",
    "votes",
]

SMALLEST_MARGIN = 1e-4
"""Preference margin below which no study is planned: it would take more than 100 million votes."""


class ExactSampleSize(NamedTuple):
    """Two answers to how many votes an exact test needs, whose power rises in a saw-tooth."""

    first: int
    """Smallest number with the power asked for."""
    settled: int
    """Smallest number from which on every larger one has it too."""


def mean_units(standardised: float, power: float, confidence: float, sides: int) -> float:
    """Return the units a z test of a mean needs: ``((z_alpha + z_power) / standardised)^2``.

    Examples
    --------
    >>> from bonwise.stats.power.best_of_n_gain import complete_contrast
    >>> round(mean_units(complete_contrast(4, 0.2).standardised, 0.9, 0.95, 1), 2)
    147.43
    """
    return ((critical_value(confidence, sides) + float(special.ndtri(power))) / standardised) ** 2


def equal_mean_units(standardised: float, power: float, confidence: float) -> float:
    """Return the units two one-sided tests need to show that a mean of 0 lies within a bound.

    Parameters
    ----------
    standardised : float
        Bound over the standard deviation of one unit.
    power, confidence : float

    Examples
    --------
    >>> round(equal_mean_units(0.2, 0.9, 0.95), 1)
    270.6
    """
    return ((critical_value(confidence, 1) + float(special.ndtri((1 + power) / 2))) / standardised) ** 2


def correlation_pairs(apart: float, power: float, confidence: float) -> float:
    """Return the P (n - 1) that finds two Fisher z values apart, one-sided: ``2 + ((z_alpha + z_power) / apart)^2``.

    Examples
    --------
    >>> round(correlation_pairs(math.atanh(0.5) - math.atanh(0.4), 0.9, 0.95) / 3, 1)
    181.5
    """
    return 2 + mean_units(apart, power, confidence, 1)


def paper_votes(delta: float, power: float, confidence: float) -> float:
    """Return the votes of equation 8, not rounded: ``(z_{1-alpha/2} + z_power)^2 / (4 delta^2)``.

    Examples
    --------
    >>> round(paper_votes(0.072, 0.9, 0.95), 1)
    506.7
    """
    return mean_units(2 * abs(delta), power, confidence, 2)


def paper_margin(votes: float, power: float, confidence: float) -> float:
    """Return the smallest margin that equation 8 finds with so many votes.

    Examples
    --------
    >>> round(paper_margin(paper_votes(0.1, 0.9, 0.95), 0.9, 0.95), 6)
    0.1
    """
    return (critical_value(confidence, 2) + float(special.ndtri(power))) / (2 * math.sqrt(votes))


def nearest(raw: float) -> int:
    """Round as the paper's tables do, half to even; for reproducing them, as it may round below what is needed.

    Examples
    --------
    >>> nearest(32.35)
    32
    """
    return round(raw)


def votes(delta: float, power: float, confidence: float) -> ExactSampleSize:
    """Return the votes an exact two-sided binomial test needs to find a margin.

    Parameters
    ----------
    delta : float
        Margin, of magnitude between `SMALLEST_MARGIN` and 1/2.
    power, confidence : float

    Examples
    --------
    >>> votes(0.19, 0.9, 0.95)
    ExactSampleSize(first=72, settled=77)
    """
    near = paper_votes(delta, power, confidence)
    return _settled(lambda n: votes_power(delta, n, confidence), near, power)


def equal_votes(bound: float, power: float, confidence: float) -> ExactSampleSize:
    """Return the votes two exact one-sided tests need to show that a margin of 0 lies within a bound.

    Parameters
    ----------
    bound : float
        Between `SMALLEST_MARGIN` and 1/2.
    power, confidence : float

    Examples
    --------
    >>> equal_votes(0.1, 0.9, 0.95)
    ExactSampleSize(first=268, settled=281)
    """
    near = equal_mean_units(2 * bound, power, confidence)
    return _settled(lambda n: equal_votes_power(bound, n, confidence), near, power)


def _settled(power_of: Callable[[Floats], Floats], near: float, power: float) -> ExactSampleSize:
    """Look around the normal answer, from which the exact one differs by less than a few of its square roots."""
    reach = 8 * math.sqrt(near) + 60
    counts = np.arange(max(1, math.floor(near - reach)), math.ceil(near + reach) + 1, dtype=np.float64)
    enough = power_of(counts) >= power
    short = np.flatnonzero(~enough)
    settled = counts[short[-1] + 1] if short.size else counts[0]
    return ExactSampleSize(int(counts[np.argmax(enough)]), int(settled))


def detectable_margin(count: int, power: float, confidence: float) -> float | None:
    """Return the smallest margin that an exact binomial test of so many votes finds, None where it finds none.

    Examples
    --------
    >>> round(detectable_margin(274, 0.9, 0.95), 4), detectable_margin(4, 0.9, 0.95)
    (0.0982, None)
    """
    if votes_power(0.5, count, confidence) < power:
        return None
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if votes_power(middle, count, confidence) >= power else (middle, high)
    return high
