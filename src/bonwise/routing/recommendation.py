"""Which signal to route by, and from which value on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.routed.judge import RecommendedRoute
from bonwise.documents.router import SignalName
from bonwise.errors import UsageError
from bonwise.report.numbers import count, counted
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.signal_study import SignalStudy
from bonwise.routing.signals import FALLBACK, fit_signal
from bonwise.stats.estimate import Estimate
from bonwise.stats.routing import RoutedShare, threshold

__all__ = ["LEAST_LABELS_TO_RECOMMEND", "Recommendation", "recommend"]

LEAST_LABELS_TO_RECOMMEND = 100
"""Labelled prompts from which ``expected_gain`` was found to be the best choice on prompts it was not fitted to."""

_LEAST_LABELS_FOR_THE_INTERVAL = 500
"""Labelled prompts from which the cross-fitted interval holds what the fitted router lifts as often as it says."""

_LEARNT = "expected_gain"

_FALLBACKS = (FALLBACK, "margin")
"""What is taken instead, in a fixed order: the best of several on these prompts would look better than it is."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The signal to route by at the share asked for."""

    signal: SignalName
    share: float
    threshold: float
    """Route where the signal lies above it; at it, with the probability that fills the share."""
    captured: Estimate
    """Part of the possible lift; of a learnt signal cross-fitted."""
    sentences: tuple[str, ...]

    def record(self) -> RecommendedRoute:
        """Return the recommendation of the document."""
        return RecommendedRoute(
            signal=self.signal,
            share=self.share,
            threshold=self.threshold,
            captured=EstimateRecord.of(self.captured),
            sentences=list(self.sentences),
        )


def recommend(signals: Mapping[str, SignalStudy], prompts: JudgedPrompts, share: float, seed: int) -> Recommendation:
    """Take the expected gain where 100 labelled prompts or more teach it, else the interval width or the margin.

    No signal is chosen by its figures on these prompts: the figures claimed are those of one signal, so they are
    not the best of several.

    Parameters
    ----------
    signals : mapping of str to SignalStudy
    prompts : JudgedPrompts
    share : float
        One of the shares studied.
    seed : int

    Raises
    ------
    bonwise.errors.UsageError
        No signal has figures.
    """
    learnt = signals[_LEARNT]
    taken = learnt if _taught(learnt) >= LEAST_LABELS_TO_RECOMMEND else _fallback(signals)
    fitted = fit_signal(taken.signal.name, prompts.features, prompts.gain, prompts.weights, seed=seed)
    found = taken.at(share)
    return Recommendation(
        taken.signal.name,
        share,
        threshold(fitted.value(prompts.features), share, prompts.population),
        found.captured,
        (f"{taken.signal.name}: {taken.signal.meaning}.", *_why(taken, learnt), *_caveats(taken, found)),
    )


def _taught(learnt: SignalStudy) -> int:
    """Return how many labelled prompts have all features of a learnt signal; 0 where it has no figures."""
    return 0 if learnt.per_prompt is None else len(learnt.per_prompt) - learnt.lacking


def _fallback(signals: Mapping[str, SignalStudy]) -> SignalStudy:
    for name in _FALLBACKS:
        if signals[name].per_prompt is not None:
            return signals[name]
    raise UsageError("no signal can be computed", hint="score at least two candidates of each prompt")


def _why(taken: SignalStudy, learnt: SignalStudy) -> tuple[str, ...]:
    if taken is learnt:
        said = ["Its figures are cross-fitted: each prompt's gain is predicted by a model of other prompts."]
        if _taught(learnt) < _LEAST_LABELS_FOR_THE_INTERVAL:
            least = _LEAST_LABELS_FOR_THE_INTERVAL
            said.append(f"Below {least} labelled prompts they are approximate, and too low on average.")
        return tuple(said)
    missing = f"{_LEARNT} has no figures: {learnt.reason}."
    if learnt.per_prompt is not None:
        missing = (
            f"{_LEARNT} is recommended from {LEAST_LABELS_TO_RECOMMEND} labelled prompts that have all its features; "
            f"this table has {count(_taught(learnt))}."
        )
    return missing, f"{taken.signal.name} is not shown to be better than others."


def _caveats(taken: SignalStudy, found: RoutedShare) -> tuple[str, ...]:
    said = []
    if taken.lacking:
        said.append(f"Prompts without a value of it are sent last: {counted(taken.lacking, 'labelled prompt')}.")
    if found.lift.low is None:
        said.append(f"Whether it lifts the value over random routing is not shown: {found.lift.reason}.")
    elif found.lift.low <= 0:
        said.append("At this share no lift over random routing is shown: its interval holds 0.")
    return tuple(said)
