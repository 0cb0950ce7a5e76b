"""Every signal of one judge compared with the gain at every share, and the one to route by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import count, counted
from bonwise.results import given
from bonwise.routing.budget import BudgetSplit
from bonwise.routing.gain_decomposition import (
    CalibrationCheck,
    Decomposition,
    confidence_calibrated,
    decompose,
    gain_grid,
    voi_calibrated,
)
from bonwise.routing.gain_model import cross_fitted, cross_fitted_means
from bonwise.routing.judged_prompts import JudgedPrompts
from bonwise.routing.result import (
    AcrossBins,
    CheckRecord,
    GainBinRecord,
    GainDecomposition,
    JudgeRoute,
    MarginGroup,
    PredictedBound,
    RecommendedRoute,
    RoutedData,
    RoutedShareRecord,
    SignalRecord,
)
from bonwise.routing.result_router import SignalName
from bonwise.routing.saved import SavedRouter, thinned
from bonwise.routing.signals import DRAW_FEATURES, FALLBACK, LEAST_LABELS, SIGNALS, Signal, fit_signal
from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.routing import SHARES as RECOVERY_SHARES
from bonwise.stats.routing import (
    RoutedRecovery,
    RoutedShare,
    gaussian_share,
    routed_recovery,
    routed_share,
    routing_bound,
    threshold,
)
from bonwise.stats.sums import TIE_DECIMALS, Floats
from bonwise.table.facts import DroppedPrompt

__all__ = [
    "LEAST_LABELS_TO_RECOMMEND",
    "SHARES",
    "JudgeStudy",
    "Recommendation",
    "SignalStudy",
    "recommend",
    "share_record",
    "study_judge",
    "study_signal",
]


@dataclass(frozen=True, eq=False)
class SignalStudy:
    """One signal at every share."""

    signal: Signal
    reason: str = ""
    """Why there are no figures; empty where there are."""
    note: str = ""
    """What the figures leave out, such as repeated scores for lack of labels."""
    looks_at: tuple[str, ...] = ()
    """Features behind it."""
    lacking: int = 0
    """Labelled prompts without a value of the signal: they are routed last."""
    shares: tuple[RoutedShare, ...] = field(default=(), repr=False)
    corr_gain: Estimate | None = None
    decomposition: Decomposition | None = field(default=None, repr=False)
    per_prompt: Floats | None = field(default=None, repr=False)
    """The signal of each labelled prompt; of a learnt one cross-fitted."""

    def at(self, share: float) -> RoutedShare:
        """Return the figures at one of the shares studied."""
        return next(one for one in self.shares if one.share == share)

    def record(self) -> SignalRecord:
        """Return this signal's part of the document."""
        parts = self.decomposition
        studied = {} if parts is None else given(features=list(self.looks_at), lacking=self.lacking)
        return SignalRecord(
            meaning=self.signal.meaning,
            learnt=self.signal.learnt,
            shares=[share_record(one) for one in self.shares],
            corr_gain=None if self.corr_gain is None else EstimateRecord.of(self.corr_gain),
            **given(reason=self.reason or None, note=self.note or None),
            **studied,
            **given(decomposition=None if parts is None else _decomposition(parts)),
        )


def study_signal(
    signal: Signal, prompts: JudgedPrompts, shares: tuple[float, ...], confidence: float, seed: int
) -> SignalStudy:
    """Study one signal.

    Parameters
    ----------
    signal : Signal
    prompts : JudgedPrompts
    shares : tuple of float
    confidence : float
    seed : int
        Of the parts of the cross-fit.
    """
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
        values = cross_fitted(taken, prompts.gain, prompts.weights, seed=seed, one_level=True)[prompts.labelled]
    else:
        values = signal.value(features)[prompts.labelled]
    values = np.round(values, TIE_DECIMALS)  # as in production, where equal widths must tie
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


def share_record(found: RoutedShare) -> RoutedShareRecord:
    """Return one share as the schema has it; low and high are those of the part captured."""
    value, lift, captured = found.value, found.lift, found.captured
    return RoutedShareRecord(
        share=found.share,
        value=value.estimate,
        value_low=value.low,
        value_high=value.high,
        value_se=value.se,
        lift=lift.estimate,
        lift_low=lift.low,
        lift_high=lift.high,
        lift_se=lift.se,
        captured=captured.estimate,
        low=captured.low,
        high=captured.high,
        se=captured.se,
        n=value.n,
        **given(reason=captured.reason or None),
    )


def _decomposition(found: Decomposition) -> GainDecomposition:
    return GainDecomposition(
        corr_wrong=EstimateRecord.of(found.wrong),
        corr_gap=EstimateRecord.of(found.gap),
        corr_gain=EstimateRecord.of(found.gain),
        across_bins=AcrossBins(
            bins=len(found.bins),
            wrong=found.binned_wrong,
            gap=found.binned_gap,
            gain=found.binned_gain,
            **given(reason="ties leave too few bins" if found.binned_gain is None else None),
        ),
        bins=[
            GainBinRecord(
                prompts=one.prompts,
                signal=one.signal,
                wrong=EstimateRecord.of(one.wrong),
                gap=EstimateRecord.of(one.gap),
                gain=EstimateRecord.of(one.gain),
            )
            for one in found.bins
        ],
    )


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


SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50, 0.75, 1.0)
"""Shares at which every signal is compared with the gain, besides the one asked for."""


