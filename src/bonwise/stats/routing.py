"""What routing prompts to a perfect judge is worth, what a signal captures of that, and the recovery after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Mask
from bonwise.stats import correlation, estimation, jackknife, laws, sums
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimate

_WINDOW = 0.02  # part of the prompts, on each side of the threshold, whose mean gain stands for the gain there
_LEAST_WINDOW = 25  # prompts on each side, where there are as many
_SAME = 1e-12  # a part of the values that is rounding


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What each labelled prompt is worth under the weak judge, and what the stronger one would add."""

    value: Floats
    """Expected label of the weak judge's pick, in units of the label."""
    gain: Floats
    """Label of the stronger judge's pick minus that value; of a judge that never errs, the highest label minus it."""
    weights: Floats
    """Such as 1 / propensity; ones where prompts were labelled alike."""
    best: Floats | None = None
    """Highest label, where the stronger judge errs; None of one that never does."""

    @property
    def relative(self) -> Floats:
        """Weights with mean 1."""
        relative: Floats = self.weights / self.weights.mean()
        return relative

    def some(self, which: Mask) -> Outcomes:
        """Return some of the prompts."""
        best = None if self.best is None else self.best[which]
        return Outcomes(self.value[which], self.gain[which], self.weights[which], best)

    @property
    def perfect(self) -> Outcomes:
        """The same where the stronger judge never errs."""
        # Only rounding can carry such a gain below 0.
        return (
            self if self.best is None else Outcomes(self.value, np.maximum(self.best - self.value, 0), self.weights)
        )


def routed_share(
    signal: Floats, outcomes: Outcomes, share: float, *, confidence: float = 0.95
) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate what routing a share, in (0, 1], of the prompts by a signal is worth: value, lift and captured.

    The value is the mean label after routing, in units of the label, the lift is that less the value of routing the
    same share at random, and captured is the lift as a part of that of the perfect order, which routes by the gain.

    The highest signals are routed; ties at the threshold with the probability p_t that fills the share b, NaN last.
    With g_t the gain, ``lift = mean (p_t - b) g_t``. Intervals hold for fresh prompts at a threshold estimated from
    as many: prompt t moves the lift by ``(p_t - b)(g_t - m) - lift``, m being the mean gain at the threshold; how a
    learnt signal came to be is not in them. ``captured`` is a ratio of two such means, with Fieller's interval. Lift
    and captured have no interval where fewer than 20 prompts are routed, ties in expectation.
    """
    w = outcomes.relative
    mine = lift_contributions(signal, outcomes, share)
    best = lift_contributions(outcomes.gain, outcomes, share, exact=True)
    after = outcomes.value + share * outcomes.gain + mine
    value, lift = float(np.mean(w * after)), float(np.mean(w * mine))
    few = _too_few(routed_part(signal, share, w))
    return (
        correlation.from_influence(value, w * (after - value), confidence=confidence),
        correlation.without_interval(_lift(lift, w * (mine - lift), share, confidence), few),
        correlation.without_interval(_captured(w * mine, w * best, share, confidence), few),
    )


def routing_bound(
    predicted: Floats,
    outcomes: Outcomes,
    share: float,
    *,
    others: Sequence[Floats] = (),
    signals: Sequence[Floats] = (),
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """Estimate the bound of corollary 3 for what some features were found to predict.

    ``V(router) - V(random) <= sd(Delta) sqrt(b (1 - b))`` with ``Delta = E[gain | W]``. ``cov(prediction, gain) /
    sd(prediction)`` of cross-fitted predictions estimates ``sd(Delta)``: noise does not inflate it, what they miss is
    not in it. The largest of `predicted` and `others` is taken, and never less than the lift of any of `signals`.
    Returned are the bound, in units of the label, and the lift of routing by `predicted` as a part of it
    (`gaussian_share` for a normal Delta), conditional on the prediction or signal taken.
    """
    w, n = outcomes.relative, len(predicted)
    found = [_from_spread(one, outcomes, share) for one in (predicted, *others)]
    found += [_from_lift(one, outcomes, share) for one in (predicted, *signals)]
    size, moves = max(found, key=lambda one: one[0])
    if size <= _SAME * float(np.abs(outcomes.gain).max(initial=0.0)):
        unknown = Estimate.undefined("no prediction goes with the gain", n)
        return unknown, unknown
    bound = correlation.from_influence(size, moves, confidence=confidence, limits=(0.0, np.inf))
    mine = lift_contributions(predicted, outcomes, share)
    lift = float(np.mean(w * mine))
    part = lift / size
    achieved = correlation.from_influence(part, (w * (mine - lift) - part * moves) / size, confidence=confidence)
    few = _too_few(routed_part(predicted, share, w))
    return bound, correlation.without_interval(achieved, few)


def gaussian_share(share: float) -> float:
    """Return the part of the bound that a normally distributed Delta reaches: ``phi(z_b) / sqrt(b (1 - b))``."""
    z = float(special.ndtri(1 - share))
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / math.sqrt(share * (1 - share))


def threshold(signal: Floats, share: float, weights: Floats | None = None) -> float:
    """Return the value such that the share of prompts lies at or above it, infinity first and NaN last."""
    found, _ = _edge(_ranked(signal), share, np.ones(len(signal)) if weights is None else weights)
    finite = signal[np.isfinite(signal)]
    return found if np.isfinite(found) else float(finite.max() if found > 0 else finite.min())


def routed_part(signal: Floats, share: float, weights: Floats) -> Floats:
    """Return each prompt's probability of being routed, highest signal first, NaN last; ties share what is left."""
    if share <= 0:
        return np.zeros(len(signal))
    values = _ranked(signal)
    edge, part = _edge(values, share, weights)
    found: Floats = (values > edge) + (values == edge) * part
    return found


