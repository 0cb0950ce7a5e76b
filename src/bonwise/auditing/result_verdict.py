"""What the figures of an audit mean, what keeps a verdict from being settled, and gates, in its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.results import Confidence, Count, NonNegative, Number, Record, Share, with_every

GateState = Literal["met", "not met", "inconclusive"]


class Gate(Record):
    """Outcome of ``METRIC=VALUE``."""

    judge: str
    metric: str
    """Both: of what."""
    value: Number
    """What the metric must exceed."""
    state: GateState
    """Met when the one-sided 95 % lower bound exceeds the value, not met when the upper bound lies below it."""
    low: Number | None
    high: Number | None
    """Both: the one-sided bounds."""
    more_labels: Count | None
    """About how many more labels of candidates would decide, where that is known; 0 for one without labels."""
    more_prompts: Count | None
    """About how many more prompts these would be of."""
    sentence: str
    """What was found, in words."""


SuspicionKind = Literal["easy candidate", "outstanding candidates", "few pools", "missing labels"]


class AuditSuspicion(Record):
    """Why no verdict is ``useful`` and no gate is met, whatever the figures are."""

    kind: SuspicionKind
    """What was found."""
    sentence: str
    """In words, with the flags that settle it."""
    candidate: str | None = None
    """The easy candidate."""
    lowest: Share | None = None
    """Share of prompts in which no other candidate has a lower label, or a lower score where no prompt is labelled
    completely.
    """
    candidates: list[str] | None = None
    """The outstanding candidates."""
    end: Literal["best", "lowest"] | None = None
    """Which end of the labels they hold."""
    held: Share | None = None
    """Share of prompts in which they alone hold it."""
    metric: str | None = None
    """The metric that the verdict rests on, with and without the candidates."""
    with_candidate: EstimateRecord | None = None
    """Its estimate with the easy or the outstanding candidates."""
    without_candidate: EstimateRecord | None = None
    """Its estimate without, as ``--control`` gives it."""

    @property
    def names(self) -> list[str]:
        """The easy or the outstanding candidates."""
        return self.candidates or ([] if self.candidate is None else [self.candidate])


class Subset(Record):
    """The prompts of which a column says one thing, and the metric that decides the verdict on them."""

    column: str
    """Its name."""
    value: str
    """What it says."""
    prompts: Count
    """Labelled ones."""
    estimate: Number | None
    """Of these prompts."""
    low: Number | None
    high: Number | None
    """Both: ends of an interval that holds together with those of all other subsets."""
    shrunk: Number | None
    """The estimate shrunk towards the mean of the column's subsets, by empirical Bayes."""
    reason: str | None = None
    """Why there is no estimate, or no interval."""


class Subsets(Record):
    """The metric that decides the verdict, by subset of the prompts."""

    metric: str
    """``recovery``, or ``global_r`` where systems are compared."""
    confidence: Confidence
    """Of the interval of one subset, so that all hold together at the confidence of the audit."""
    worst: Subset | None = None
    """Of those with an interval, the one with the lowest estimate."""
    best: Subset | None = None
    """The one with the highest."""
    weak: list[Subset]
    """Those of 30 prompts or more whose interval lies below the gate, the worst first."""
    rows: list[Subset]
    """All, the worst first; those without an estimate are last."""
    between: dict[str, NonNegative]
    """By column: the standard deviation between its subsets beyond what chance explains."""
    left_out: dict[str, str]
    """Columns that form no subsets, and why."""
    sentence: str = ""
    """The worst and the best, and what has no interval, in words."""


Target = Literal["best-of-n", "system"]
"""The decision that a verdict is about."""

DECIDES: Mapping[Target, str] = {"best-of-n": "recovery", "system": "global_r"}
"""The metric that answers for a target."""

Level = Literal["useful", "weak", "harmful", "random", "inconclusive"]

Check = Literal["correlation", "level", "directional", "decision"]

CheckState = Literal["pass", "fail", "inconclusive", "undefined"]

_CHECKS: Sequence[Check] = get_args(Check)

_TOGETHER = 2
"""Sentences on the checks where the first three have one together."""

_MOST_OPENING = 2
"""Sentences before those on the checks: the answer, and what the figures describe."""


class Verdict(Record):
    """What the figures mean for the decision at hand."""

    target: Target
    """The decision."""
    level: Level
    """``useful``, ``weak``, ``harmful``, ``random`` or ``inconclusive``, for the target."""
    checks: Annotated[dict[Check, CheckState], with_every(_CHECKS)]
    """``correlation``, ``level``, ``directional``, ``decision`` to ``pass``, ``fail``, ``inconclusive`` or
    ``undefined``.
    """
    sentences: Annotated[list[str], Field(min_length=2)]
    """The verdict in words. The first is the answer; a second says what the figures describe, where that is not every
    prompt. The last four say what each check rests on; where scores or whole pools are missing the last but one is
    about the first three checks.
    """
    deciding: Count
    """Which of the sentences, counted from 0, holds the figures that the level rests on; never the first, which is
    the answer.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not 1 <= self.deciding < len(self.sentences):
            raise ValueError(f"deciding must be one of 1 to {len(self.sentences) - 1}, the sentences but the first")
        return self

    @property
    def opening(self) -> list[str]:
        """The sentences before those on the checks."""
        return self.sentences[: len(self.sentences) - self._on_checks]

    def of_checks(self) -> Mapping[Check, str]:
        """Return what each check rests on; empty where the sentences are none that an audit writes."""
        last = self.sentences[len(self.opening) :]
        if len(last) == _TOGETHER:
            first, decision = last
            last = [first, first, first, decision]
        return dict(zip(_CHECKS, last, strict=True)) if last else {}

    @property
    def _on_checks(self) -> int:
        """How many of the sentences are on the checks: each has its own, or the first three have one together."""
        for many in (len(_CHECKS), _TOGETHER):
            if 1 <= len(self.sentences) - many <= _MOST_OPENING:
                return many
        return 0
