"""What keeps a verdict from being settled: easy and outstanding candidates, too few pools, missing labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from bonwise.auditing.result_verdict import AuditSuspicion, SuspicionKind
from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import quoted, shell_word
from bonwise.report import numbers, table_facts
from bonwise.results import given
from bonwise.stats import support
from bonwise.stats.estimand import Estimate
from bonwise.stats.support import FEWEST
from bonwise.table.panel import EasyCandidate, OutstandingGroup, Panel, easy_of_panel, outstanding_groups

_SPOKEN = {"global_r": "the correlation over all cells"}
"""Metrics that are called otherwise in a sentence."""


@dataclass(frozen=True, slots=True)
class Suspected:
    """Why no verdict is useful and no gate is met."""

    kind: SuspicionKind
    fact: str
    """What was found, as a clause."""
    advice: str
    """Whole sentences: what settles it."""
    easy: EasyCandidate | None = None
    outstanding: OutstandingGroup | None = None
    answer: str = ""
    """What the verdict is with outstanding candidates and without them, as a clause; empty for the others."""
    metric: str = ""
    """That the verdict rests on."""
    with_it: Estimate | None = None
    without_it: Estimate | None = None
    """Both: of the metric, with the easy candidate and without; None where it cannot be estimated."""

    @property
    def figures(self) -> str:
        """The metric with the candidate and without it, as a clause; empty where it has no figures."""
        unit = unit_of(self.metric) if self.metric else "number"
        them = "it" if self.outstanding is None or len(self.outstanding.names) == 1 else "them"
        both = [(f"with {them}", self.with_it), (f"without {them}", self.without_it)]
        known = [
            f"{numbers.with_interval(one, unit)} {which}" for which, one in both if one and one.estimate is not None
        ]
        return f"{_SPOKEN.get(self.metric, self.metric)} is {' and '.join(known)}" if known else ""

    @property
    def finding(self) -> str:
        """What was found, as sentences with the figures."""
        facts = [self.fact, self.figures]
        return " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in facts if fact)

    @property
    def at_a_gate(self) -> str:
        """What keeps a gate from being met, as a clause: of outstanding candidates with the figures."""
        return self.fact if self.outstanding is None else f"{self.fact}, and {self.figures}"

    @property
    def sentence(self) -> str:
        """What was found and what settles it."""
        return f"{self.finding} {self.advice}"

    def record(self) -> AuditSuspicion:
        """Return this part of the document."""
        both = (None if one is None else EstimateRecord.of(one) for one in (self.with_it, self.without_it))
        with_candidate, without_candidate = both
        return AuditSuspicion(
            kind=self.kind,
            sentence=self.sentence,
            **given(
                candidate=None if self.easy is None else self.easy.name,
                lowest=None if self.easy is None else self.easy.lowest,
                **({} if self.outstanding is None else _of_group(self.outstanding)),
                metric=self.metric or None,
                with_candidate=with_candidate,
                without_candidate=without_candidate,
            ),
        )


def _of_group(group: OutstandingGroup) -> dict[str, object]:
    return {"candidates": list(group.names), "end": group.end, "held": group.held}


@dataclass(frozen=True, eq=False)
class Outstanding:
    """An outstanding group of a table, and what a judge's metrics are without it."""

    group: OutstandingGroup
    estimated: Callable[[], Mapping[str, Estimate]]
    """Estimates the metrics without the group; empty where it cannot be left out."""

    @cached_property
    def without(self) -> Mapping[str, Estimate]:
        """The metrics without the group, estimated once."""
        return self.estimated()

    def sentence(self, metric: str, with_it: Estimate) -> str:
        """Return what is to be known of the group where it keeps nothing open."""
        suspected = of_outstanding(self.group, metric, 0.0, with_it=with_it, without_it=self.without.get(metric))
        fact = f"{suspected.fact[0].upper()}{suspected.fact[1:]}"
        return f"{fact}: {suspected.figures}." if self.without and suspected.figures else f"{fact}."


def of_outstanding(
    group: OutstandingGroup, metric: str, gate: float, *, with_it: Estimate, without_it: Estimate | None
) -> Suspected:
    """Suspect outstanding candidates that carry a metric above a gate, with its estimates with them and without."""
    names, holds, flags = table_facts.outstanding_words(group)
    if without_it is None or without_it.estimate is None:
        without = "undefined"
    elif without_it.high is not None and without_it.high < gate:
        without = "harmful" if without_it.high < 0 else "weak"
    else:
        without = "not settled"
    return Suspected(
        "outstanding candidates",
        holds,
        flags,
        outstanding=group,
        answer=f"it is useful with {names}, {without} without",
        metric=metric,
        with_it=with_it,
        without_it=without_it,
    )


