"""From per-prompt sums to estimates with intervals: one rule at every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bonwise.stats.bootstrap import bootstrap
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.jackknife import jackknife
from bonwise.stats.laws import Exact, Fieller, Law, Percentile, Student
from bonwise.stats.sums import Floats, Sums

__all__ = ["IntervalRule", "difference", "estimate"]

_SAME = 1e-12  # a standard error below this share of the values is rounding, not variation


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """How intervals are made.

    Parameters
    ----------
    kind : {"default", "bootstrap"}
        Default: jackknife with t(n - 1), Fieller for recovery.
    confidence : float
        Two-sided, in (0, 1).
    resamples, seed : int
        Of the bootstrap.
    label_range : tuple of float
        Range of the labels, which bounds the values.
    """

    kind: Literal["default", "bootstrap"] = "default"
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0
    label_range: tuple[float, float] = (0.0, 1.0)


def estimate(estimands: Sequence[Estimand], sums: Floats, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate metrics from per-prompt sums.

    Parameters
    ----------
    estimands : sequence of Estimand
    sums : ndarray of float64, shape (len(Sums._fields), prompts)
    rule : IntervalRule

    Returns
    -------
    dict of str to Estimate
        In the order of the estimands; one that is divided by another needs that one among them.
    """
    named = Sums(*sums)
    sample = _Sample([sums], (named.J - named.R, named.M - named.R), rule)
    found = _estimate(estimands, [e.of for e in estimands], sample)
    for e in estimands:
        if e.over is not None and found[e.name].estimate is not None and _may_be_0(found[e.over]):
            found[e.name] = Estimate.undefined(NOT_DISTINGUISHABLE, found[e.name].n)
    return found


def _may_be_0(found: Estimate) -> bool:
    return found.low is None or found.high is None or found.low <= 0 <= found.high


def difference(
    estimands: Sequence[Estimand], first: Floats, second: Floats, rule: IntervalRule
) -> dict[str, Estimate]:
    """Estimate metric differences, first judge minus second, paired by prompt.

    Parameters
    ----------
    estimands : sequence of Estimand
    first, second : ndarray of float64, shape (len(Sums._fields), prompts)
        The two judges' sums on the same prompts, in the same order.
    rule : IntervalRule
    """
    left, right = Sums(*first), Sums(*second)
    # Both judges chose from the same pools, so their recoveries share one denominator.
    sample = _Sample([first, second], (left.J - right.J, left.M - left.R), rule)
    return _estimate(estimands, [_minus(e) for e in estimands], sample)


def _minus(estimand: Estimand) -> Callable[..., Floats]:
    return lambda left, right: estimand.of(left) - estimand.of(right)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Per-prompt sums of one judge or two, and numerator and denominator of recovery a prompt."""

    matrices: list[Floats]
    gains: tuple[Floats, Floats]
    rule: IntervalRule

    def limits(self, e: Estimand) -> tuple[float, float]:
        low, high = e.limits if e.limits is not None else self.rule.label_range
        return (low, high) if len(self.matrices) == 1 else (low - high, high - low)

    def stretch(self, e: Estimand) -> float:
        """Return how many times the mean weight a prompt may weigh, counting prompts that contribute."""
        if e.name == "recovery" or e.average_over is None:
            return 1.0
        found = []
        for matrix in self.matrices:
            sums = Sums(*matrix)
            weights = e.average_over(sums)
            most = float(sums.pairs.max()) if weights.max() > 1 else 1.0
            found.append(most / float(weights[weights > 0].mean()))
        return max(found)

    def count(self, e: Estimand) -> int:
        return min(_count(e, Sums(*matrix)) for matrix in self.matrices)


def _estimate(
    estimands: Sequence[Estimand], functions: Sequence[Callable[..., Floats]], sample: _Sample
) -> dict[str, Estimate]:
    def functional(*totals: Sums) -> Floats:
        return np.stack([f(*totals) for f in functions])

    rule, values = sample.rule, jackknife(functional, sample.matrices)
    drawn: Sequence[Floats | None] = [None] * len(estimands)
    if rule.kind == "bootstrap":
        drawn = list(bootstrap(functional, sample.matrices, resamples=rule.resamples, seed=rule.seed))
    rows = zip(estimands, values.estimate, values.se, drawn, strict=True)
    return {e.name: _one(e, sample, float(value), float(se), replicates) for e, value, se, replicates in rows}


def _one(e: Estimand, sample: _Sample, value: float, se: float, replicates: Floats | None) -> Estimate:
    n = sample.count(e)
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    # Only rounding can carry an estimate beyond the range of its metric.
    value = float(np.clip(value, *sample.limits(e)))
    if n < 2:
        return _without_interval(value, n, "it rests on a single prompt")
    law: Law = Student(value, se, n - 1, sample.limits(e))
    if e.name == "recovery":
        law = _fieller(*sample.gains, sample.limits(e))
        if law.at(sample.rule.confidence) is None:
            # The ratio itself would be wild, whichever interval was asked for.
            return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    if not np.isfinite(se):
        return _without_interval(value, n, "the metric loses its meaning when some prompt is left out")
    if se <= _SAME * max(1.0, abs(value)):
        return _all_alike(e, sample, value, n)
    if replicates is not None:
        law, se = Percentile(replicates), float(replicates.std(ddof=1))
    return Estimate.under(law, sample.rule.confidence, estimate=value, se=se, n=n)


def _all_alike(e: Estimand, sample: _Sample, value: float, n: int) -> Estimate:
    """Bound an average over prompts that are all alike; what is no average has no bound."""
    if e.average_over is None:
        return _without_interval(value, n, "all prompts are alike")
    law = Exact(value, n, _exact_limits(e, sample, value), sample.stretch(e))
    return Estimate.under(law, sample.rule.confidence, estimate=value, se=0.0, n=n)


def _count(e: Estimand, sums: Sums) -> int:
    return len(sums.prompts) if e.counted is None else int(np.count_nonzero(e.counted(sums)))


def _without_interval(value: float, n: int, reason: str) -> Estimate:
    return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")


def _exact_limits(e: Estimand, sample: _Sample, value: float) -> tuple[float, float]:
    """Return the range for the bound of prompts that are all alike.

    Recovery is a ratio: a prompt unlike the others can move its numerator by at most the range of
    the labels, hence the ratio by that range over the mean possible gain.
    """
    low, high = sample.limits(e)
    if e.name != "recovery":
        return low, high
    width = sample.rule.label_range[1] - sample.rule.label_range[0]
    reach = width / float(np.mean(sample.gains[1]))
    return max(value - reach, low), min(value + reach, high)


def _fieller(numerator: Floats, denominator: Floats, limits: tuple[float, float]) -> Fieller:
    n = len(numerator)
    covariance = np.cov(numerator, denominator, ddof=1) / n
    return Fieller(
        float(numerator.mean()),
        float(denominator.mean()),
        float(covariance[0, 0]),
        float(covariance[0, 1]),
        float(covariance[1, 1]),
        n - 1,
        limits,
    )
