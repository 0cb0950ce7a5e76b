"""What a monitor does: labels or votes in their order, the rule of the question, and what to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.errors import UsageError
from bonwise.monitoring.order import LabelledPrompts, labelled_in_order, votes_in_order
from bonwise.monitoring.request import MonitorRequest
from bonwise.monitoring.result import (
    LabelCounts,
    Monitor,
    NothingLeftOut,
    RecoverySettings,
    VoteCounts,
    VoteMonitorSettings,
)
from bonwise.monitoring.sentences import of_easy, of_order, of_part, of_prompts, of_verdict, of_votes
from bonwise.monitoring.stopping_rules import watch_precision, watch_significance, watch_votes
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.repeated_looks import STEP, log_wealth, mixture_weight
from bonwise.stats.running_ratio import RunningRatio
from bonwise.table.checks import names_of
from bonwise.table.facts import DroppedPrompt, labels_left_out
from bonwise.table.opening import HoldsScores
from bonwise.table.reading import name_of
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable

if TYPE_CHECKING:
    from bonwise.table.opening import ScoreSource
    from bonwise.table.reading import RowSource

__all__ = ["decide"]

_TARGET = 400
"""Labelled prompts after which the confidence sequence is narrowest where no number is planned."""


def decide(source: ScoreSource, arguments: Mapping[str, Any], reading: ReadingOptions) -> Monitor:
    """Decide whether labels are enough, by the other arguments of `bonwise.monitoring.front.monitor`."""
    easy = {name: names_of(name, arguments[name]) for name in ("control", "keep_easy")}
    request = MonitorRequest(**{**arguments, **easy}, reading=reading)
    if request.question != "preference":
        first = request.earliest_look
        return _recovery(labelled_in_order(source, request), request, first)
    if isinstance(source, HoldsScores | ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give the file or frame of the votes")
    return _preference(source, request)


def _recovery(prompts: LabelledPrompts, request: MonitorRequest, first: int) -> Monitor:
    running, described = RunningRatio.of(prompts.gained, prompts.possible, prompts.clusters), prompts.described
    if request.half_width is not None:
        watched = watch_precision(
            running, half_width=float(request.half_width), first=first, confidence=float(request.confidence)
        )
    else:
        watched = watch_significance(
            running,
            than=float(request.than or 0.0),
            first=first,
            target=int(request.planned or _TARGET) * prompts.units_per_prompt,
            confidence=float(request.confidence),
        )
    settings, data = _recovery_settings(prompts, request, first), _counts(prompts, running)
    # Before the first look nothing is claimed, and of a few prompts one candidate is often the lowest.
    suspicions = list(of_easy(prompts.easy)) if watched.now.n >= first else []
    sentences = [
        *filter(None, [described.sentence]),
        *suspicions,
        *of_verdict(watched, first, "labelled prompts"),
        *of_prompts(watched, data, settings, described),
        *of_part(prompts.in_part),
        *of_order(prompts.sorted_by_id, described.labelled),
    ]
    return Monitor(
        question=request.question,
        describes="all prompts" if described.all_prompts else "labelled prompts",
        **watched.shown(),
        data=data,
        settings=settings,
        sentences=sentences,
        **given(suspicions=suspicions or None),
    )


def _recovery_settings(prompts: LabelledPrompts, request: MonitorRequest, first: int) -> RecoverySettings:
    labels = request.reading.labels
    reading, precise = request.reading, request.half_width is not None
    than, target = (None, None) if precise else (float(request.than or 0.0), int(request.planned or _TARGET))
    return RecoverySettings(
        confidence=float(request.confidence),
        planned=None if request.planned is None else int(request.planned),
        first_look=first,
        **given(half_width=request.half_width and float(request.half_width), than=than, target=target),
        step=STEP if precise else 1,
        label_file=None if labels is None else name_of(labels, "labels"),
        judge=prompts.judge,
        exclude=list(reading.exclude),
        shape=prompts.shape,
        columns=dict(prompts.columns),
        label_scale=None if reading.label_scale is None else str(reading.label_scale),
        design=prompts.described.stated,
        version=release(),
        **given(control=list(request.control) or None, keep_easy=list(request.keep_easy) or None),
    )


def _counts(prompts: LabelledPrompts, running: RunningRatio) -> LabelCounts:
    kurtosis = running.kurtosis[-1:]
    return LabelCounts(
        source=prompts.source,
        prompts=prompts.described.prompts,
        labelled_prompts=prompts.described.labelled,
        partly_labelled_prompts=prompts.partly,
        dropped=[DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in prompts.dropped],
        labels_left_out=labels_left_out(prompts.labels_left_out) or NothingLeftOut(),
        kurtosis=float(kurtosis[0]) if np.isfinite(kurtosis).any() else None,
        **given(clusters=None if prompts.clusters is None else len(np.unique(prompts.clusters))),
    )


def _preference(source: RowSource, request: MonitorRequest) -> Monitor:
    votes = votes_in_order(
        source, verdict_col=str(request.verdict_col), ties=request.ties, pair=request.pair, prompt=request.prompt
    )
    than = 0.5 if request.than is None else float(request.than)
    margin = 0.1 if request.margin is None else float(request.margin)
    weight, confidence = mixture_weight(margin), float(request.confidence)
    watched = watch_votes(votes.worth, than=than, weight=weight, confidence=confidence)
    settings = VoteMonitorSettings(
        confidence=confidence,
        than=than,
        margin=margin,
        mixture=float(weight),
        verdict_col=str(request.verdict_col),
        ties=request.ties,
        pair=list(request.pair),
        prompt=request.prompt,
        sides=list(votes.sides),
        version=release(),
    )
    data = VoteCounts(
        source=votes.source,
        votes=len(votes.worth),
        ties=votes.tied,
        blank=votes.blank,
        log_e_value=float(log_wealth(float(votes.worth.sum()), float(len(votes.worth)), weight, than)),
    )
    return Monitor(
        question="preference",
        describes="votes",
        **watched.shown(),
        data=data,
        settings=settings,
        sentences=[*of_verdict(watched, 1, "votes"), *of_votes(watched, data, settings)],
    )