def _ranked(signal: Floats) -> Floats:
    """Return the signal with equal values exactly equal, and the lowest one where there is none."""
    return np.where(np.isnan(signal), -np.inf, sums.compared(signal))


def _edge(values: Floats, share: float, weights: Floats) -> tuple[float, float]:
    """Return the value at which the share is filled, and which part of the prompts there it takes."""
    distinct, at = np.unique(values, return_inverse=True)
    masses = np.bincount(at, weights=weights / weights.sum(), minlength=len(distinct))
    above = np.cumsum(masses[::-1])[::-1]
    filled = np.flatnonzero(above >= share - 1e-12)
    # The sum over many prompts may end below 1 by rounding: a share of 1 is then filled by the lowest value.
    edge = int(filled[-1]) if filled.size else 0
    rest = share - float(above[edge + 1]) if edge + 1 < len(distinct) else share
    return float(distinct[edge]), min(rest / float(masses[edge]), 1.0)


def _too_few(routed: Floats) -> str:
    """Say on how few routed prompts a figure rests; empty where they are enough."""
    count = float(routed.sum())
    return f"it rests on {count:.3g} routed prompts" if count < correlation.LEAST_CARRIERS - 1e-9 else ""


def lift_contributions(signal: Floats, outcomes: Outcomes, share: float, *, exact: bool = False) -> Floats:
    """Return ``(p - b)(g - m)``, symbols as in `routed_share`; if `exact`, the gain is the signal and m is known."""
    values, w, gain = _ranked(signal), outcomes.relative, outcomes.gain
    edge, _ = _edge(values, share, w)
    there = edge if exact else _gain_at(values, values == edge, gain, w)
    return (routed_part(signal, share, w) - share) * (gain - there)


def _from_spread(predicted: Floats, outcomes: Outcomes, share: float) -> tuple[float, Floats]:
    """Return the bound by one prediction, and its influence values."""
    w, reach = outcomes.relative, math.sqrt(share * (1 - share))
    h = predicted - np.average(predicted, weights=w)
    g = outcomes.gain - np.average(outcomes.gain, weights=w)
    spread = float(np.sqrt(np.average(h**2, weights=w)))
    if spread <= _SAME * float(np.abs(predicted).max(initial=0.0)):
        return 0.0, np.zeros(len(w))
    together = float(np.average(h * g, weights=w))
    sd = together / spread
    return reach * sd, reach * w * ((h * g - together) / spread - sd * (h**2 - spread**2) / (2 * spread**2))


def _from_lift(signal: Floats, outcomes: Outcomes, share: float) -> tuple[float, Floats]:
    """Return the lift of one signal, which is a bound from below, and its influence values."""
    w = outcomes.relative
    mine = lift_contributions(signal, outcomes, share)
    lift = float(np.mean(w * mine))
    return lift, w * (mine - lift)


