"""Every signal of one judge held against the gain, and the one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bonwise.errors import UsageError
from bonwise.routing.budget import BudgetSplit
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.saved import SavedRouter, thinned
from bonwise.routing.signals import DRAW_FEATURES, FALLBACK, LEAST_LABELS, SIGNALS, Signal, fit_signal
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_decomposition import Decomposition, decompose, gain_grid
from bonwise.stats.gain_model import cross_fitted
from bonwise.stats.routing import RoutedShare, gaussian_share, lift_difference, routed_share, routing_bound, threshold
from bonwise.stats.sums import Floats
from bonwise.stats.voi_calibration import CalibrationCheck, confidence_calibrated, voi_calibrated

__all__ = ["SHARES", "JudgeStudy", "Recommendation", "SignalStudy", "study_judge"]

SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50, 0.75, 1.0)
"""Shares at which every signal is held against the gain, besides the one asked for."""


@dataclass(frozen=True, eq=False)
class SignalStudy:
    """One signal at every share.

    Parameters
    ----------
    signal : Signal
    reason : str
        Why there are no figures; empty where there are.
    note : str
        What the figures leave out, such as repeated scores for want of labels.
    looks_at : tuple of str
        Features behind it.
    lacking : int
        Labelled prompts without a value of the signal: they are routed last.
    shares : tuple of RoutedShare
    corr_gain : Estimate or None
    decomposition : Decomposition or None
    per_prompt : ndarray of float64 or None
        The signal of each labelled prompt; of a learnt one cross-fitted.
    """

    signal: Signal
    reason: str = ""
    note: str = ""
    looks_at: tuple[str, ...] = ()
    lacking: int = 0
    shares: tuple[RoutedShare, ...] = field(default=(), repr=False)
    corr_gain: Estimate | None = None
    decomposition: Decomposition | None = field(default=None, repr=False)
    per_prompt: Floats | None = field(default=None, repr=False)

    def at(self, share: float) -> RoutedShare:
        """Return the figures at one of the shares studied."""
        return next(one for one in self.shares if one.share == share)

    def to_dict(self) -> dict[str, Any]:
        """Return this signal's part of the document."""
        plain: dict[str, Any] = {"meaning": self.signal.meaning, "learnt": self.signal.learnt}
        if self.reason:
            plain["reason"] = self.reason
        if self.note:
            plain["note"] = self.note
        plain["shares"] = [_share(one) for one in self.shares]
        plain["corr_gain"] = None if self.corr_gain is None else self.corr_gain.to_dict()
        if self.decomposition is None:
            return plain
        plain["features"], plain["lacking"] = list(self.looks_at), self.lacking
        plain["decomposition"] = _decomposition(self.decomposition)
        return plain


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

    signal: str
    share: float
    threshold: float
    captured: Estimate
    over_fallback: Estimate | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation of the document."""
        return {
            "signal": self.signal,
            "share": self.share,
            "threshold": self.threshold,
            "captured": self.captured.to_dict(),
            "lift_over_interval_width": None if self.over_fallback is None else self.over_fallback.to_dict(),
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True, eq=False)
class JudgeStudy:
    """What routing from one judge to a perfect one is worth, signal by signal.

    Parameters
    ----------
    prompts : JudgedPrompts
    signals : mapping of str to SignalStudy
    perfect : tuple of RoutedShare
        Prompts in the order of their true gain.
    bounds : mapping of float to (Estimate, Estimate)
        By share: corollary 3's bound and the part of it that the expected gain achieves; empty where
        that signal has no figures.
    grid : tuple of tuple of Estimate
        E[gain | margin, level]; empty where scores leave [0, 1].
    confidence_calibrated, voi_calibrated : CalibrationCheck
    recommendation : Recommendation
    budget : BudgetSplit or None
        Where a joint budget was given.
    """

    prompts: JudgedPrompts
    signals: Mapping[str, SignalStudy]
    perfect: tuple[RoutedShare, ...]
    bounds: Mapping[float, tuple[Estimate, Estimate]]
    grid: tuple[tuple[Estimate, ...], ...]
    confidence_calibrated: CalibrationCheck
    voi_calibrated: CalibrationCheck
    recommendation: Recommendation
    budget: BudgetSplit | None = None

    def router(self, *, scale: str = "", seed: int = 0) -> SavedRouter:
        """Return the recommended router, a learnt signal fitted to all labelled prompts."""
        taken, prompts = self.recommendation, self.prompts
        fitted = fit_signal(taken.signal, prompts.features, prompts.gain, prompts.weights, seed=seed)
        return SavedRouter(
            taken.signal,
            taken.share,
            taken.threshold,
            thinned(fitted.value(prompts.features)),
            fitted.model,
            prompts.panel.judge,
            scale,
            taken.captured.to_dict(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return this judge's part of the document of schema ``bonwise.route/1``."""
        panel, labelled = self.prompts.panel, int(self.prompts.labelled.sum())
        split = {} if self.budget is None else {"budget": self.budget.to_dict()}
        return {
            "data": {
                "prompts": len(panel.sizes),
                "labelled_prompts": labelled,
                "dropped": [{"prompt_id": one.prompt_id, "reason": one.reason} for one in panel.dropped],
                "method": "weighted"
                if self.prompts.weighted
                else "complete"
                if labelled == len(panel.sizes)
                else "labelled_only",
            },
            "signals": {name: one.to_dict() for name, one in self.signals.items()},
            "perfect": [_share(one) for one in self.perfect],
            "bound": [
                {
                    "share": share,
                    "bound": bound.to_dict(),
                    "achieved": part.to_dict(),
                    "gaussian": gaussian_share(share),
                }
                for share, (bound, part) in self.bounds.items()
            ],
            "gain_by_margin_and_level": [[cell.to_dict() for cell in row] for row in self.grid] or None,
            "confidence_calibrated": _check(self.confidence_calibrated),
            "voi_calibrated": _check(self.voi_calibrated),
            "recommendation": self.recommendation.to_dict(),
            **split,
        }


