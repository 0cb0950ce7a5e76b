"""Intervals: what is known of an estimate, asked at any confidence.

Each law answers ``at(confidence)`` with the two-sided interval; a one-sided bound at 95 % is one
end of the two-sided interval at 90 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bonwise.stats.sums import Floats

__all__ = ["Ends", "Exact", "Fieller", "Law", "OneLess", "Percentile", "Student", "Turned", "student_quantile"]

Ends = tuple[float, float] | None


class Law(Protocol):
    """What every interval can do."""

    @property
    def kind(self) -> str:
        """Name of the rule: jackknife, fieller, clopper-pearson, bootstrap, exact, logit or bins."""
        ...

    def at(self, confidence: float) -> Ends:
        """Return the two-sided interval, or None where there is none."""
        ...


def student_quantile(confidence: float, df: float) -> float:
    """Return the two-sided critical value of Student's t."""
    # Estimates are in saved routers too, and a router in production has no use for scipy.
    from scipy import special  # noqa: PLC0415

    return float(special.stdtrit(df, 0.5 + confidence / 2))


@dataclass(frozen=True, slots=True)
class Student:
    """Estimate plus or minus t times a jackknife standard error, cut to the metric's range."""

    estimate: float
    se: float
    df: float
    limits: tuple[float, float]
    kind: str = "jackknife"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        half = student_quantile(confidence, self.df) * self.se
        return max(self.estimate - half, self.limits[0]), min(self.estimate + half, self.limits[1])


@dataclass(frozen=True, slots=True)
class Fieller:
    """Fieller's interval for a ratio of means a / b, with their covariance matrix.

    The set of ratios rho with ``(a - rho b)^2 <= t^2 (caa - 2 rho cab + rho^2 cbb)``. It is bounded
    only where b is distinguishable from 0: ``b^2 > t^2 cbb``.
    """

    a: float
    b: float
    caa: float
    cab: float
    cbb: float
    df: float
    limits: tuple[float, float] = (-np.inf, np.inf)
    kind: str = "fieller"

    @property
    def se(self) -> float:
        """Standard error of the ratio, linearised."""
        ratio = self.a / self.b
        return float(np.sqrt(max(self.caa - 2 * ratio * self.cab + ratio**2 * self.cbb, 0.0))) / abs(self.b)

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where the set is unbounded."""
        t2 = student_quantile(confidence, self.df) ** 2
        lead = self.b**2 - t2 * self.cbb
        if lead <= 0:
            return None
        middle = self.a * self.b - t2 * self.cab
        root = np.sqrt(max(middle**2 - lead * (self.a**2 - t2 * self.caa), 0.0))
        low, high = (middle - root) / lead, (middle + root) / lead
        return max(float(low), self.limits[0]), min(float(high), self.limits[1])


@dataclass(frozen=True, slots=True)
class OneLess:
    """The interval of 1 less a ratio."""

    ratio: Fieller

    @property
    def kind(self) -> str:
        """Name of the ratio's rule."""
        return self.ratio.kind

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where that of the ratio is unbounded."""
        ends = self.ratio.at(confidence)
        return None if ends is None else (1 - ends[1], 1 - ends[0])


@dataclass(frozen=True, slots=True)
class Turned:
    """The interval of a difference whose two sides are exchanged."""

    law: Law

    @property
    def kind(self) -> str:
        """Name of the difference's rule."""
        return self.law.kind

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where that of the difference has none."""
        ends = self.law.at(confidence)
        return None if ends is None else (-ends[1], -ends[0])


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """Percentiles of bootstrap replicates."""

    replicates: Floats
    kind: str = "bootstrap"

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where a replicate is undefined."""
        if not np.isfinite(self.replicates).all():
            return None
        # numpy's own quantile, linear between order statistics, at a tenth of its price for a thousand.
        tail, last = (1 - confidence) / 2, len(self.replicates) - 1
        ordered = np.sort(self.replicates)
        low, high = np.interp([tail * last, (1 - tail) * last], np.arange(last + 1), ordered)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Exact:
    """The bound when all n prompts are alike (Clopper-Pearson with no success).

    At 95 % confidence at most a share ``p = 1 - .025^(1/n)`` of prompts differs from what was seen,
    so an average over prompts with range [lo, hi] that was v in all of them lies in
    ``[v - p (v - lo), v + p (hi - v)]``. Where prompts weigh differently, those that differ may weigh
    up to `stretch` times the mean: p becomes ``p s / (p s + 1 - p)``.
    """

    estimate: float
    n: int
    limits: tuple[float, float]
    stretch: float = 1.0
    kind: str = "exact"

    def at(self, confidence: float) -> Ends:
        """Return the bound, None where the metric has no finite range."""
        low, high = self.limits
        if not np.isfinite([low, high]).all():
            return None
        alike = ((1 - confidence) / 2) ** (1 / self.n)
        share = (1 - alike) * self.stretch / ((1 - alike) * self.stretch + alike)
        return self.estimate - share * (self.estimate - low), self.estimate + share * (high - self.estimate)
