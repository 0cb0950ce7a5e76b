"""What the labelled cells of a table say.

Figures with intervals by prompt or cluster, and two judges on the same cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.auditing.cell_table import Ints
from bonwise.auditing.result_labels import CellCounts
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.clusters import FEWEST
from bonwise.stats.estimand import Estimand, Metric
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule, difference
from bonwise.stats.jackknife import kurtosis_df
from bonwise.stats.laws import EffectiveShare, Exact, Fieller, Law, OneLess, RecoveryNearOne, Student
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.sums import Floats

__all__ = ["ContributedIntervals", "LabelledCellFigures", "compare_cells", "limits_of"]

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


@dataclass(frozen=True, eq=False)
class LabelledCellFigures:
    """Figures of one judge from every labelled cell."""

    metrics: Mapping[str, Estimate]
    """Every metric of the catalogue, in its order; one that is refused carries the reason."""
    counts: Mapping[str, CellCounts]
    """Behind each metric."""
    gain_parts: Floats | None
    """What each prompt contributes to the mean of J - R and of M - R; None where the figure is refused."""
    oracle_parts: Floats | None
    """What each prompt contributes to the mean of J - R and of M - R; None where the figure is refused."""
    ess: float
    """Complete pools of equal chance to be complete that would say as much as those there are."""
    notes: tuple[str, ...]
    """Plain sentences on what the figures can bear."""
    contributions: Mapping[str, Floats] = field(repr=False)
    """Of the metrics that are means of them: what each prompt contributes."""
    units: Ints = field(repr=False)
    """Code of the prompt or cluster that is the unit of the intervals."""
    score_sums: Floats = field(repr=False)
    """Of the scores; rows that need labels say nothing."""


def compare_cells(first: LabelledCellFigures, second: LabelledCellFigures, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate metric differences, first judge minus second, paired by prompt.

    Parameters
    ----------
    first, second : LabelledCellFigures
        Of the same prompts in the same order, with the same labels.
    rule : IntervalRule
        Its confidence and label range.

    Returns
    -------
    dict of str to Estimate
        In the order of the catalogue. Two recoveries share their denominator, for which the mean of what the two
        estimates of it hold of a prompt stands; values of the judges differ as their gains do, and figures of the
        labels alone not at all.

    Examples
    --------
    >>> from bonwise.auditing.cell_figures import cell_figures
    >>> from bonwise.auditing.cell_table import CellTable
    >>> rng = np.random.default_rng(1)
    >>> labels = np.where(rng.random(800) < .8, rng.random(800), np.nan)
    >>> judges = [CellTable(np.full(200, 4), rng.random(800), labels) for _ in range(2)]
    >>> one, other = (cell_figures(judge, IntervalRule()) for judge in judges)
    >>> found = compare_cells(one, other, IntervalRule())["gain"]
    >>> round(found.estimate - one.metrics["gain"].estimate + other.metrics["gain"].estimate, 12) + 0.0
    0.0
    """
    clustered = int(first.units.max()) + 1 < len(first.units)
    rule = replace(rule, kind="default", clusters=first.units if clustered else None)
    on_scores = [e for e in ESTIMANDS if not e.on_labels]
    found = difference(on_scores, first.score_sums, second.score_sums, rule)
    intervals = ContributedIntervals(first.units, rule)
    out = {}
    for e in ESTIMANDS:
        one = found[e.name] if e.name in found else _difference(e, first, second, intervals).with_method("cells")
        out[e.name] = one
    level = level_bias_difference(first.metrics["level_bias"], second.metrics["level_bias"], rule.confidence)
    return {**out, "level_bias": level.with_method("cells")}


def _difference(
    e: Estimand, first: LabelledCellFigures, second: LabelledCellFigures, intervals: ContributedIntervals
) -> Estimate:
    one, other = first.metrics[e.name], second.metrics[e.name]
    n = min(one.n, other.n)
    if one.estimate is None or other.estimate is None:
        return Estimate.undefined((one if one.estimate is None else other).reason or "undefined", n)
    if e.name == "recovery":
        above = first.contributions["gain"] - second.contributions["gain"]
        below = (first.contributions["oracle_gain"] + second.contributions["oracle_gain"]) / 2
        return intervals.ratio(above, below, n, recovery=False)
    if e.name == "inflation":
        parts = _inflation(first) - _inflation(second)
        return intervals.mean(parts, n, (-np.inf, np.inf), alike=False)
    low, high = limits_of(e, intervals.rule)
    if not e.on_scores:
        parts = np.zeros(len(first.units))
    else:
        name = "gain" if e.name == "value_judge" else e.name
        parts = first.contributions[name] - second.contributions[name]
    return intervals.mean(parts, n, (low - high, high - low), alike=e.average_over is not None)


def _inflation(figures: LabelledCellFigures) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Linearise 1 - within_r / global_r in what prompts contribute."""
    within, overall = figures.contributions["within_r"], figures.contributions["global_r"]
    r, g = float(within.mean()), float(overall.mean())
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = 1 - r / g - (within - r) / g + r * (overall - g) / g**2
    return found