def study_judge(prompts: JudgedPrompts, share: float, *, confidence: float = 0.95, seed: int = 0) -> JudgeStudy:
    """Hold every signal of one judge against the gain.

    Parameters
    ----------
    prompts : JudgedPrompts
    share : float
        In (0, 1), of the recommendation.
    confidence : float
    seed : int
        Of the parts of the cross-fit.

    Raises
    ------
    bonwise.errors.UsageError
        No signal can be computed.
    """
    shares = tuple(sorted({*SHARES, share}))
    outcomes, w = prompts.outcomes, prompts.outcomes.weights
    signals = {one.name: _study(one, prompts, shares, confidence, seed) for one in SIGNALS.values()}
    learnt = signals["expected_gain"].per_prompt
    known = {name: values[prompts.labelled] for name, values in prompts.features.items()}
    scores = prompts.panel.scores
    unit = bool(scores.min() >= 0 and scores.max() <= 1)
    return JudgeStudy(
        prompts,
        signals,
        tuple(routed_share(outcomes.gain, outcomes, one, confidence=confidence) for one in shares),
        {}
        if learnt is None or np.isnan(learnt).any()
        else {one: routing_bound(learnt, outcomes, one, confidence=confidence) for one in shares if one < 1},
        gain_grid(known["margin"], known["level"], outcomes.gain, w, confidence=confidence) if unit else (),
        confidence_calibrated(known["margin"], 1 - prompts.wrong, w, confidence=confidence),
        voi_calibrated(known["margin"], outcomes.gain, w, confidence=confidence),
        _recommend(signals, prompts, share, confidence, seed),
    )


