"""Recovery after a share of the prompts went to a judge that never errs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.stats.end_laws import RecoveryNearOne
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.kurtosis import kurtosis_df
from bonwise.stats.laws import Fieller
from bonwise.stats.routing import Outcomes, lift_contributions
from bonwise.stats.sums import Floats

__all__ = ["SHARES", "RoutedRecovery", "routed_recovery"]

SHARES = tuple(step / 20 for step in range(21))
"""Shares at which recovery is told: none of the prompts, all of them, and steps of 5 % between."""

_SAME = 1e-12


class RoutedRecovery(NamedTuple):
    """Recovery by the share of the prompts that is sent."""

    signal: str
    """By which they are chosen."""
    shares: tuple[float, ...]
    """In rising order."""
    recoveries: tuple[Estimate, ...]
    """One per share."""


def routed_recovery(
    signal: Floats, outcomes: Outcomes, random: Floats, share: float, *, confidence: float = 0.95
) -> Estimate:
    """Estimate recovery where a share of the prompts is sent to a judge that never errs.

    With ``p_t`` the probability that prompt t is sent, ``g_t`` what it gains then, ``v_t`` the label of the first
    judge's pick and ``r_t`` that of a random one: ``mean(v_t + p_t g_t - r_t) / mean(v_t + g_t - r_t)``, a ratio of
    means with Fieller's interval and the low end of `bonwise.stats.end_laws.RecoveryNearOne`. The interval holds for
    fresh prompts, as that of `bonwise.stats.routing.routed_share`.

    Parameters
    ----------
    signal : ndarray of float64, shape (prompts,)
        Higher: sooner sent.
    outcomes : Outcomes
    random : ndarray of float64, shape (prompts,)
        Expected label of a random pick.
    share : float
        In [0, 1].
    confidence : float
        Of the two-sided interval.

    Examples
    --------
    >>> gain = np.tile([0.4, 0.0, 0.2, 0.0], 25)
    >>> outcomes = Outcomes(0.9 - gain, gain, np.ones(100))
    >>> one = routed_recovery(np.tile([3.0, 2.0, 1.0, 0.0], 25), outcomes, np.full(100, 0.4), 0.5)
    >>> round(one.estimate, 3), round(one.low, 3), round(one.high, 3)
    (0.9, 0.86, 0.935)
    """
    w, n = outcomes.relative, len(random)
    if share >= 1:
        return Estimate(1.0, 1.0, 1.0, 0.0, n, "exact")
    sent = share * outcomes.gain
    if share > 0:
        sent = sent + lift_contributions(signal, outcomes, share)
    above = w * (outcomes.value + sent - random)
    below = w * (outcomes.value + outcomes.gain - random)
    a, b = float(above.mean()), float(below.mean())
    if n < 2 or b <= _SAME:
        return Estimate.undefined("undefined: needs two prompts where labels differ", n)
    (caa, cab), (_, cbb) = (np.cov(above, below, ddof=1) / n).tolist()
    law = Fieller(a, b, caa, cab, cbb, kurtosis_df(above - a / b * below), (-np.inf, 1.0))
    if law.at(confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    value = min(a / b, 1.0)
    if law.se <= _SAME:
        return Estimate(value, None, None, None, n, None, reason="no interval: all prompts are alike")
    return Estimate.under(
        RecoveryNearOne.over(law, value, law.se, law.df), confidence, estimate=value, se=law.se, n=n
    )
