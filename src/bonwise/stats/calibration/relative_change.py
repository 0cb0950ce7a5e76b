"""By how much of itself a metric changes: the ratio of two correlated metrics, less 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule, estimate, from_jackknife, may_be_0
from bonwise.stats.jackknife import Scatter, jackknife
from bonwise.stats.sums import Floats, Sums

__all__ = ["one_relative", "ratios_less_1", "relative_change"]


def relative_change(
    estimands: Sequence[Estimand], after: Floats, before: Floats, rule: IntervalRule
) -> dict[str, Estimate]:
    """Estimate ``after / before - 1`` of some metrics, paired by prompt.

    Parameters
    ----------
    estimands : sequence of Estimand
    after, before : ndarray of float64, shape (len(Sums._fields), prompts)
        Sums on the same prompts, in the same order.
    rule : IntervalRule

    Returns
    -------
    dict of str to Estimate
        By metric, as a fraction of the metric before: 0.1 is 10 % more. The interval is the jackknife's, at t(n - 1).
        Where the metric before cannot be told from 0 there is no ratio to speak of, and the reason says so.

    Examples
    --------
    >>> from bonwise.stats.within_prompt import ESTIMANDS
    >>> from bonwise.stats.sums import prompt_sums
    >>> one = prompt_sums(np.array([.1, .5, .3, .9, .8, .2]), np.array([.1, .6, .2, 1, .9, .4]), np.full(3, 2))
    >>> relative_change([e for e in ESTIMANDS if e.name == "global_r"], one, one, IntervalRule())["global_r"].estimate
    0.0
    """
    found, alone = jackknife(ratios_less_1(estimands), [after, before]), estimate(estimands, before, rule)
    rows = zip(estimands, *found, strict=True)
    return {
        e.name: one_relative(float(value), Scatter(float(se), float(df)), alone[e.name], e, rule)
        for e, value, se, df in rows
    }


def ratios_less_1(estimands: Sequence[Estimand]) -> Callable[[Sums, Sums], Floats]:
    """Return the function of two judges' totals that gives ``first / second - 1`` of each metric."""

    def functional(after: Sums, before: Sums) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.asarray(e.of(after) / e.of(before) - 1) for e in estimands])

    return functional


def one_relative(value: float, scatter: Scatter, before: Estimate, e: Estimand, rule: IntervalRule) -> Estimate:
    """Give a relative change its interval, or the reason why there is none.

    Parameters
    ----------
    value : float
        NaN where undefined.
    scatter : Scatter
    before : Estimate
        The metric before.
    e : Estimand
    rule : IntervalRule
    """
    if before.estimate is not None and may_be_0(before):
        return Estimate.undefined(NOT_DISTINGUISHABLE, before.n)
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", before.n)
    return from_jackknife(value, scatter, before.n, (-np.inf, np.inf), rule.confidence, exact=None)
