"""Leave-one-out standard errors of any function of totals, and the degrees of freedom that heavy tails leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats
from bonwise.stats.sums import Sums

FEWEST_DF = 3.0
"""Degrees of freedom are never taken below this, nor above the units less 1."""


def kurtosis_df(contributions: Floats) -> float:
    """Return the degrees of freedom of Student's t for a mean or sum of contributions.

    ``min(max(3, 3 (sum d^2)^2 / sum d^4 - 1), G - 1)`` with d what a prompt or cluster adds, less the mean: the
    variance of G normal contributions has a relative variance of 2 / (G - 1), with a kurtosis of k it is (k - 1) / G.
    """
    d = contributions - contributions.mean()
    # Times a power of two, without rounding: fourth powers of large and of small labels are no doubles.
    d = np.ldexp(d, -math.frexp(float(np.abs(d).max(initial=0.0)))[1])
    square = d * d
    return float(moments_df(square.sum(), square @ square, len(d)))


def moments_df(second: Floats | float, fourth: Floats | float, units: Floats | int) -> Floats:
    """Return the same from sums of squares and of fourth powers; units - 1 where nothing varies."""
    most = units - 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = 3 * np.square(second) / fourth - 1
    return np.fmin(np.fmax(FEWEST_DF, np.where(np.isfinite(found), found, most)), most)


def skewness(contributions: Floats) -> float:
    """Return the skewness of a mean or sum of contributions, see `moments_skew`."""
    d = contributions - contributions.mean()
    square = d * d
    return float(moments_skew(square.sum(), square @ d))


def moments_skew(second: Floats | float, third: Floats | float) -> Floats:
    """Return ``sum d^3 / (sum d^2)^1.5`` from sums of powers, in [-1, 1]; 0 where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.nan_to_num(third / np.power(second, 1.5), nan=0.0, posinf=0.0, neginf=0.0)


Functional = Callable[..., Floats]
"""Takes one `Sums` of totals a judge; returns an array of shape (metrics, ...)."""

_CHUNK = 1 << 15


class Jackknife(NamedTuple):
    """Estimates, their standard errors (NaN where a unit is indispensable), df and skewness, each (metrics,)."""

    estimate: Floats
    se: Floats
    df: Floats
    skew: Floats


class Scatter(NamedTuple):
    """How one estimate varies; below ``size`` it is rounding, ``most`` is df were tails not heavy."""

    se: float
    df: float
    most: float = np.inf
    size: float = 1.0
    skew: float = 0.0

    @classmethod
    def without(cls, left_out: Floats) -> Scatter:
        """Return the scatter that the values without each unit in turn show."""
        n = len(left_out)
        if n < 2 or not np.isfinite(left_out).all():
            return cls(np.nan, np.nan)
        return cls(float(np.sqrt((n - 1) * left_out.var())), kurtosis_df(left_out))


def jackknife(functional: Functional, matrices: Sequence[Floats]) -> Jackknife:
    """Estimate metrics and their leave-one-out standard errors.

    ``se^2 = (n - 1) / n * sum_x (theta_(-x) - mean theta_(-x))^2`` over units x: prompts, or clusters of them.
    `functional` takes totals, one `Sums` a matrix; matrices are (len(Sums._fields), units), one a judge.
    """
    totals = [matrix.sum(axis=1) for matrix in matrices]
    estimate = functional(*(Sums(*total) for total in totals))
    n = matrices[0].shape[1]
    if n < 2:
        return _of_one_unit(estimate)
    seen = SpreadSoFar(len(estimate))
    for some in chunks(n):
        left = [total[:, None] - matrix[:, some] for total, matrix in zip(totals, matrices, strict=True)]
        seen.add(functional(*(Sums(*rest) for rest in left)))
    return seen.jackknife(estimate)


def from_left_out(estimate: Floats, left_out: Floats) -> Jackknife:
    """Return what the values without each unit in turn, shape (metrics, units), say of the estimates."""
    if left_out.shape[1] < 2:
        return _of_one_unit(estimate)
    seen = SpreadSoFar(len(estimate))
    seen.add(left_out)
    return seen.jackknife(estimate)


def _of_one_unit(estimate: Floats) -> Jackknife:
    unknown = np.full_like(estimate, np.nan)
    return Jackknife(estimate, unknown, unknown, unknown)


def chunks(n: int) -> Iterator[slice]:
    """Yield units a few at a time: as many as fit the cache with what is computed of them."""
    yield from (slice(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK))


class SpreadSoFar:
    """Sums of powers of deviations from the mean, gathered chunk by chunk (Pebay's update)."""

    def __init__(self, metrics: int) -> None:
        self._count = 0
        self._mean, self._second, self._third, self._fourth = (np.zeros(metrics) for _ in range(4))

    def add(self, values: Floats) -> None:
        """Add a chunk, shape (metrics, units)."""
        count, centre = values.shape[1], values.mean(axis=1)
        around = values - centre[:, None]
        second = np.einsum("mx,mx->m", around, around)
        third = np.einsum("mx,mx,mx->m", around, around, around)
        square = np.multiply(around, around, out=around)
        fourth = np.einsum("mx,mx->m", square, square)
        if not self._count:
            self._count, self._mean = count, centre
            self._second, self._third, self._fourth = second, third, fourth
            return
        a, b, n = self._count, count, self._count + count
        shift = centre - self._mean
        self._fourth = (
            self._fourth
            + fourth
            + shift**4 * a * b * (a * a - a * b + b * b) / n**3
            + 6 * shift**2 * (a * a * second + b * b * self._second) / n**2
            + 4 * shift * (a * third - b * self._third) / n
        )
        self._third = (
            self._third + third + shift**3 * a * b * (a - b) / n**2 + 3 * shift * (a * second - b * self._second) / n
        )
        self._second = self._second + second + shift**2 * a * b / n
        self._mean, self._count = self._mean + shift * b / n, n

    def jackknife(self, estimate: Floats) -> Jackknife:
        """Return the standard errors that the values left out one by one give an estimate."""
        n = self._count
        # Without a unit that adds much an estimate is lower: the two are skewed in opposite directions.
        skew = -moments_skew(self._second, self._third)
        se = np.sqrt((n - 1) / n * self._second)
        return Jackknife(estimate, se, moments_df(self._second, self._fourth, n), skew)