@dataclass(frozen=True, eq=False)
class JudgeStudy:
    """What routing from one judge to a perfect one is worth, signal by signal."""

    prompts: JudgedPrompts
    signals: Mapping[str, SignalStudy]
    perfect: tuple[RoutedShare, ...]
    """Prompts in the order of their true gain."""
    bounds: Mapping[float, tuple[Estimate, Estimate]]
    """By share: the estimate of corollary 3's bound for what the features were found to predict, and the part of it
    that the expected gain achieves; empty where that signal has no figures.
    """
    grid: tuple[tuple[Estimate, ...], ...]
    """E[gain | margin, level]; empty where scores leave [0, 1]."""
    confidence_calibrated: CalibrationCheck
    voi_calibrated: CalibrationCheck
    recommendation: Recommendation
    budget: BudgetSplit | None = None
    """Where a joint budget was given."""

    def router(self, *, scale: str = "", seed: int = 0) -> SavedRouter:
        """Return the recommended router, a learnt signal fitted to all labelled prompts."""
        taken, prompts = self.recommendation, self.prompts
        fitted = fit_signal(taken.signal, prompts.features, prompts.gain, prompts.weights, seed=seed)
        return SavedRouter(
            taken.signal,
            taken.share,
            taken.threshold,
            thinned(np.round(fitted.value(prompts.features), TIE_DECIMALS), prompts.population),
            fitted.model,
            prompts.panel.judge,
            scale,
            taken.captured.to_dict(),
            first=prompts.first,
        )

    def recovery_by_share(self, confidence: float) -> RoutedRecovery:
        """Return recovery by the share that is sent, in steps of 5 %, by the recommended signal."""
        prompts = self.prompts
        signal = self.signals[self.recommendation.signal].per_prompt
        if signal is None:
            raise AssertionError("a signal that is recommended has values")
        random = prompts.random
        found = (
            routed_recovery(signal, prompts.outcomes, random, share, confidence=confidence)
            for share in RECOVERY_SHARES
        )
        return RoutedRecovery(self.recommendation.signal, RECOVERY_SHARES, tuple(found))

    def record(self) -> JudgeRoute:
        """Return this judge's part of the document of schema ``bonwise.route/1``."""
        return JudgeRoute(
            data=self._data(),
            signals={one.signal.name: one.record() for one in self.signals.values()},
            perfect=[share_record(one) for one in self.perfect],
            bound=[
                PredictedBound(
                    share=share,
                    bound=EstimateRecord.of(bound),
                    achieved=EstimateRecord.of(part),
                    gaussian=gaussian_share(share),
                )
                for share, (bound, part) in self.bounds.items()
            ],
            gain_by_margin_and_level=[[EstimateRecord.of(cell) for cell in row] for row in self.grid] or None,
            confidence_calibrated=_check(self.confidence_calibrated),
            voi_calibrated=_check(self.voi_calibrated),
            recommendation=self.recommendation.record(),
            **given(budget=None if self.budget is None else self.budget.record()),
        )

    def _data(self) -> RoutedData:
        panel, labelled = self.prompts.panel, int(self.prompts.labelled.sum())
        method: Literal["complete", "labelled_only", "weighted"] = (
            "complete" if labelled == len(panel.sizes) else "labelled_only"
        )
        return RoutedData(
            prompts=len(panel.sizes),
            labelled_prompts=labelled,
            dropped=[DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in panel.dropped],
            method="weighted" if self.prompts.weighted else method,
        )


def study_judge(prompts: JudgedPrompts, share: float, *, confidence: float = 0.95, seed: int = 0) -> JudgeStudy:
    """Compare every signal of one judge with the gain.

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
    signals: dict[str, SignalStudy] = {
        one.name: study_signal(one, prompts, shares, confidence, seed) for one in SIGNALS.values()
    }
    known = {name: values[prompts.labelled] for name, values in prompts.features.items()}
    scores = prompts.panel.scores
    unit = bool(scores.min() >= 0 and scores.max() <= 1)
    return JudgeStudy(
        prompts,
        signals,
        tuple(routed_share(outcomes.gain, outcomes, one, confidence=confidence) for one in shares),
        _bounds(signals, prompts, [one for one in shares if one < 1], confidence, seed),
        gain_grid(known["margin"], known["level"], outcomes.gain, w, confidence=confidence) if unit else (),
        confidence_calibrated(known["margin"], 1 - prompts.wrong, w, confidence=confidence),
        voi_calibrated(known["margin"], outcomes.gain, w, confidence=confidence),
        recommend(signals, prompts, share, seed),
    )


def _bounds(
    signals: Mapping[str, SignalStudy], prompts: JudgedPrompts, shares: list[float], confidence: float, seed: int
) -> dict[float, tuple[Estimate, Estimate]]:
    """Bound the lift by what the learnt signals and the tenths of every other one predict."""
    outcomes = prompts.outcomes
    known = {name: one.per_prompt for name, one in signals.items() if one.per_prompt is not None}
    predicted = known.pop("expected_gain", None)
    if predicted is None or np.isnan(predicted).any():
        return {}
    others = [
        values if SIGNALS[name].learnt else cross_fitted_means(values, outcomes.gain, outcomes.relative, seed=seed)
        for name, values in known.items()
    ]
    return {
        share: routing_bound(
            predicted, outcomes, share, others=others, signals=list(known.values()), confidence=confidence
        )
        for share in shares
    }


def _check(found: CalibrationCheck) -> CheckRecord:
    return CheckRecord(
        answer=found.answer,
        reason=found.reason,
        correlation=EstimateRecord.of(found.correlation),
        groups=[MarginGroup(margin=margin, mean=EstimateRecord.of(mean)) for margin, mean in found.means],
    )
