"""Intervals from what prompts contribute: by prompt, or by cluster of prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.stats.cells.table import Ints
from bonwise.stats.clusters import FEWEST
from bonwise.stats.end_laws import EffectiveShare, RecoveryNearOne
from bonwise.stats.estimand import Metric
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.kurtosis import kurtosis_df
from bonwise.stats.laws import Exact, Fieller, Law, OneLess, Student
from bonwise.stats.sums import Floats

__all__ = ["ContributedIntervals", "limits_of"]

_SAME = 1e-12
_ANYWHERE = (-np.inf, np.inf)


def limits_of(e: Metric, rule: IntervalRule) -> tuple[float, float]:
    """Return the range of a metric."""
    limits: tuple[float, float] | None = getattr(e, "limits", None)
    low, high = limits if limits is not None else rule.label_range
    return (low - high, high - low) if getattr(e, "contrast", False) else (low, high)


@dataclass(frozen=True, eq=False)
class ContributedIntervals:
    """Makes estimates of contributions of prompts, whose mean is the estimate."""

    units: Ints
    """Code of the unit of each prompt, from 0 without gaps."""
    rule: IntervalRule

    def mean(
        self, contributions: Floats, n: int, limits: tuple[float, float], *, bounded: bool = False, alike: bool = True
    ) -> Estimate:
        """Return the mean of contributions with its interval.

        Parameters
        ----------
        contributions : ndarray of float64, shape (prompts,)
        n : int
            Pools behind it.
        limits : tuple of float
            Range of the metric, to which the estimate is cut.
        bounded : bool
            Whether it is a mean of values that lie within the limits.
        alike : bool
            Whether a bound can be given where all contributions are equal.
        """
        value, confidence = float(contributions.mean()), self.rule.confidence
        se, df = self.scatter(contributions)
        shown = min(max(value, limits[0]), limits[1])
        reason = self._too_few(n)
        if reason:
            return Estimate(shown, None, None, None, n, None, reason=f"no interval: {reason}")
        finite = bool(np.isfinite(limits).all())
        at_end = bounded and finite and not limits[0] < value < limits[1]
        if se <= _SAME * max(1.0, abs(value)) or at_end:
            if not alike:
                reason = "no interval: leaving out any prompt changes nothing"
                return Estimate(shown, None, None, None, n, None, reason=reason)
            return Estimate.under(Exact(shown, n, limits), confidence, estimate=shown, se=se if at_end else 0.0, n=n)
        law: Law = Student(shown, se, df, limits)
        if bounded and finite:
            law = EffectiveShare(shown, se, df, limits)
        return Estimate.under(law, confidence, estimate=shown, se=se, n=n)

    def ratio(self, above: Floats, below: Floats, n: int, *, recovery: bool) -> Estimate:
        """Return the ratio of two means with Fieller's interval.

        Parameters
        ----------
        above, below : ndarray of float64, shape (prompts,)
        n : int
            Pools behind it.
        recovery : bool
            Whether it is at most 1 and has the interval of a recovery near 1.
        """
        law = self._fieller(above, below, (-np.inf, 1.0) if recovery else _ANYWHERE)
        reason = self._too_few(n)
        if law is None or (not reason and law.at(self.rule.confidence) is None):
            return Estimate.undefined(NOT_DISTINGUISHABLE, n)
        value = min(law.a / law.b, law.limits[1])
        if reason:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
        if law.se <= _SAME * max(1.0, abs(value)):
            return Estimate(value, None, None, None, n, None, reason="no interval: all prompts are alike")
        shown = RecoveryNearOne.over(law, value, law.se, law.df) if recovery else law
        return Estimate.under(shown, self.rule.confidence, estimate=value, se=law.se, n=n)

    def lost(self, above: Floats, below: Floats, n: int) -> Estimate:
        """Return 1 less the ratio of two means, with no value where its interval is unbounded."""
        law = self._fieller(above, below, _ANYWHERE)
        if law is None or law.at(self.rule.confidence) is None:
            return Estimate.undefined(f"unbounded: {NOT_DISTINGUISHABLE}", n)
        value = 1 - law.a / law.b
        reason = self._too_few(n)
        if reason:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
        return Estimate.under(OneLess(law), self.rule.confidence, estimate=value, se=law.se, n=n)

    def by_unit(self, contributions: Floats) -> Floats:
        """Return contributions of units, with the same mean: ``mean + (G / n) sum_{x in g} (psi_x - mean)``."""
        mean, count = contributions.mean(), int(self.units.max()) + 1
        if count == len(self.units):
            return contributions
        sums = np.bincount(self.units, weights=contributions - mean, minlength=count)
        found: Floats = mean + count / len(self.units) * sums
        return found

    def scatter(self, contributions: Floats) -> tuple[float, float]:
        """Return standard error and degrees of freedom of a mean."""
        values = self.by_unit(contributions)
        if len(values) < 2:
            return 0.0, 1.0
        return float(values.std(ddof=1) / np.sqrt(len(values))), kurtosis_df(values)

    def _fieller(self, above: Floats, below: Floats, limits: tuple[float, float]) -> Fieller | None:
        first, second = self.by_unit(above), self.by_unit(below)
        a, b, count = float(first.mean()), float(second.mean()), len(first)
        if b == 0 or count < 2:
            return None
        (caa, cab), (_, cbb) = (np.cov(first, second, ddof=1) / count).tolist()
        return Fieller(a, b, caa, cab, cbb, kurtosis_df(first - a / b * second), limits)

    def _too_few(self, n: int) -> str:
        """Why no interval can be given, whatever the metric; empty where one can."""
        count = int(self.units.max()) + 1
        if count == len(self.units):
            return "it rests on a single prompt" if n < 2 else ""
        if count < FEWEST:
            return f"the prompts are in {count} cluster{'s' * (count != 1)}, and an interval needs {FEWEST}"
        return ""
