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
        In the order of the estimands.
    """
    found = _estimate(estimands, [sums], lambda e: e.of, _gains, rule)
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
    return _estimate(estimands, [first, second], _minus, _gain_differences, rule)


def _minus(estimand: Estimand) -> Callable[..., Floats]:
    return lambda left, right: estimand.of(left) - estimand.of(right)


def _gains(sums: Sums) -> tuple[Floats, Floats]:
    return sums.J - sums.R, sums.M - sums.R


def _gain_differences(first: Sums, second: Sums) -> tuple[Floats, Floats]:
    # Both judges chose from the same pools, so their recoveries share one denominator.
    return first.J - second.J, first.M - first.R


def _estimate(
    estimands: Sequence[Estimand],
    matrices: list[Floats],
    function: Callable[[Estimand], Callable[..., Floats]],
    gains: Callable[..., tuple[Floats, Floats]],
    rule: IntervalRule,
) -> dict[str, Estimate]:
    functions = [function(e) for e in estimands]

    def functional(*totals: Sums) -> Floats:
        return np.stack([f(*totals) for f in functions])

    values = jackknife(functional, matrices)
    named = [Sums(*matrix) for matrix in matrices]
    replicates = (
        bootstrap(functional, matrices, resamples=rule.resamples, seed=rule.seed)
        if rule.kind == "bootstrap"
        else None
    )
    out = {}
    for m, e in enumerate(estimands):
        n = min(_count(e, sums) for sums in named)
        if not np.isfinite(values.estimate[m]):
            out[e.name] = Estimate.undefined(f"undefined: needs {e.needs}", n)
            continue
        limits = _limits(e, rule, paired=len(matrices) > 1)
        # Only rounding can carry an estimate beyond the range of its metric.
        value = float(np.clip(values.estimate[m], *limits))
        se = float(values.se[m])
        if n < 2 or not values.defined[m]:
            out[e.name] = _without_interval(value, n)
            continue
        if se <= _SAME * max(1.0, abs(value)):
            law: Law = Exact(value, n, _exact_limits(e, value, limits, named[0], rule))
            se = 0.0
        elif replicates is not None:
            law, se = Percentile(replicates[m]), float(replicates[m].std(ddof=1))
        elif e.name == "recovery":
            law = _fieller(*gains(*named), limits)
        else:
            law = Student(value, se, n - 1, limits)
        out[e.name] = _guarded(Estimate.under(law, rule.confidence, estimate=value, se=se, n=n))
    return out


def _count(e: Estimand, sums: Sums) -> int:
    return len(sums.prompts) if e.counted is None else int(np.count_nonzero(e.counted(sums)))


def _without_interval(value: float, n: int) -> Estimate:
    reason = (
        "no interval: it rests on a single prompt"
        if n < 2
        else "no interval: the metric loses its meaning when some prompt is left out"
    )
    return Estimate(value, None, None, None, n, None, reason=reason)


def _limits(e: Estimand, rule: IntervalRule, *, paired: bool) -> tuple[float, float]:
    low, high = e.limits if e.limits is not None else rule.label_range
    return (low - high, high - low) if paired else (low, high)


def _exact_limits(
    e: Estimand, value: float, limits: tuple[float, float], sums: Sums, rule: IntervalRule
) -> tuple[float, float]:
    """Return the range for the bound of prompts that are all alike.

    Recovery is a ratio: a prompt unlike the others can move its numerator by at most the range of
    the labels, hence the ratio by that range over the mean possible gain.
    """
    if e.name != "recovery":
        return limits
    reach = (rule.label_range[1] - rule.label_range[0]) / float(np.mean(sums.M - sums.R))
    return max(value - reach, limits[0]), min(value + reach, limits[1])


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


def _guarded(found: Estimate) -> Estimate:
    """Withhold a ratio whose denominator may be 0: the number would be wild."""
    if found.reason == NOT_DISTINGUISHABLE:
        return Estimate.undefined(NOT_DISTINGUISHABLE, found.n)
    return found
