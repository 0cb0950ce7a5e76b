"""Gates: is a metric above a value, below it, or not settled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from bonwise.auditing.result_verdict import Gate, GateState
from bonwise.auditing.suspected import Outstanding, Suspected, of_outstanding
from bonwise.errors import UsageError
from bonwise.metric_groups import unit_of
from bonwise.report.numbers import Ends, against, counted, number, setting
from bonwise.stats import estimand, no_gain

__all__ = ["Gate", "Labelled", "carried", "check_gate", "more_prompts", "open_gate", "passes", "whatever_is_missing"]

ONE_SIDED = 0.95
"""Confidence of the bound that decides a gate; the printed interval stays two-sided."""


_Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _GateRequest:
    """What a gate asks for."""

    judge: str
    metric: str
    value: float

    def __str__(self) -> str:
        return f"{self.metric} > {setting(self.value, unit_of(self.metric))}"

    def bound(self, end: float, ends: _Ends) -> str:
        """Write one of two bounds with digits enough to tell it from the gate."""
        return against(end, self.value, unit_of(self.metric), like=Ends(None, *ends))


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels behind a metric, and what more of them are made of."""

    prompts: int
    """Prompts whose labels it rests on."""
    unlabelled: int
    """Prompts of the table whose labels are still to be had."""
    labels_each: float
    """Labels of candidates that one more prompt takes; 0 for a metric that needs none."""


def check_gate(
    metrics: Mapping[str, estimand.Estimate],
    metric: str,
    value: float,
    *,
    judge: str,
    labelled: Labelled,
    unsettled: str = "",
    suspected: Sequence[Suspected] = (),
) -> Gate:
    """Compare one metric with a value; `unsettled` and `suspected` say why a gate cannot pass, empty where it can.

    Raises `bonwise.errors.UsageError` for a name that is not a metric, and a value that is not finite.
    """
    if metric not in metrics:
        raise UsageError(f"no metric named {metric!r}", hint=f"choose of {', '.join(metrics)}")
    if not isfinite(value):
        raise UsageError(f"the gate of {metric} must be finite, not {value}", hint="such as 0.2")
    found = metrics[metric]
    dealt, ends = _one_sided(found, value)
    asked = _GateRequest(judge, metric, value)
    if found.estimate is None or ends is None:
        return open_gate(metric, value, judge=judge, why=found.reason or "no interval")
    if unsettled or found.method == "labelled_only":
        return _unknown_population(asked, ends, unsettled)
    if ends[1] >= value and _cannot_pass(suspected, met=ends[0] > value):
        return _gate(asked, "inconclusive", f"{asked}: inconclusive: {_suspected(suspected)}", ends)
    if not ends[0] <= value <= ends[1]:
        if dealt is not None:
            return _of_both_tests(asked, ends, dealt.z, labelled)
        state: GateState = "met" if ends[0] > value else "not met"
        side, bound = ("lower", ends[0]) if state == "met" else ("upper", ends[1])
        sentence = f"{asked}: {state}, the one-sided 95% {side} bound is {asked.bound(bound, ends)}."
        return _gate(asked, state, sentence, ends)
    more = more_prompts(found.estimate, labelled.prompts, ends, value)
    sentence = (
        f"{asked}: inconclusive, the one-sided 95% bounds are {asked.bound(ends[0], ends)} and "
        f"{asked.bound(ends[1], ends)}; {_what_decides(more, labelled)}."
    )
    counts = None if more is None else (ceil(more * labelled.labels_each), ceil(more))
    return _gate(asked, "inconclusive", sentence, ends, counts)


def whatever_is_missing(low: Gate, there: Gate, high: Gate) -> Gate:
    """Return the gate that holds by the labels that are there and with missing ones at their worst and best."""
    if there.state == "inconclusive":
        return there
    asked, word = _GateRequest(there.judge, there.metric, there.value), "whatever the missing labels are"
    if low.low is None or high.high is None:
        return open_gate(there.metric, there.value, judge=there.judge, why=f"no interval holds {word}")
    ends = low.low, high.high
    if low.state == there.state == high.state:
        decided = low if there.state == "met" else high
        return _gate(asked, there.state, f"{decided.sentence[:-1]}, {word}.", ends)
    least, most = (asked.bound(end, ends) for end in ends)
    bounds = f"the one-sided 95% bounds are {least} and {most}, {word}"
    return _gate(asked, "inconclusive", f"{asked}: inconclusive, {bounds}: these labels would decide.", ends)


def _one_sided(found: estimand.Estimate, value: float) -> tuple[no_gain.DealtLabels | None, _Ends | None]:
    """Return the test of no gain where the gate is one of it, and the one-sided bounds."""
    dealt = found.no_gain if value == 0 else None
    ends = found.bounds(2 * ONE_SIDED - 1)
    if dealt is not None and ends is not None:
        ends = dealt.law.at(2 * ONE_SIDED - 1)
    return dealt, ends


