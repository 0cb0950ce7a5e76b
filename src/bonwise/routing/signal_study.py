"""Every signal of one judge compared with the gain at every share, and the one to route by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

import numpy as np
from scipy import special

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted, percent
from bonwise.results import given
from bonwise.routing import gain_decomposition, gain_model, judged_prompts, result, result_router, saved
from bonwise.routing.signals import LEAST_LABELS, SIGNALS, Signal, compared_signals, fit_signal
from bonwise.routing.worth import RouteQuestion
from bonwise.stats import routing
from bonwise.stats.correlation import correlation
from bonwise.stats.estimand import Estimate
from bonwise.stats.routing import Outcomes, routed_part
from bonwise.table.facts import DroppedPrompt

_LEAST_DEALS, _MOST_DEALS = 199, 1999
"""How often the gains are dealt anew; at 95 % confidence 199 deals give the level exactly."""

_MOST_PROMPTS = 2000
"""Prompts, evenly spaced, on which they are: how signals go together takes no more to know."""


def confidence_of_choice(
    signals: Sequence[Floats | Mapping[str, Floats]], outcomes: Outcomes, shares: Sequence[float], confidence: float
) -> float:
    """Return the confidence of the best signal's interval that counts the choice, by gains dealt anew."""
    n = len(outcomes.gain)
    some = np.linspace(0, n - 1, min(n, _MOST_PROMPTS)).round().astype(int)
    w, rng = outcomes.relative[some] / outcomes.relative[some].mean(), np.random.default_rng(0)
    deals = min(max(_LEAST_DEALS, ceil(10 / (1 - confidence)) - 1), _MOST_DEALS)
    around = outcomes.gain[some] - np.average(outcomes.gain[some], weights=w)
    gains = np.stack([rng.permutation(around) for _ in range(deals)], axis=1)
    ranked = [
        values[some]
        if isinstance(values, np.ndarray)
        else gain_model.cross_fitted_again({name: feature[some] for name, feature in values.items()}, gains, w)
        for values in signals
    ]
    largest = np.full(deals, -np.inf)
    centred = w[:, None] * (gains - np.average(gains, axis=0, weights=w))
    for share in shares:
        for values in ranked:
            part = routed_part(values, share, w)[:, None] if values.ndim == 1 else _sent(values, w, share)
            moves = centred * (part - share)
            scatter = moves.std(axis=0) / np.sqrt(max(len(some) - 1, 1))
            sizes = np.divide(moves.mean(axis=0), scatter, out=np.zeros(deals), where=scatter > 0)
            largest = np.maximum(largest, sizes)
    place = min(ceil((1 + confidence) / 2 * (deals + 1)), deals)
    edge = float(np.sort(largest)[place - 1])
    return max(confidence, 2 * float(special.ndtr(edge)) - 1)


def _sent(values: Floats, w: Floats, share: float) -> Floats:
    """Return the probability of being sent, for each column of learnt values, which have no ties to speak of."""
    order = np.argsort(np.where(np.isnan(values), np.inf, -values), axis=0, kind="stable")
    before = np.cumsum(w[order], axis=0) - w[order]
    part = np.empty(values.shape)
    np.put_along_axis(part, order, np.clip((share * w.sum() - before) / w[order], 0, 1), axis=0)
    return part


@dataclass(frozen=True, eq=False)
class StudiedSignal:
    """One signal at every share, with what a recommendation takes beside its part of the document."""

    signal: Signal
    record: result.SignalRecord
    shares: Mapping[float, tuple[Estimate, Estimate, Estimate]] = field(default_factory=dict, repr=False)
    """Value, lift and captured at each share."""
    per_prompt: Floats | None = field(default=None, repr=False)
    """The signal of each labelled prompt; of a learnt one cross-fitted."""

    @classmethod
    def without(cls, signal: Signal, reason: str) -> StudiedSignal:
        """Return a signal without figures."""
        record = result.SignalRecord(
            meaning=signal.meaning, learnt=signal.learnt, reason=reason, shares=[], corr_gain=None
        )
        return cls(signal, record)

    @property
    def sent(self) -> Floats:
        """The signal of each labelled prompt, where it has figures."""
        return np.zeros(0) if self.per_prompt is None else self.per_prompt

    @property
    def lacking(self) -> int:
        """Labelled prompts without a value of the signal, though two candidates are scored: they are routed last."""
        return self.record.lacking or 0


