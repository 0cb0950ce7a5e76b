"""Which signal to route by, and from which value on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.routed.judge import RecommendedRoute
from bonwise.documents.router import SignalName
from bonwise.errors import UsageError
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.signal_study import SignalStudy
from bonwise.routing.signals import FALLBACK, fit_signal
from bonwise.stats.estimate import Estimate
from bonwise.stats.routing import RoutedShare, lift_difference, threshold
from bonwise.stats.sums import Floats

__all__ = ["Recommendation", "recommend"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The signal to route by at the share asked for.

    Parameters
    ----------
    signal : str
    share : float
    threshold : float
        Route where the signal lies above it; at it, with the probability that fills the share.
    captured : Estimate
    over_fallback : Estimate or None
        Lift of the best signal minus that of the interval width, paired by prompt; None where the
        width is the best, or there is none.
    sentences : tuple of str
    """

    signal: SignalName
    share: float
    threshold: float
    captured: Estimate
    over_fallback: Estimate | None
    sentences: tuple[str, ...]

    def record(self) -> RecommendedRoute:
        """Return the recommendation of the document."""
        over = self.over_fallback
        return RecommendedRoute(
            signal=self.signal,
            share=self.share,
            threshold=self.threshold,
            captured=EstimateRecord.of(self.captured),
            lift_over_interval_width=None if over is None else EstimateRecord.of(over),
            sentences=list(self.sentences),
        )


def recommend(
    signals: Mapping[str, SignalStudy], prompts: JudgedPrompts, share: float, confidence: float, seed: int
) -> Recommendation:
    """Take the best signal at a share where it beats the interval width beyond noise, else that width.

    Parameters
    ----------
    signals : mapping of str to SignalStudy
    prompts : JudgedPrompts
    share : float
        One of the shares studied.
    confidence : float
        Of the paired difference.
    seed : int

    Raises
    ------
    bonwise.errors.UsageError
        No signal has figures.
    """
    usable = {name: one for name, one in signals.items() if one.per_prompt is not None}
    if not usable:
        raise UsageError("no signal can be computed", hint="score at least two candidates of each prompt")
    best = max(usable, key=lambda name: usable[name].at(share).lift.estimate or 0.0)
    over, taken = None, best
    if best != FALLBACK and FALLBACK in usable:
        over = lift_difference(
            _values(usable[best]), _values(usable[FALLBACK]), prompts.outcomes, share, confidence=confidence
        )
        taken = best if over.low is not None and over.low > 0 else FALLBACK
    fitted = fit_signal(taken, prompts.features, prompts.gain, prompts.weights, seed=seed)
    found = usable[taken].at(share)
    return Recommendation(
        signals[taken].signal.name,
        share,
        threshold(fitted.value(prompts.features), share, prompts.population),
        found.captured,
        over,
        _sentences(best, taken, found, over, signals),
    )


def _values(found: SignalStudy) -> Floats:
    if found.per_prompt is None:
        raise ValueError(f"{found.signal.name} has no values")
    return found.per_prompt


def _sentences(
    best: str, taken: str, found: RoutedShare, over: Estimate | None, signals: Mapping[str, SignalStudy]
) -> tuple[str, ...]:
    said = [f"Route by {taken}: {signals[taken].signal.meaning}."]
    if taken != best and over is not None and over.low is None:
        said.append(f"{best} was higher on these prompts, but the difference has {over.reason}.")
    elif taken != best:
        said.append(f"{best} was higher on these prompts, but not beyond the interval of the difference.")
    elif taken != FALLBACK and signals[FALLBACK].per_prompt is not None:
        said.append(f"Its lift exceeds that of {FALLBACK} beyond the interval of the difference.")
    if signals["expected_gain"].per_prompt is None and signals["expected_gain"].reason:
        said.append(f"expected_gain has no figures: {signals['expected_gain'].reason}.")
    if sum(one.per_prompt is not None for one in signals.values()) > 1:
        said.append(
            "The best of several signals looks better on these prompts than on others, as it was chosen on them."
        )
    if found.lift.low is None:
        said.append(f"Whether it lifts the value over random routing is not shown: {found.lift.reason}.")
    elif found.lift.low <= 0:
        said.append("At this share no lift over random routing is shown: its interval holds 0.")
    return tuple(said)
