"""Power: how likely a study of a given size finds what is there, and how many prompts or votes are enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from bonwise.arrays import Floats

_Counts = npt.ArrayLike


def critical_value(confidence: float, sides: int) -> float:
    """Return the normal quantile beyond which a test with one or two sides rejects."""
    return float(special.ndtri(1 - (1 - confidence) / sides))


def mean_power(standardised: float, n: float, confidence: float, sides: int) -> float:
    """Return the power of a z test of a mean, `standardised` for one unit; with one side of a mean above 0."""
    z, drift = critical_value(confidence, sides), standardised * np.sqrt(n)
    other = special.ndtr(-drift - z) if sides == 2 else 0.0
    return float(special.ndtr(drift - z) + other)


def correlation_power(r: float, least: float, pairs: float, confidence: float) -> float:
    """Return the power to find a correlation above a threshold: Fisher's z, its variance 1 / (pairs - 2)."""
    apart = np.arctanh(r) - np.arctanh(least)
    return float(special.ndtr(apart * np.sqrt(max(pairs - 2, 0.0)) - critical_value(confidence, 1)))


def paper_votes_power(delta: float, n: float, confidence: float) -> float:
    """Return the power to find a preference margin as equation 8 has it: both tails of the normal law."""
    return mean_power(2 * abs(delta), n, confidence, 2)


def votes_power(delta: float, n: _Counts, confidence: float) -> Floats:
    """Return the power of the exact two-sided binomial test of a margin in [-1/2, 1/2] from n decisive votes."""
    votes = np.asarray(n, dtype=np.float64)
    last = _lower_region(votes, (1 - confidence) / 2)
    p = 0.5 + abs(delta)
    # By symmetry the upper region of p is the lower one of 1 - p.
    return np.asarray(stats.binom.cdf(last, votes, 1 - p) + stats.binom.cdf(last, votes, p))


def _lower_region(votes: Floats, tail: float) -> Floats:
    """Return the largest count with P(K <= count) <= tail under a fair coin, -1 where there is none."""
    near = stats.binom.ppf(tail, votes, 0.5)
    return np.where(stats.binom.cdf(near, votes, 0.5) <= tail, near, near - 1)


def equal_votes_power(bound: float, n: _Counts, confidence: float) -> Floats:
    """Return how likely two exact one-sided tests show that a margin of 0 lies within a bound, in (0, 1/2)."""
    votes = np.asarray(n, dtype=np.float64)
    low = stats.binom.isf(1 - confidence, votes, 0.5 - bound) + 1
    inside = stats.binom.cdf(votes - low, votes, 0.5) - stats.binom.cdf(low - 1, votes, 0.5)
    return np.asarray(np.maximum(inside, 0.0))


SMALLEST_MARGIN = 1e-4
"""Preference margin below which no study is planned: it would take more than 100 million votes."""


class ExactSampleSize(NamedTuple):
    """Two answers to how many votes an exact test needs, whose power rises in a saw-tooth."""

    first: int
    """Smallest number with the power asked for."""
    settled: int
    """Smallest number from which on every larger one has it too."""


def mean_units(standardised: float, power: float, confidence: float, sides: int) -> float:
    """Return the units a z test of a mean needs: ``((z_alpha + z_power) / standardised)^2``."""
    return ((critical_value(confidence, sides) + float(special.ndtri(power))) / standardised) ** 2


def detectable_mean(n: float, power: float, confidence: float, sides: int) -> float:
    """Return the smallest mean, over the standard deviation of a unit, that a z test of so many units finds."""
    return math.sqrt(mean_units(1.0, power, confidence, sides) / n)


def equal_mean_units(standardised: float, power: float, confidence: float) -> float:
    """Return the units two one-sided tests need to show that a mean of 0 lies within a bound, `standardised`."""
    return ((critical_value(confidence, 1) + float(special.ndtri((1 + power) / 2))) / standardised) ** 2


def correlation_pairs(apart: float, power: float, confidence: float) -> float:
    """Return the P (n - 1) that tells two Fisher z's apart, one-sided: ``2 + ((z_alpha + z_power) / apart)^2``."""
    return 2 + mean_units(apart, power, confidence, 1)


def paper_votes(delta: float, power: float, confidence: float) -> float:
    """Return the votes of equation 8, not rounded: ``(z_{1-alpha/2} + z_power)^2 / (4 delta^2)``."""
    return mean_units(2 * abs(delta), power, confidence, 2)


def paper_margin(votes: float, power: float, confidence: float) -> float:
    """Return the smallest margin that equation 8 finds with so many votes."""
    return detectable_mean(votes, power, confidence, 2) / 2


def votes(delta: float, power: float, confidence: float) -> ExactSampleSize:
    """Return the votes an exact two-sided binomial test needs to find a margin, `SMALLEST_MARGIN` to 1/2."""
    near = paper_votes(delta, power, confidence)
    return _settled(lambda n: votes_power(delta, n, confidence), near, power)


def equal_votes(bound: float, power: float, confidence: float) -> ExactSampleSize:
    """Return the votes that two exact one-sided tests need to show a margin of 0 within a bound of at most 1/2."""
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
    """Return the smallest margin that an exact binomial test of so many votes finds, None where it finds none."""
    return smallest(lambda margin: float(votes_power(margin, count, confidence)), 0.5, power)


def smallest(power_of: Callable[[float], float], most: float, power: float) -> float | None:
    """Return the smallest margin up to `most` that has the power, None where none has."""
    if power_of(most) < power:
        return None
    low, high = 0.0, most
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high