def _study(
    signal: Signal, prompts: JudgedPrompts, shares: tuple[float, ...], confidence: float, seed: int
) -> SignalStudy:
    features, outcomes = prompts.features, prompts.outcomes
    labelled = len(outcomes.gain)
    missing = [name for name in signal.needs if name not in features or np.isnan(features[name]).all()]
    if missing:
        return SignalStudy(signal, signal.lacks(missing[0]))
    if signal.learnt and labelled < LEAST_LABELS:
        return SignalStudy(
            signal, f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} it takes to be learnt"
        )
    looks_at = signal.looks_at(features, labelled) if signal.learnt else signal.needs
    if signal.learnt:
        taken = {name: features[name] for name in looks_at}
        values = cross_fitted(taken, prompts.gain, prompts.weights, seed=seed)[prompts.labelled]
    else:
        values = signal.value(features)[prompts.labelled]
    without = [one for one in DRAW_FEATURES if one in features and one in signal.also and one not in looks_at]
    return SignalStudy(
        signal,
        "",
        "too few labelled prompts to look at repeated scores" if without else "",
        looks_at,
        int(np.isnan(values).sum()),
        tuple(routed_share(values, outcomes, one, confidence=confidence) for one in shares),
        correlation(values, outcomes.gain, outcomes.weights, confidence=confidence),
        decompose(values, prompts.wrong, outcomes.gain, outcomes.weights, confidence=confidence),
        values,
    )


def _recommend(
    signals: Mapping[str, SignalStudy], prompts: JudgedPrompts, share: float, confidence: float, seed: int
) -> Recommendation:
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
        taken,
        share,
        threshold(fitted.value(prompts.features), share),
        found.captured,
        over,
        _sentences(best, taken, found, signals),
    )


def _values(found: SignalStudy) -> Floats:
    if found.per_prompt is None:
        raise ValueError(f"{found.signal.name} has no values")
    return found.per_prompt


def _sentences(best: str, taken: str, found: RoutedShare, signals: Mapping[str, SignalStudy]) -> tuple[str, ...]:
    said = [f"Route by {taken}: {signals[taken].signal.meaning}."]
    if taken != best:
        said.append(f"{best} was higher on these prompts, but not beyond the interval of the difference.")
    elif taken != FALLBACK and signals[FALLBACK].per_prompt is not None:
        said.append(f"Its lift exceeds that of {FALLBACK} beyond the interval of the difference.")
    if signals["expected_gain"].per_prompt is None and signals["expected_gain"].reason:
        said.append(f"expected_gain has no figures: {signals['expected_gain'].reason}.")
    if sum(one.per_prompt is not None for one in signals.values()) > 1:
        said.append("The best of several signals looks a little better here than it will on other prompts.")
    if found.lift.low is None or found.lift.low <= 0:
        said.append("At this share no lift over random routing is shown: its interval holds 0.")
    return tuple(said)


def _share(found: RoutedShare) -> dict[str, Any]:
    """Return one share as the schema has it; low and high are those of the part captured."""
    plain: dict[str, Any] = {"share": found.share}
    for name in ("value", "lift", "captured"):
        one: Estimate = getattr(found, name)
        plain[name] = one.estimate
        ends = ("low", "high", "se") if name == "captured" else (f"{name}_low", f"{name}_high", f"{name}_se")
        plain.update(zip(ends, (one.low, one.high, one.se), strict=True))
    plain["n"] = found.value.n
    if found.captured.reason:
        plain["reason"] = found.captured.reason
    return plain


def _decomposition(found: Decomposition) -> dict[str, Any]:
    plain: dict[str, Any] = {f"corr_{name}": getattr(found, name).to_dict() for name in ("wrong", "gap", "gain")}
    plain["across_bins"] = {
        "bins": len(found.bins),
        **{name: getattr(found, f"binned_{name}") for name in ("wrong", "gap", "gain")},
    }
    if found.binned_gain is None:
        plain["across_bins"]["reason"] = "ties leave too few bins"
    plain["bins"] = [
        {"prompts": one.prompts, "signal": one.signal}
        | {name: getattr(one, name).to_dict() for name in ("wrong", "gap", "gain")}
        for one in found.bins
    ]
    return plain


def _check(found: CalibrationCheck) -> dict[str, Any]:
    return {
        "answer": found.answer,
        "reason": found.reason,
        "correlation": found.correlation.to_dict(),
        "groups": [{"margin": margin, "mean": mean.to_dict()} for margin, mean in found.means],
    }