def study_signal(
    signal: Signal, prompts: judged_prompts.JudgedPrompts, shares: tuple[float, ...], confidence: float
) -> StudiedSignal:
    """Study one signal."""
    features, outcomes = prompts.features, prompts.outcomes
    labelled = len(outcomes.gain)
    missing = [name for name in signal.needs if name not in features or np.isnan(features[name]).all()]
    if missing:
        return StudiedSignal.without(signal, signal.lacks(missing[0]))
    if signal.learnt and labelled < LEAST_LABELS:
        return StudiedSignal.without(
            signal, f"{labelled} labelled prompts are fewer than the {LEAST_LABELS} it takes to be learnt"
        )
    looks_at = signal.looks_at(features)
    if signal.learnt:
        known = {name: features[name] for name in looks_at}
        values = gain_model.cross_fitted(known, prompts.gain, prompts.weights, one_level=True)
    else:
        values = signal.value(features)
    values = compared_signals(values)  # as in production, where equal widths must tie
    sent, values = prompts.sent_first(values)[prompts.labelled], values[prompts.labelled]
    figures = {share: routing.routed_share(sent, outcomes, share, confidence=confidence) for share in shares}
    record = result.SignalRecord(
        meaning=signal.meaning,
        learnt=signal.learnt,
        shares=[share_record(at, figures[at]) for at in shares],
        corr_gain=EstimateRecord.of(correlation(values, outcomes.gain, outcomes.weights, confidence=confidence)),
        features=list(looks_at),
        lacking=int(np.isnan(sent).sum()),
        decomposition=gain_decomposition.decompose(
            values,
            prompts.apart,
            outcomes.gain,
            outcomes.weights,
            best=outcomes.value + outcomes.perfect.gain,
            confidence=confidence,
        ),
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


def recommend(
    taken: StudiedSignal, prompts: judged_prompts.JudgedPrompts, share: float, among: int, confidence: float
) -> result.RecommendedRoute:
    """Recommend a signal that was chosen among several, its interval at the confidence that counts the choice."""
    fitted = fit_signal(taken.signal.name, prompts.features, prompts.gain, prompts.weights)
    _, lift, captured = routing.routed_share(taken.sent, prompts.outcomes, share, confidence=confidence)
    return result.RecommendedRoute(
        signal=taken.signal.name,
        share=share,
        threshold=routing.threshold(prompts.sent_first(fitted.value(prompts.features)), share, prompts.population),
        captured=EstimateRecord.of(captured),
        among=among,
        confidence=confidence,
        sentences=[
            f"{taken.signal.name}: {taken.signal.meaning}.",
            *_why(taken, among),
            *_caveats(taken, lift, int((~prompts.settled).sum())),
        ],
    )


def _why(taken: StudiedSignal, among: int) -> Iterator[str]:
    if among > 1:
        yield f"It has the largest lift of {among} signals: the interval of what it captures counts that choice."
    features, labelled = taken.record.features or (), int(np.isfinite(taken.sent).sum())
    part, plain = round(gain_model.learnt_part(labelled), 2), gain_model.plain_feature(features)
    if taken.signal.learnt:
        yield "Its figures are cross-fitted: each prompt's gain is predicted by a model of all other prompts."
    if taken.signal.learnt and part < _WHOLE:
        yield (
            f"With {counted(labelled, 'labelled prompt')} its other features count about {percent(part)} beside the "
            f"{plain}; with more labels they count more."
        )


_WHOLE = 0.95
"""Part from which on the shrinkage of a learnt signal is not worth a sentence."""


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
    signals: Mapping[result_router.SignalName, Floats] = field(repr=False)
    """The signals with figures, of each labelled prompt; learnt ones cross-fitted."""
    scale: str
    """The declared scale of the scores; empty where none was declared."""

    def router(self, recommended: result.RecommendedRoute) -> saved.SavedRouter:
        """Return the recommended router, a learnt signal fitted to all labelled prompts."""
        prompts = self.prompts
        fitted = fit_signal(recommended.signal, prompts.features, prompts.gain, prompts.weights)
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
            routing.routed_recovery(values, prompts.outcomes.perfect, random, share, confidence=confidence)
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
        **given(
            unscored=prompts.unscored or None,
            prompts_under_two_scores=unsettled or None,
            unscored_by_strong=prompts.without_strong or None,
        ),
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
    question: RouteQuestion | None = None,
) -> tuple[result.JudgeRoute, StudiedJudge]:
    """Compare every signal of one judge with the gain; `share` is recommended unless the question finds one."""
    wanted, worth = question is not None and bool(question.wanted), None
    signals = _studied(prompts, share, confidence)
    taken, level = choose(signals, prompts, share, confidence, any_share=wanted)
    if question is not None:
        worth = question.worth(prompts, taken.sent, taken.record.features or (), level)
        if wanted and worth.share is not None and worth.routes:
            share = worth.share
            signals = _studied(prompts, share, confidence)
    shares, outcomes = _shares(share), prompts.outcomes
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
        recommendation=recommend(taken, prompts, share, len(per_prompt), level),
        **given(budget=budget, worth=worth),
    )
    return route, StudiedJudge(prompts, per_prompt, scale)


def choose(
    signals: Mapping[result_router.SignalName, StudiedSignal],
    prompts: judged_prompts.JudgedPrompts,
    share: float,
    confidence: float,
    *,
    any_share: bool,
) -> tuple[StudiedSignal, float]:
    """Take the signal with the largest lift, and the confidence that counts the choice, of any share too if asked."""
    known = [signal for signal in signals.values() if signal.per_prompt is not None]
    if not known:
        raise UsageError("no signal can be computed", hint="score at least two candidates of each prompt")
    settled = prompts.some(prompts.settled & prompts.labelled)
    inside = prompts.settled[prompts.labelled]
    ranked = [
        {name: settled.features[name] for name in signal.record.features or ()}
        if signal.signal.learnt
        else signal.sent[inside]
        for signal in known
    ]
    shares = (share, 0.1, 0.25, 0.5, 0.75) if any_share else (share,)
    # Of equal lifts the last is taken: the expected gain, which looks at what the others are.
    best = max(reversed(known), key=lambda signal: signal.shares[share][1].estimate or 0.0)
    return best, confidence_of_choice(ranked, settled.outcomes, shares, confidence)


def _shares(share: float) -> tuple[float, ...]:
    return tuple(sorted({*SHARES, share}))


def _studied(
    prompts: judged_prompts.JudgedPrompts, share: float, confidence: float
) -> dict[result_router.SignalName, StudiedSignal]:
    return {signal.name: study_signal(signal, prompts, _shares(share), confidence) for signal in SIGNALS.values()}


def _bounds(
    signals: Mapping[result_router.SignalName, Floats],
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