def outstanding_of(
    panel: Panel, keep_easy: Sequence[str], without: Callable[..., Mapping[str, Estimate]]
) -> tuple[Outstanding, ...]:
    """Return the outstanding groups that nothing settles; an easy candidate stands for all at the lower end."""
    kept = set(keep_easy)
    groups = [group for group in outstanding_groups(panel) if not kept.issuperset(group.names)]
    is_low = any(group.end == "lowest" for group in groups)
    easy = is_low and any(easy_candidate.name not in kept for easy_candidate in easy_of_panel(panel))
    return tuple(
        Outstanding(group, partial(without, *group.names)) for group in groups if not (easy and group.end == "lowest")
    )


def remarks(outstanding: Sequence[Outstanding], metric: str, with_it: Estimate) -> list[str]:
    """Return a sentence for each end that a group holds and that keeps nothing open."""
    return [first.sentence(metric, with_it) for first in first_of_ends(outstanding)]


def first_of_ends(outstanding: Sequence[Outstanding]) -> list[Outstanding]:
    """Return the first group of each end."""
    return list({one.group.end: one for one in reversed(outstanding)}.values())


def of_easy_candidate(
    easy: EasyCandidate, metric: str, *, with_it: Estimate | None, without_it: Estimate | None, logged: bool = False
) -> Suspected:
    """Suspect a candidate that is worst almost everywhere; of `logged` picks no candidate can be left out."""
    what, word = "label" if easy.by_labels else "score", shell_word(easy.name)
    left_out = (
        "Pick again without it to see what the picks are worth among the others."
        if logged
        else f"--control {word} leaves it out of the figures and shows them with it as well."
    )
    return Suspected(
        "easy candidate",
        f"candidate {quoted(easy.name)} has the lowest {what} in {numbers.number(easy.lowest, 'share')} of prompts",
        f"{left_out} --keep-easy {word} counts it like any other candidate.",
        easy,
        metric=metric,
        with_it=with_it,
        without_it=without_it,
    )


def words_of_support(found: Estimate, value: float, what: str) -> str:
    """Say in a clause on which ground a figure settles no value; empty where it may. `what` needs more."""
    ground = support.open_ground(found, value)
    if not ground or found.support is None:
        return ""
    if ground == "count" and found.support.prompts < support.FEWEST:
        return few_pools(found.support.prompts).fact
    if ground == "count":
        rests, of = int(found.support.count), numbers.counted(found.support.prompts, "prompt")
        return f"it rests on about {rests} of {of}, and {what} needs {found.support.needed}"
    own, further = found.support.own, found.support.across(found.estimate or 0.0, value)
    if further is None or own is None or own[0] <= value <= own[1]:  # the interval alone says it
        return ""
    side = "below" if further is found.support.loss else "above"
    return f"{further.what} would take it {side}{'' if value else ' 0'}"


def few_pools(labelled: int, *, whole: bool = True) -> Suspected:
    """Suspect figures of few pools; with `whole` they need the labels of all candidates of a pool."""
    if whole:
        has = f"{'is' if labelled == 1 else 'are'} labelled completely"
    else:
        has = f"{'has' if labelled == 1 else 'have'} the labels that it needs"
    fact = f"only {numbers.counted(labelled, 'prompt')} {has}, and a verdict needs {FEWEST}"
    return Suspected("few pools", fact, "Label more prompts.")


def light_pools(labelled: int, worth: int) -> Suspected:
    """Suspect figures of pools whose weights are worth few of equal weight."""
    weights = f"the weights of {numbers.counted(labelled, 'labelled prompt')}"
    fact = f"{weights} are worth {numbers.counted(worth, 'prompt')} of equal weight, and a verdict needs {FEWEST}"
    return Suspected("few pools", fact, "Label more prompts.")


def missing_labels(missing: int, cells: int, stated: str = "", *, weighted: bool = False) -> Suspected:
    """Suspect labels missing for unknown reasons; `stated` says why a stated draw does not help, empty for none."""
    lack = f"{missing:,} of {cells:,} labels {'is' if missing == 1 else 'are'} missing"
    if stated:
        return Suspected("missing labels", f"{lack}: {stated}", "Label the prompts that were drawn.")
    if weighted:
        advice = "Label the other prompts: prompts with weights (--weight-col) have no --design."
    else:
        advice = (
            "--design uniform states that they are a random sample of all prompts. --design FILE names the record "
            "that bonwise labels draw wrote."
        )
    return Suspected("missing labels", f"{lack}, and how the labelled prompts were chosen is not stated", advice)
