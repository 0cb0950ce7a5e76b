"""Every signal of one judge compared with the gain at every share, and the one to route by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import count, counted
from bonwise.results import given
from bonwise.routing import gain_decomposition, gain_model, judged_prompts, result, result_router, saved
from bonwise.routing.signals import (
    DRAW_FEATURES,
    FALLBACK,
    LEAST_LABELS,
    SIGNALS,
    Signal,
    compared_signals,
    fit_signal,
)
from bonwise.stats import routing, sums
from bonwise.stats.correlation import correlation
from bonwise.stats.estimand import Estimate
from bonwise.table.facts import DroppedPrompt

__all__ = [
    "LEAST_LABELS_TO_RECOMMEND",
    "SHARES",
    "StudiedJudge",
    "StudiedSignal",
    "recommend",
    "share_record",
    "study_judge",
    "study_signal",
]


@dataclass(frozen=True, eq=False)
class StudiedSignal:
    """One signal at every share, with what a recommendation takes beside its part of the document."""

    signal: Signal
    record: result.SignalRecord
    shares: Mapping[float, tuple[Estimate, Estimate, Estimate]] = field(default_factory=dict, repr=False)
    """Value, lift and captured at each share."""
    per_prompt: sums.Floats | None = field(default=None, repr=False)
    """The signal of each labelled prompt; of a learnt one cross-fitted."""

    @classmethod
    def without(cls, signal: Signal, reason: str) -> StudiedSignal:
        """Return a signal without figures."""
        record = result.SignalRecord(
            meaning=signal.meaning, learnt=signal.learnt, reason=reason, shares=[], corr_gain=None
        )
        return cls(signal, record)

    @property
    def lacking(self) -> int:
        """Labelled prompts without a value of the signal, though two candidates are scored: they are routed last."""
        return self.record.lacking or 0


def study_signal(
    signal: Signal, prompts: judged_prompts.JudgedPrompts, shares: tuple[float, ...], confidence: float, seed: int
) -> StudiedSignal:
    """Study one signal; the seed deals the parts of the cross-fit."""
    features, outcomes = prompts.features, prompts.outcomes
    labelled = len(outcomes.gain)
    missing = [name for name in signal.needs if name not in features or np.isnan(features[name]).all()]
    if missing:
        return StudiedSignal.without(signal, signal.lacks(missing[0]))
    if signal.learnt and labelled < LEAST_LABELS:
        return StudiedSignal.without(
            signal, f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} it takes to be learnt"
        )
    looks_at = signal.looks_at(features, labelled) if signal.learnt else signal.needs
    if signal.learnt:
        taken = {name: features[name] for name in looks_at}
        values = gain_model.cross_fitted(taken, prompts.gain, prompts.weights, seed=seed, one_level=True)
    else:
        values = signal.value(features)
    values = compared_signals(values)  # as in production, where equal widths must tie
    sent, values = prompts.sent_first(values)[prompts.labelled], values[prompts.labelled]
    without = [
        feature
        for feature in DRAW_FEATURES
        if feature in features and feature in signal.also and feature not in looks_at
    ]
    figures = {share: routing.routed_share(sent, outcomes, share, confidence=confidence) for share in shares}
    record = result.SignalRecord(
        meaning=signal.meaning,
        learnt=signal.learnt,
        shares=[share_record(at, figures[at]) for at in shares],
        corr_gain=EstimateRecord.of(correlation(values, outcomes.gain, outcomes.weights, confidence=confidence)),
        features=list(looks_at),
        lacking=int(np.isnan(sent).sum()),
        decomposition=gain_decomposition.decompose(
            values, prompts.wrong, outcomes.gain, outcomes.weights, confidence=confidence
        ),
        **given(note="too few labelled prompts to look at repeated scores" if without else None),
    )
    return StudiedSignal(signal, record, figures, sent)


def share_record(share: float, figures: tuple[Estimate, Estimate, Estimate]) -> result.RoutedShareRecord:
    """Return one share as the schema has it; low and high are those of the part captured."""
    value, lift, captured = figures
    return result.RoutedShareRecord(
        share=share,
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


LEAST_LABELS_TO_RECOMMEND = 100
"""Labelled prompts from which ``expected_gain`` was found to be the best choice on prompts it was not fitted to."""

_LEAST_LABELS_FOR_THE_INTERVAL = 500
"""Labelled prompts from which the cross-fitted interval holds what the fitted router lifts as often as it says."""

_LEARNT: result_router.SignalName = "expected_gain"

_FALLBACKS: tuple[result_router.SignalName, ...] = (FALLBACK, "margin")
"""What is taken instead, in a fixed order: the best of several on these prompts would look better than it is."""


def recommend(
    signals: Mapping[result_router.SignalName, StudiedSignal],
    prompts: judged_prompts.JudgedPrompts,
    share: float,
    seed: int,
) -> result.RecommendedRoute:
    """Take the expected gain where 100 labelled prompts or more teach it, else the interval width or the margin.

    None is chosen by its figures on these prompts, so that the figures claimed are not the best of several.
    """
    learnt = signals[_LEARNT]
    taken = learnt if _taught(learnt) >= LEAST_LABELS_TO_RECOMMEND else _fallback(signals)
    fitted = fit_signal(taken.signal.name, prompts.features, prompts.gain, prompts.weights, seed=seed)
    _, lift, captured = taken.shares[share]
    return result.RecommendedRoute(
        signal=taken.signal.name,
        share=share,
        threshold=routing.threshold(prompts.sent_first(fitted.value(prompts.features)), share, prompts.population),
        captured=EstimateRecord.of(captured),
        sentences=[
            f"{taken.signal.name}: {taken.signal.meaning}.",
            *_why(taken, learnt),
            *_caveats(taken, lift, int((~prompts.settled).sum())),
        ],
    )


def _taught(learnt: StudiedSignal) -> int:
    """Return how many labelled prompts have all features of a learnt signal; 0 where it has no figures."""
    return 0 if learnt.per_prompt is None else int(np.isfinite(learnt.per_prompt).sum())


def _fallback(signals: Mapping[result_router.SignalName, StudiedSignal]) -> StudiedSignal:
    for name in _FALLBACKS:
        if signals[name].per_prompt is not None:
            return signals[name]
    raise UsageError("no signal can be computed", hint="score at least two candidates of each prompt")


def _why(taken: StudiedSignal, learnt: StudiedSignal) -> tuple[str, ...]:
    if taken is learnt:
        sentences = ["Its figures are cross-fitted: each prompt's gain is predicted by a model of other prompts."]
        if _taught(learnt) < _LEAST_LABELS_FOR_THE_INTERVAL:
            least = _LEAST_LABELS_FOR_THE_INTERVAL
            sentences.append(f"Below {least} labelled prompts they are approximate, and too low on average.")
        return tuple(sentences)
    missing = f"{_LEARNT} has no figures: {learnt.record.reason}."
    if learnt.per_prompt is not None:
        missing = (
            f"{_LEARNT} is recommended from {LEAST_LABELS_TO_RECOMMEND} labelled prompts that have all its features; "
            f"this table has {count(_taught(learnt))}."
        )
    return missing, f"{taken.signal.name} is not shown to be better than others."


def _caveats(taken: StudiedSignal, lift: Estimate, unsettled: int) -> tuple[str, ...]:
    sentences = []
    if unsettled:
        sentences.append(f"Prompts with fewer than two scores are sent first: {counted(unsettled, 'prompt')}.")
    if taken.lacking:
        sentences.append(f"Prompts without a value of it are sent last: {counted(taken.lacking, 'labelled prompt')}.")
    if lift.low is None:
        sentences.append(f"Whether it lifts the value over random routing is not shown: {lift.reason}.")
    elif lift.low <= 0:
        sentences.append("At this share no lift over random routing is shown: its interval holds 0.")
    return tuple(sentences)


SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50, 0.75, 1.0)
"""Shares at which every signal is compared with the gain, besides the one asked for."""


@dataclass(frozen=True, eq=False)
class StudiedJudge:
    """What a router and recovery by the share sent are made of."""

    prompts: judged_prompts.JudgedPrompts
    signals: Mapping[result_router.SignalName, sums.Floats] = field(repr=False)
    """The signals with figures, of each labelled prompt; learnt ones cross-fitted."""
    scale: str
    """The declared scale of the scores; empty where none was declared."""

    def router(self, recommended: result.RecommendedRoute, seed: int) -> saved.SavedRouter:
        """Return the recommended router, a learnt signal fitted to all labelled prompts."""
        prompts = self.prompts
        fitted = fit_signal(recommended.signal, prompts.features, prompts.gain, prompts.weights, seed=seed)
        return saved.SavedRouter.of(
            recommended.signal,
            recommended.share,
            recommended.threshold,
            saved.thinned(compared_signals(fitted.value(prompts.features)), prompts.population),
            fitted.model,
            judge=prompts.panel.judge,
            scale=self.scale,
            captured=recommended.captured.to_dict(),
            first=prompts.first,
        )

    def recovery_by_share(self, signal: result_router.SignalName, confidence: float) -> routing.RoutedRecovery:
        """Return recovery by the share that is sent, in steps of 5 %, by one signal."""
        prompts = self.prompts
        random, values = prompts.random, self.signals[signal]
        recoveries = (
            routing.routed_recovery(values, prompts.outcomes, random, share, confidence=confidence)
            for share in routing.SHARES
        )
        return routing.RoutedRecovery(signal, routing.SHARES, tuple(recoveries))


def _data(prompts: judged_prompts.JudgedPrompts) -> result.RoutedData:
    panel, labelled = prompts.panel, int(prompts.labelled.sum())
    method: Literal["complete", "labelled_only", "weighted"] = (
        "complete" if labelled == len(panel.sizes) else "labelled_only"
    )
    unsettled = int((~prompts.settled).sum())
    return result.RoutedData(
        **given(unscored=prompts.unscored or None, prompts_under_two_scores=unsettled or None),
        prompts=len(panel.sizes),
        labelled_prompts=labelled,
        dropped=[DroppedPrompt(prompt_id=drop.prompt_id, reason=drop.reason) for drop in panel.dropped],
        method="weighted" if prompts.weighted else method,
    )


def study_judge(
    prompts: judged_prompts.JudgedPrompts,
    share: float,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    budget: result.BudgetSplit | None = None,
    scale: str = "",
) -> tuple[result.JudgeRoute, StudiedJudge]:
    """Compare every signal of one judge with the gain; `share`, in (0, 1), is that of the recommendation."""
    shares = tuple(sorted({*SHARES, share}))
    outcomes = prompts.outcomes
    signals = {signal.name: study_signal(signal, prompts, shares, confidence, seed) for signal in SIGNALS.values()}
    per_prompt = {name: signal.per_prompt for name, signal in signals.items() if signal.per_prompt is not None}
    settled, scores, grid = prompts.some(prompts.settled), prompts.panel.scores, None
    known = {name: values[settled.labelled] for name, values in settled.features.items()}
    gain, weights = settled.outcomes.gain, settled.outcomes.weights
    perfect = {at: routing.routed_share(outcomes.gain, outcomes, at, confidence=confidence) for at in shares}
    predictions = {name: values[prompts.settled[prompts.labelled]] for name, values in per_prompt.items()}
    bound = _bounds(predictions, settled, [at for at in shares if at < 1], confidence, seed)
    if np.nanmin(scores) >= 0 and np.nanmax(scores) <= 1:
        means = gain_decomposition.gain_grid(known["margin"], known["level"], gain, weights, confidence=confidence)
        grid = [[EstimateRecord.of(cell) for cell in row] for row in means]
    route = result.JudgeRoute(
        data=_data(prompts),
        signals={name: signal.record for name, signal in signals.items()},
        perfect=[share_record(at, figures) for at, figures in perfect.items()],
        bound=list(bound),
        gain_by_margin_and_level=grid,
        confidence_calibrated=gain_decomposition.confidence_calibrated(
            known["margin"], 1 - settled.wrong, weights, confidence=confidence
        ),
        voi_calibrated=gain_decomposition.voi_calibrated(known["margin"], gain, weights, confidence=confidence),
        recommendation=recommend(signals, prompts, share, seed),
        **given(budget=budget),
    )
    return route, StudiedJudge(prompts, per_prompt, scale)


def _bounds(
    signals: Mapping[result_router.SignalName, sums.Floats],
    prompts: judged_prompts.JudgedPrompts,
    shares: list[float],
    confidence: float,
    seed: int,
) -> Iterator[result.PredictedBound]:
    """Bound the lift by what the learnt signals and the tenths of every other one predict."""
    outcomes, known = prompts.outcomes, dict(signals)
    predicted = known.pop("expected_gain", None)
    if predicted is None or np.isnan(predicted).any():
        return
    others = [
        values
        if SIGNALS[name].learnt
        else gain_model.cross_fitted_means(values, outcomes.gain, outcomes.relative, seed=seed)
        for name, values in known.items()
    ]
    for share in shares:
        bound, achieved = routing.routing_bound(
            predicted, outcomes, share, others=others, signals=list(known.values()), confidence=confidence
        )
        yield result.PredictedBound(
            share=share,
            bound=EstimateRecord.of(bound),
            achieved=EstimateRecord.of(achieved),
            gaussian=routing.gaussian_share(share),
        )
