"""Gates: is a metric above a value, below it, or not settled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite

from bonwise.arrays import Floats
from bonwise.auditing.result_verdict import Gate, GateState
from bonwise.auditing.settings import label_range
from bonwise.auditing.suspected import Outstanding, Suspected, of_outstanding, words_of_support
from bonwise.errors import UsageError
from bonwise.metric_groups import unit_of
from bonwise.report.numbers import Ends, against, counted, number, setting
from bonwise.stats import catalog, estimand, estimation, no_gain
from bonwise.stats.support import GateDecision, deals_disagree, decide, more_prompts, passes
from bonwise.table.panel import Panel

_Ends = tuple[float, float]
_MOST = {
    metric.name: metric.limits[1]
    for metric in catalog.ALL_METRICS
    if isinstance(metric, estimand.Estimand) and metric.limits
}
"""The largest value of a metric, where it does not depend on the labels."""


@dataclass(frozen=True, slots=True)
class _GateRequest:
    """What a gate asks for."""

    judge: str
    metric: str
    value: float

    def __str__(self) -> str:
        return f"{self.metric} > {setting(self.value, unit_of(self.metric))}"

    bounded: bool = False
    """Whether bets decide it."""

    @property
    def test(self) -> str:
        """What the bounds are of, where it is not the figure's interval."""
        return " of the bounded test" if self.bounded else ""

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
    """Compare one metric with a value; `unsettled` and `suspected` say why a gate cannot pass, empty where it can."""
    if metric not in metrics:
        raise UsageError(f"no metric named {metric!r}", hint=f"choose of {', '.join(metrics)}")
    if not isfinite(value):
        raise UsageError(f"the gate of {metric} must be finite, not {value}", hint="such as 0.2")
    most = _MOST.get(metric, inf)
    if value > most:
        instead = (
            f"write {setting(value / 100)} or {setting(value)}%"
            if value <= 100 * most
            else f"{setting(value)} is never exceeded"
        )
        raise UsageError(f"{metric} is at most {setting(most)}: {instead}")
    found = metrics[metric]
    decided = decide(found, value)
    asked = _GateRequest(judge, metric, value, found.interval == "bounded")
    if decided is None:
        return open_gate(metric, value, judge=judge, why=found.reason or "no interval")
    ends = decided.ends
    if unsettled or found.method == "labelled_only":
        return _unknown_population(asked, ends, unsettled)
    if ends[1] >= value and _cannot_pass(suspected, met=ends[0] > value):
        return _gate(asked, "inconclusive", f"{asked}: inconclusive: {_suspected(suspected)}", ends)
    if decided.state != "inconclusive":
        z = found.no_gain.z if found.no_gain is not None and value == 0 else None
        agree = "" if z is None else f", and labels dealt at random agree (z = {number(z)})"
        return _gate(asked, decided.state, f"{asked}: {decided.state}, {_bound(asked, decided)}{agree}.", ends)
    if decided.open_by == "dealt labels":
        why, more = _not_agreeing(asked, decided, found, labelled)
    else:
        more = more_prompts(found, labelled.prompts, value)
        both = (
            f"the one-sided 95% bounds{asked.test} are {asked.bound(ends[0], ends)} and {asked.bound(ends[1], ends)}"
        )
        ground = "" if decided.open_by == "interval" else words_of_support(found, value, "a gate")
        deals = ", and labels dealt at random do not agree" if deals_disagree(found, value, decided.own) else ""
        why = f"{both}{ground and f', but {ground}'}{deals}; {_what_decides(more, labelled)}."
    counts = None if more is None else (ceil(more * labelled.labels_each), ceil(more))
    return _gate(asked, "inconclusive", f"{asked}: inconclusive, {why}", ends, counts)


def bounded_metrics(
    metrics: Mapping[str, estimand.Estimate], metric: str, panel: Panel, rule: estimation.IntervalRule
) -> Mapping[str, estimand.Estimate]:
    """Return the metrics with the bets on one of them in place of its interval; all prompts are labelled whole."""
    e = next((of_picks for of_picks in catalog.OF_PICKS if of_picks.name == metric), None)
    if e is None:
        names = ", ".join(of_picks.name for of_picks in catalog.OF_PICKS)
        raise UsageError(f"{metric} has no bounded gate", hint=f"gate {names}, or leave --gate bounded out")
    if metrics[metric].estimate is None:
        return metrics
    law = estimation.JudgeSums([panel.sums()], rule).bets(e)
    return {**metrics, metric: replace(metrics[metric], law=law, interval=law.kind, no_gain=None)}


def refuse_bounded(labels: Floats, *, whole: bool) -> None:
    """Refuse a bounded gate on labels without a known range, and on those of a part of the prompts."""
    if label_range(labels) != (0.0, 1.0):
        raise UsageError(
            "--gate bounded needs the range of the labels, and these are not all between 0 and 1",
            hint="state it, such as --label-scale 1:5, or leave --gate bounded out",
        )
    if not whole:
        raise UsageError(
            "--gate bounded needs prompts that are labelled whole, all of them",
            hint="label the others, or leave --gate bounded out",
        )


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


def _not_agreeing(
    asked: _GateRequest, decided: GateDecision, found: estimand.Estimate, labelled: Labelled
) -> tuple[str, float | None]:
    """Return why Student's t alone does not decide a gate at 0, and how many more prompts would."""
    above, z = decided.ends[0] > 0, None if found.no_gain is None else found.no_gain.z
    student = f"{_bound(asked, decided)}, but labels dealt at random do not agree"
    if not z or (z > 0) != above:
        return f"{student}.", None
    needed = no_gain.Z_NEEDED if above else -no_gain.Z_NEEDED
    more = more_prompts(found, labelled.prompts, asked.value)
    return (
        f"{student} (z = {against(z, needed)}, where {against(needed, z)} decides); {_what_decides(more, labelled)}.",
        more,
    )


def _bound(asked: _GateRequest, decided: GateDecision) -> str:
    """Name the bound on whose side of the gate the figure lies."""
    low, high = decided.ends
    side, bound = ("lower", low) if low > asked.value else ("upper", high)
    return f"the one-sided 95% {side} bound{asked.test} is {asked.bound(bound, decided.ends)}"


def _cannot_pass(suspected: Sequence[Suspected], *, met: bool) -> bool:
    """Tell whether what is suspected decides a gate: more labels settle few pools, but not an easy candidate."""
    return any(met or one.easy is not None for one in suspected)


def _suspected(suspected: Sequence[Suspected]) -> str:
    """Say what keeps a gate from being met, in whole sentences but for the first capital."""
    facts = [one.at_a_gate for one in suspected]
    return " ".join([f"{'; '.join(facts)}.", *(one.advice for one in suspected)])


def _what_decides(more: float | None, labelled: Labelled) -> str:
    if more is None:
        return "the estimate lies at the gate, so no number of labels can be named"
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
