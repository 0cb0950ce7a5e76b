"""What would change the verdict of an audit: its outcome at other gates, shares and numbers of labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from bonwise.documents.audited.gate import GateState
from bonwise.documents.audited.verdict import Level
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NotBlank, Number, Positive, Share

__all__ = [
    "FEWEST_STEPS",
    "GateStep",
    "GateSteps",
    "LabelStep",
    "LabelSteps",
    "LabelsNeeded",
    "ShareStep",
    "ShareSteps",
    "VerdictStep",
    "WhatIf",
]

FEWEST_STEPS = 21
"""Values of a slider."""


class VerdictStep(Record):
    """An outcome."""

    recovery: Number | None
    """With its two-sided interval."""
    low: Number | None
    """With its two-sided interval."""
    high: Number | None
    """With its two-sided interval."""
    lower: Number | None
    """One-sided bounds at 95 %."""
    upper: Number | None
    """One-sided bounds at 95 %."""
    level: Level
    """The word of the verdict."""
    sentence: NotBlank
    """The outcome in words."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for what, low, high in (("interval", self.low, self.high), ("bounds", self.lower, self.upper)):
            if (low is None) != (high is None):
                raise ValueError(f"one end of the {what} is missing")
            if low is not None and high is not None and low > high:
                raise ValueError(f"the ends of the {what} are in the wrong order")
        return self


class GateStep(VerdictStep):
    """The verdict at another gate."""

    gate: Number
    """Recovery from which the judge is useful."""
    state: GateState
    """Outcome of ``--fail-under recovery=GATE``, by the one-sided bounds."""
    gate_sentence: NotBlank
    """That outcome in words."""


class LabelStep(VerdictStep):
    """The verdict with another number of labelled prompts, if the estimate stays as it is."""

    prompts: Annotated[Count, Field(gt=0)]
    """Labelled prompts, and labels of candidates."""
    labels: Count
    """Labelled prompts, and labels of candidates."""
    chance: Share | None
    """How likely a study of that size settles the verdict if the estimate is the truth; None where no size does."""


class ShareStep(VerdictStep):
    """The verdict after some prompts went to a judge that never errs."""

    share: Share
    """Part of the prompts that is sent."""


def _check_steps(values: Sequence[float], current: int, what: str) -> None:
    if any(second <= first for first, second in pairwise(values)):
        raise ValueError(f"the steps are not in rising order of the {what}")
    if current >= len(values):
        raise ValueError("current is beyond the last step")


class GateSteps(Record):
    """The verdict by the gate."""

    steps: Annotated[list[GateStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, has the gate of the audit."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.gate for one in self.steps], self.current, "gate")
        return self


class LabelsNeeded(Record):
    """Labelled prompts that settle the verdict with a stated chance, if the estimate is the truth."""

    power: Share
    """The chance."""
    prompts: Positive
    """Not rounded."""
    low: Positive | None
    """Interval, for what the labelled prompts leave uncertain of the distance to the gate; an end is None where it is
    infinite or unknown.
    """
    high: Positive | None
    """Interval, for what the labelled prompts leave uncertain of the distance to the gate; an end is None where it is
    infinite or unknown.
    """


class LabelSteps(Record):
    """The verdict by the number of labels: a projection."""

    steps: Annotated[list[LabelStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, has the labels of the audit."""
    sampled: bool
    """Whether the labels are a sample. Prompts without labels are then taken to grow in number as the labelled do."""
    needed: LabelsNeeded | None = None
    """Absent where the estimate equals the gate, where no number of labels settles the verdict, or where the labels
    are a sample.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.prompts for one in self.steps], self.current, "prompts")
        return self


class ShareSteps(Record):
    """The verdict by the share of the prompts that goes to a stronger judge."""

    signal: NotBlank
    """By which the prompts are chosen."""
    steps: Annotated[list[ShareStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, the slider begins at."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.share for one in self.steps], self.current, "share")
        return self


class WhatIf(Record):
    """What would change the verdict on one judge."""

    judge: str
    """Its name; of several the one with the largest recovery."""
    confidence: Confidence
    """Of the two-sided intervals."""
    gate_value: Number
    """The gate of the audit."""
    gate: GateSteps
    """The verdict at other gates."""
    share: ShareSteps | None = None
    """Where routing was studied."""
    labels: LabelSteps | None = None
    """Where the interval can be projected."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.gate.steps[self.gate.current].gate != self.gate_value:
            raise ValueError("gate.current is not the step of gate_value")
        return self
