"""Estimates whose intervals hold what learning the maps again would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bonwise.stats.calibration.refits import Refits, group_error
from bonwise.stats.calibration.relative_change import one_relative, ratios_less_1
from bonwise.stats.calibration.tie_breaks import one_tie_break
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, JudgeSums, minus, one_estimate, without_wild
from bonwise.stats.jackknife import Scatter, jackknife
from bonwise.stats.laws import Student
from bonwise.stats.sums import Floats, Sums

__all__ = ["refitted_difference", "refitted_estimate", "refitted_relative", "refitted_tie_breaks"]

_SAME = 1e-12  # as in estimation: an error below this share of the values is rounding


def refitted_estimate(estimands: Sequence[Estimand], found: Refits, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate metrics by the delete-a-group jackknife.

    Parameters
    ----------
    estimands : sequence of Estimand
        One that is divided by another needs that one among them.
    found : Refits
        Of the sums that `prompt_sums` names.
    rule : IntervalRule
        Its confidence and ranges; Student's t with G - 1 degrees of freedom whatever its kind.
    """
    estimates = _estimates(estimands, [e.of for e in estimands], [found], rule)
    return without_wild(estimands, estimates, lambda below: [estimates[below.name]])


def refitted_difference(
    estimands: Sequence[Estimand],
    first: Refits,
    second: Refits,
    alone: Sequence[Mapping[str, Estimate]],
    rule: IntervalRule,
) -> dict[str, Estimate]:
    """Estimate metric differences, first minus second, paired by prompt and by refit.

    Parameters
    ----------
    estimands : sequence of Estimand
    first, second : Refits
        On the same prompts and groups.
    alone : sequence of mapping of str to Estimate
        The metrics of each of the two: what they are divided by must be told from 0.
    rule : IntervalRule
    """
    estimates = _estimates(estimands, [minus(e) for e in estimands], [first, second], rule)
    return without_wild(estimands, estimates, lambda below: [one[below.name] for one in alone])


def refitted_relative(
    estimands: Sequence[Estimand], after: Refits, before: Refits, alone: Mapping[str, Estimate], rule: IntervalRule
) -> dict[str, Estimate]:
    """Estimate ``after / before - 1`` of some metrics, as `relative_change` does.

    Parameters
    ----------
    estimands : sequence of Estimand
    after, before : Refits
        On the same prompts and groups.
    alone : mapping of str to Estimate
        The metrics before.
    rule : IntervalRule
    """
    functional = ratios_less_1(estimands)
    values = functional(Sums(*after.totals), Sums(*before.totals))
    rests = functional(Sums(*after.rests), Sums(*before.rests))
    return {
        e.name: one_relative(float(value), Scatter(float(se), after.groups - 1.0), alone[e.name], e, rule)
        for e, value, se in zip(estimands, values, group_error(rests), strict=True)
    }


def refitted_tie_breaks(found: Refits, confidence: float) -> Estimate:
    """Estimate the agreement on raw ties that are told apart, as `tie_break_agreement` does.

    Parameters
    ----------
    found : Refits
        Of the two sums that `tie_break_sums` gives.
    confidence : float
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rests = found.rests[0] / found.rests[1]
    return one_tie_break(found.whole, float(group_error(rests)), confidence, df=found.groups - 1)


def _estimates(
    estimands: Sequence[Estimand],
    functions: Sequence[Callable[..., Floats]],
    found: Sequence[Refits],
    rule: IntervalRule,
) -> dict[str, Estimate]:
    def functional(*totals: Sums) -> Floats:
        return np.stack([f(*totals) for f in functions])

    sample = JudgeSums([one.whole for one in found], rule)
    values, alike, _ = jackknife(functional, sample.matrices)
    errors = group_error(functional(*(Sums(*one.rests) for one in found)))
    rows = zip(estimands, values, errors, alike, strict=True)
    df = found[0].groups - 1
    return {e.name: _one(e, sample, float(value), float(se), float(same), df) for e, value, se, same in rows}


def _one(e: Estimand, sample: JudgeSums, value: float, se: float, of_prompts: float, df: int) -> Estimate:
    """Return an estimate; the bound for prompts that are all alike asks that they be, not groups of them."""
    n, tiny = sample.count(e), _SAME * max(1.0, abs(value))
    if np.isfinite(value):
        reason = None
        if not np.isfinite(se):
            reason = "the metric loses its meaning when some group of prompts is left out"
        elif se <= tiny < of_prompts:
            reason = "leaving out any group of prompts changes nothing"
        if reason is not None:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
    # Where fewer prompts than groups contribute, the groups vary no more freely than those prompts.
    law = Student(value, se, min(df, n - 1), sample.limits(e)) if e.parts is not None else None
    return one_estimate(e, sample, value, Scatter(se, df, df), law)
