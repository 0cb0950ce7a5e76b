"""What a monitor does: labels or votes in their order, the rule of the question, and what to say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bonwise.errors import UsageError
from bonwise.monitoring import order, result, stopping_rules
from bonwise.monitoring.request import MonitorRequest
from bonwise.printable import quoted, shell_word
from bonwise.release import release
from bonwise.report import numbers, table_facts
from bonwise.results import given
from bonwise.stats import laws, repeated_looks, running_ratio
from bonwise.table import checks, facts, opening, panel, reading_options, score_table
from bonwise.table.reading import RowSource, name_of

_HEAVY = 20.0
_LATER = 100
"""First look where a few prompts carry much of the variance."""
_FEW = 10


def of_easy(easy: Sequence[panel.EasyCandidate]) -> Iterator[str]:
    """Yield which candidates any judge can reject, and what settles them."""
    for one in easy:
        word = shell_word(one.name)
        yield (
            f"Candidate {quoted(one.name)} has the lowest label in {numbers.number(one.lowest, 'share')} of prompts, "
            f"which raises recovery: nothing is settled. --control {word} leaves it out of the figures. --keep-easy "
            f"{word} counts it like any other candidate."
        )


def of_verdict(watched: stopping_rules.Watched, first: int, unit: str) -> Iterator[str]:
    """Yield when the rule said stop, or how far it is from it."""
    if watched.stopped is not None:
        n, more = watched.stopped.n, watched.now.n - watched.stopped.n
        yield f"The rule said stop after {n:,} {unit}" + (
            f"; the {more:,} labelled since then do not change that." if more else "."
        )
        return
    if watched.now.n < first:
        yield f"Too early: {watched.now.n:,} of the {first:,} {unit} before the first look."
    elif watched.expected.more is not None:
        yield (f"If estimate and spread stay as they are, about {watched.expected.more:,} more {unit} are expected.")
    else:
        yield f"No number of further {unit} can be named: {watched.expected.reason}."


def of_prompts(
    watched: stopping_rules.Watched,
    data: result.LabelCounts,
    settings: result.RecoverySettings,
    described: order.Described,
) -> Iterator[str]:
    """Yield what the rules on recovery rest on."""
    if data.clusters is not None:
        yield (
            f"Prompts of one cluster count together: the rule rests on {data.clusters:,} clusters. It is valid if "
            "clusters were labelled in random order."
        )
    kurtosis = data.kurtosis
    if kurtosis is not None and kurtosis > _HEAVY:
        early = settings.half_width is not None and settings.first_look < _LATER
        advice = f" Take a first look at {_LATER} (--first-look {_LATER})." if early else ""
        yield (
            f"A few prompts carry much of the variance (kurtosis {numbers.brief(kurtosis)}): intervals hold a little "
            f"less than they say.{advice}"
        )
    than = settings.than
    if than is not None:
        bound = numbers.setting(than)
        whose = "Recovery" if described.all_prompts else "Recovery on the labelled prompts"
        if watched.verdict == "stop: better":
            yield f"{whose} is above {bound}: the confidence sequence excludes {bound} from above."
        elif watched.verdict == "stop: not better":
            yield f"{whose} is not above {bound}: the whole confidence sequence lies below it."
        else:
            yield (
                f"That {bound} is not excluded does not show equivalence. Where recovery is {bound} this "
                "rule seldom stops: set a largest number of labels beforehand."
            )
        yield (
            "The sequence holds at all looks together; it is asymptotic, so it starts at "
            f"{settings.first_look:,} labelled prompts."
        )


def of_part(labels: panel.LabelsInPart) -> Iterator[str]:
    """Yield how many labels wait for the rest of their prompts."""
    if labels.prompts:
        yield (
            f"{labels.unused}: the rule counts a prompt when its last label is there. Once labelling has ended "
            "bonwise audit --design cells uses them, if the labelled candidates are a random sample of all."
        )


def of_order(sorted_by_id: bool, prompts: int) -> Iterator[str]:
    """Yield what is assumed of the draw and of the order of labelling."""
    yield (
        "Valid if prompts were drawn uniformly and labelled in random order, and all settings were fixed before the "
        "first label."
    )
    if sorted_by_id and prompts >= _FEW:
        yield "They were completed in the order of their ids, which is not random if ids follow topic or date."


def of_votes(
    watched: stopping_rules.Watched, data: result.VoteCounts, settings: result.VoteMonitorSettings
) -> Iterator[str]:
    """Yield what the rule on votes rests on."""
    first, second = settings.sides
    bound = numbers.setting(settings.than)
    if watched.verdict == "stop: better":
        yield f"The share of votes for {first} over {second} is above {bound}."
    elif watched.verdict == "stop: not better":
        yield f"The share of votes for {first} over {second} is below {bound}."
    else:
        yield (f"Not having excluded {bound} is no sign of equivalence: where that is the share, it seldom stops.")
    if data.ties:
        how = {"drop": "are left out", "half": "count half", "pessimistic": f"count against {first}"}
        yield f"{data.ties:,} ties {how[settings.ties or 'drop']}."
    each = (
        "with one vote per prompt" if settings.prompt is not None else "one vote per prompt (--prompt-col checks it)"
    )
    yield f"Valid for independent votes, {each}, with all settings fixed before the first vote."


_TARGET = 400
"""Labelled prompts after which the confidence sequence is narrowest where no number is planned."""


def decide(
    source: opening.ScoreSource, arguments: Mapping[str, Any], reading: reading_options.ReadingOptions
) -> result.Monitor:
    """Decide whether labels are enough, by the other arguments of `bonwise.monitoring.front.monitor`."""
    easy = {name: checks.names_of(name, arguments[name]) for name in ("control", "keep_easy")}
    request = MonitorRequest(**{**arguments, **easy}, reading=reading)
    if request.question != "preference":
        first = request.earliest_look
        return _recovery(order.labelled_in_order(source, request), request, first)
    if isinstance(source, opening.HoldsScores | score_table.ScoreTable):
        raise UsageError("a table of scores holds no votes", hint="give the file or frame of the votes")
    return _preference(source, request)


def _watched(
    prompts: order.LabelledPrompts, running: running_ratio.RunningRatio, request: MonitorRequest, first: int
) -> stopping_rules.Watched:
    if request.half_width is not None:
        return stopping_rules.watch_precision(
            running, half_width=float(request.half_width), first=first, confidence=float(request.confidence)
        )
    return stopping_rules.watch_significance(
        running,
        than=float(request.than or 0.0),
        first=first,
        target=int(request.planned or _TARGET) * prompts.units_per_prompt,
        confidence=float(request.confidence),
    )


def _running(prompts: order.LabelledPrompts, request: MonitorRequest) -> running_ratio.RunningRatio:
    """Return the ratio in a unit of its own: no power of large or small labels leaves the range of doubles."""
    unit = laws.power_of_two(float(np.max([np.abs(prompts.gained), prompts.possible, prompts.worst], initial=0.0)))
    gained, possible, worst = (part / unit for part in (prompts.gained, prompts.possible, prompts.worst))
    return running_ratio.RunningRatio.of(gained, possible, prompts.clusters, worst, float(request.confidence))


def _of_outstanding(
    prompts: order.LabelledPrompts, watched: stopping_rules.Watched, request: MonitorRequest, first: int
) -> tuple[list[str], list[str]]:
    """Return the outstanding group without which the rule says no longer better, or else those to know of."""
    remarks: dict[str, str] = {}
    for group, rest in prompts.outstanding:
        names, holds, flags = table_facts.outstanding_words(group)
        holds = f"{holds[0].upper()}{holds[1:]}"
        remarks.setdefault(group.end, f"{holds}.")
        if watched.verdict == "stop: better" and rest is not None:
            without = _watched(rest, _running(rest, request), request, first)
            if without.verdict != watched.verdict:
                figure = (
                    f"recovery {numbers.number(watched.now.estimate, 'share')} and "
                    f"{numbers.number(without.now.estimate, 'share')}"
                )
                return [f"{holds}: better with {names}, not without ({figure}). {flags}"], []
    return [], list(remarks.values())


def _recovery(prompts: order.LabelledPrompts, request: MonitorRequest, first: int) -> result.Monitor:
    running, described = _running(prompts, request), prompts.described
    watched = _watched(prompts, running, request, first)
    settings, data = _recovery_settings(prompts, request, first), _counts(prompts, running)
    # Before the first look nothing is claimed, and of a few prompts one candidate is often the lowest.
    suspicions, remarks = list[str](), list[str]()
    if watched.now.n >= first:
        suspicions, remarks = _of_outstanding(prompts, watched, request, first)
        suspicions = [*of_easy(prompts.easy), *suspicions]
    sentences = [
        *filter(None, [described.sentence]),
        *suspicions,
        *of_part(prompts.in_part),
        *of_verdict(watched, first, "labelled prompts"),
        *remarks,
        *of_prompts(watched, data, settings, described),
        *of_order(prompts.sorted_by_id, described.labelled),
    ]
    return result.Monitor(
        question=request.question,
        describes="all prompts" if described.all_prompts else "labelled prompts",
        **watched.shown(),
        data=data,
        settings=settings,
        sentences=sentences,
        **given(suspicions=suspicions or None),
    )


def _recovery_settings(
    prompts: order.LabelledPrompts, request: MonitorRequest, first: int
) -> result.RecoverySettings:
    labels = request.reading.labels
    reading, precise = request.reading, request.half_width is not None
    than, target = (None, None) if precise else (float(request.than or 0.0), int(request.planned or _TARGET))
    return result.RecoverySettings(
        confidence=float(request.confidence),
        planned=None if request.planned is None else int(request.planned),
        first_look=first,
        **given(half_width=request.half_width and float(request.half_width), than=than, target=target),
        step=repeated_looks.STEP if precise else 1,
        label_file=None if labels is None else name_of(labels, "labels"),
        judge=prompts.judge,
        exclude=list(reading.exclude),
        shape=prompts.shape,
        columns=dict(prompts.columns),
        label_scale=None if reading.label_scale is None else str(reading.label_scale),
        design=prompts.described.stated,
        version=release(),
        **given(control=list(request.control) or None, keep_easy=list(request.keep_easy) or None),
        **reading_options.values_read(reading),
    )


def _counts(prompts: order.LabelledPrompts, running: running_ratio.RunningRatio) -> result.LabelCounts:
    kurtosis = running.kurtosis[-1:]
    return result.LabelCounts(
        source=prompts.source,
        prompts=prompts.described.prompts,
        labelled_prompts=prompts.described.labelled,
        partly_labelled_prompts=prompts.partly,
        dropped=[facts.DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in prompts.dropped],
        labels_left_out=facts.labels_left_out(prompts.labels_left_out) or result.NothingLeftOut(),
        kurtosis=float(kurtosis[0]) if np.isfinite(kurtosis).any() else None,
        **given(clusters=None if prompts.clusters is None else len(np.unique(prompts.clusters))),
    )


def _preference(source: RowSource, request: MonitorRequest) -> result.Monitor:
    votes = order.votes_in_order(
        source, verdict_col=str(request.verdict_col), ties=request.ties, pair=request.pair, prompt=request.prompt
    )
    than = 0.5 if request.than is None else float(request.than)
    margin = 0.1 if request.margin is None else float(request.margin)
    weight, confidence = repeated_looks.mixture_weight(margin), float(request.confidence)
    watched = stopping_rules.watch_votes(votes.worth, than=than, weight=weight, confidence=confidence)
    settings = result.VoteMonitorSettings(
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
    data = result.VoteCounts(
        source=votes.source,
        votes=len(votes.worth),
        ties=votes.tied,
        blank=votes.blank,
        log_e_value=float(repeated_looks.log_wealth(float(votes.worth.sum()), float(len(votes.worth)), weight, than)),
    )
    return result.Monitor(
        question="preference",
        describes="votes",
        **watched.shown(),
        data=data,
        settings=settings,
        sentences=[*of_verdict(watched, 1, "votes"), *of_votes(watched, data, settings)],
    )