def _gain_at(values: Floats, ties: Mask, gain: Floats, w: Floats) -> float:
    """Return the mean gain at the threshold: of the prompts that tie there, or of enough around it."""
    around = max(_LEAST_WINDOW, int(_WINDOW * len(values)))
    near = ties
    if np.count_nonzero(ties) < 2 * around:
        order = np.argsort(values, kind="stable")
        places = np.flatnonzero(ties[order])
        near = np.zeros(len(values), dtype=bool)
        near[order[max(0, int(places[0]) - around) : int(places[-1]) + around + 1]] = True
    return float(np.average(gain[near], weights=w[near]))


def _lift(lift: float, influence: Floats, share: float, confidence: float) -> Estimate:
    if share >= 1:
        return Estimate(0.0, 0.0, 0.0, 0.0, len(influence), "exact")
    return correlation.from_influence(lift, influence, confidence=confidence)


def _captured(mine: Floats, best: Floats, share: float, confidence: float) -> Estimate:
    n = len(mine)
    if share >= 1:
        return Estimate.undefined("every prompt is routed, in whatever order", n)
    if n < 2:
        return Estimate.undefined("it rests on a single prompt", n)
    top, bottom = float(mine.mean()), float(best.mean())
    covariance = np.cov(mine, best, ddof=1) / n
    if bottom <= _SAME * float(np.abs(best).max()):
        return Estimate.undefined("no order is better than another: all gains are equal", n)
    part = top / bottom
    df = jackknife.kurtosis_df(mine - part * best)
    law = laws.Fieller(
        top, bottom, float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1]), df, (-np.inf, 1.0)
    )
    if law.at(confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    moves = (mine - part * best) / bottom
    se = float(np.sqrt(np.sum(moves**2) / (n * (n - 1))))
    return estimation.under(law, confidence, estimate=part, se=se, n=n)


SHARES = tuple(step / 20 for step in range(21))
"""Shares at which recovery is told: none of the prompts, all of them, and steps of 5 % between."""


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
    """Estimate recovery where a share, in [0, 1], of the prompts is sent to the stronger judge.

    With ``p_t`` the probability that prompt t is sent, ``g_t`` what it gains, ``v_t`` the label of the first judge's
    pick, ``r_t`` that of a `random` one and ``m_t`` the highest: ``mean(v_t + p_t g_t - r_t) / mean(m_t - r_t)``. The
    interval is Fieller's for fresh prompts, as in `routed_share`, with the low end of `RecoveryNearOne`.
    """
    w, n = outcomes.relative, len(random)
    if share >= 1 and outcomes.best is None:
        return Estimate(1.0, 1.0, 1.0, 0.0, n, "exact")
    best = outcomes.value + outcomes.gain if outcomes.best is None else outcomes.best
    above = w * (outcomes.value + _sent(signal, outcomes, share) - random)
    below = w * (best - random)
    a, b = float(above.mean()), float(below.mean())
    if n < 2 or b <= _SAME * float(np.abs(below).max()):
        return Estimate.undefined("undefined: needs two prompts where labels differ", n)
    (caa, cab), (_, cbb) = (np.cov(above, below, ddof=1) / n).tolist()
    law = laws.Fieller(a, b, caa, cab, cbb, jackknife.kurtosis_df(above - a / b * below), (-np.inf, 1.0))
    if law.at(confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    value = min(a / b, 1.0)
    if law.se <= _SAME:
        return Estimate(value, None, None, None, n, None, reason="no interval: all prompts are alike")
    return estimation.under(
        laws.RecoveryNearOne.over(law, value, law.se, law.df), confidence, estimate=value, se=law.se, n=n
    )


def routed_differences(
    signal: Floats, outcomes: Outcomes, share: float, *, confidence: float = 0.95
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the mean label of a routed share, it less the first judge's, and the stronger's less it."""
    w, sent = outcomes.relative, _sent(signal, outcomes, share)
    value, over, under = (
        correlation.from_influence(float(np.mean(w * part)), w * (part - np.mean(w * part)), confidence=confidence)
        for part in (outcomes.value + sent, sent, outcomes.gain - sent)
    )
    return value, over, under


def _sent(signal: Floats, outcomes: Outcomes, share: float) -> Floats:
    """Return what sending the share adds to each prompt, as it moves with the threshold."""
    sent: Floats = share * outcomes.gain
    return sent + lift_contributions(signal, outcomes, share) if 0 < share < 1 else sent