def passes(found: estimand.Estimate | None, value: float) -> bool:
    """Tell whether the one-sided lower bound of a metric lies above a value."""
    if found is None or found.estimate is None:
        return False
    dealt, ends = _one_sided(found, value)
    return ends is not None and ends[0] > value and (dealt is None or (dealt.z or 0.0) > no_gain.Z_NEEDED)


def carried(
    metrics: Mapping[str, estimand.Estimate], outstanding: Sequence[Outstanding], metric: str, value: float
) -> tuple[Suspected, ...]:
    """Return the first outstanding group without which a metric is no longer above a value; empty where none is."""
    found = metrics.get(metric)
    if found is None or not passes(found, value):
        return ()
    for one in outstanding:
        if one.without and not passes(without := one.without.get(metric), value):
            return (of_outstanding(one.group, metric, value, with_it=found, without_it=without),)
    return ()


def _of_both_tests(asked: _GateRequest, ends: _Ends, z: float | None, labelled: Labelled) -> Gate:
    """Return a gate at 0 that Student's t decides if the test of dealt labels agrees."""
    above = ends[0] > 0
    side, bound = ("lower", ends[0]) if above else ("upper", ends[1])
    student = f"the one-sided 95% {side} bound is {asked.bound(bound, ends)}"
    if z is not None and (z > no_gain.Z_NEEDED if above else z < -no_gain.Z_NEEDED):
        state: GateState = "met" if above else "not met"
        sentence = f"{asked}: {state}, {student}, and labels dealt at random agree (z = {number(z)})."
        return _gate(asked, state, sentence, ends)
    if z is None or (z > 0) != above:
        sentence = f"{asked}: inconclusive, {student}, but labels dealt at random do not agree."
        return _gate(asked, "inconclusive", sentence, ends)
    needed = no_gain.Z_NEEDED if above else -no_gain.Z_NEEDED
    more = labelled.prompts * ((needed / z) ** 2 - 1)
    sentence = (
        f"{asked}: inconclusive, {student}, but labels dealt at random do not agree (z = {against(z, needed)}, where "
        f"{against(needed, z)} decides); {_what_decides(more, labelled)}."
    )
    return _gate(asked, "inconclusive", sentence, ends, (ceil(more * labelled.labels_each), ceil(more)))


def _cannot_pass(suspected: Sequence[Suspected], *, met: bool) -> bool:
    """Tell whether what is suspected decides a gate: more labels settle few pools, but not an easy candidate."""
    return any(met or one.easy is not None for one in suspected)


def _suspected(suspected: Sequence[Suspected]) -> str:
    """Say what keeps a gate from being met, in whole sentences but for the first capital."""
    facts = [one.at_a_gate for one in suspected]
    return " ".join([f"{'; '.join(facts)}.", *(one.advice for one in suspected)])


def _what_decides(more: float | None, labelled: Labelled) -> str:
    if more is None:
        return "the estimate equals the gate, so no number of labels can be named"
    prompts, labels = ceil(more), ceil(more * labelled.labels_each)
    cost = counted(labels, "candidate label") if labels else "no labels"
    beyond = (
        f", more than the {labelled.unlabelled:,} unlabelled prompts of this table"
        if 0 < labelled.unlabelled < prompts
        else ""
    )
    return f"about {counted(prompts, 'more prompt')} ({cost}){beyond} would decide if the estimate holds"


def open_gate(metric: str, value: float, *, judge: str, why: str) -> Gate:
    """Return a gate that nothing is known about."""
    asked = _GateRequest(judge, metric, value)
    return _gate(asked, "inconclusive", f"{asked}: inconclusive: {why}.")


def _gate(
    of: _GateRequest, state: GateState, sentence: str, ends: _Ends | None = None, more: tuple[int, int] | None = None
) -> Gate:
    labels, prompts = more or (None, None)
    low, high = ends or (None, None)
    return Gate(
        judge=of.judge,
        metric=of.metric,
        value=of.value,
        state=state,
        low=low,
        high=high,
        more_labels=labels,
        more_prompts=prompts,
        sentence=sentence,
    )


def _unknown_population(asked: _GateRequest, ends: _Ends, unsettled: str) -> Gate:
    why = unsettled or (
        "only part of the prompts is labelled and how they were chosen is unknown, so no gate on all prompts can "
        "pass; label the others, or a random sample of all"
    )
    return _gate(asked, "inconclusive", f"{asked}: inconclusive: {why}.", ends)


def more_prompts(estimate: float, prompts: int, ends: tuple[float, float], value: float) -> float | None:
    """Return how many more prompts take an interval off a gate that lies inside it, if the estimate holds.

    The half-width shrinks as 1 / sqrt(prompts). None where the estimate is too close to the gate.

    Examples
    --------
    >>> more_prompts(0.6, 100, (0.4, 0.8), 0.5)
    300.0
    """
    distance = estimate - value
    half = estimate - ends[0] if distance > 0 else ends[1] - estimate
    if abs(distance) < 1e-3 * max(half, 1e-12):
        return None
    return max(prompts * ((half / abs(distance)) ** 2 - 1), 1e-9)
