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
    """An outcome.

    Parameters
    ----------
    recovery, low, high : float or None
        With its two-sided interval.
    lower, upper : float or None
        One-sided bounds at 95 %.
    level : str
        The word of the verdict.
    sentence : str
        The outcome in words.
    """

    recovery: Number | None
    low: Number | None
    high: Number | None
    lower: Number | None
    upper: Number | None
    level: Level
    sentence: NotBlank

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for what, low, high in (("interval", self.low, self.high), ("bounds", self.lower, self.upper)):
            if (low is None) != (high is None):
                raise ValueError(f"one end of the {what} is missing")
            if low is not None and high is not None and low > high:
                raise ValueError(f"the ends of the {what} are in the wrong order")
        return self


class GateStep(VerdictStep):
    """The verdict at another gate.

    Parameters
    ----------
    gate : float
        Recovery from which the judge is useful.
    state : {"met", "not met", "inconclusive"}
        Outcome of ``--fail-under recovery=GATE``, by the one-sided bounds.
    gate_sentence : str
        That outcome in words.
    """

    gate: Number
    state: GateState
    gate_sentence: NotBlank


class LabelStep(VerdictStep):
    """The verdict with another number of labelled prompts, if the estimate stays as it is.

    Parameters
    ----------
    prompts, labels : int
        Labelled prompts, and labels of candidates.
    chance : float or None
        How likely a study of that size settles the verdict if the estimate is the truth; None where no size does.
    """

    prompts: Annotated[Count, Field(gt=0)]
    labels: Count
    chance: Share | None


class ShareStep(VerdictStep):
    """The verdict after some prompts went to a judge that never errs.

    Parameters
    ----------
    share : float
        Part of the prompts that is sent.
    """

    share: Share


def _check_steps(values: Sequence[float], current: int, what: str) -> None:
    if any(second <= first for first, second in pairwise(values)):
        raise ValueError(f"the steps are not in rising order of the {what}")
    if current >= len(values):
        raise ValueError("current is beyond the last step")


class GateSteps(Record):
    """The verdict by the gate.

    Parameters
    ----------
    steps : list of GateStep
        In rising order.
    current : int
        Which step, from 0, has the gate of the audit.
    """

    steps: Annotated[list[GateStep], Field(min_length=FEWEST_STEPS)]
    current: Count

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.gate for one in self.steps], self.current, "gate")
        return self


class LabelsNeeded(Record):
    """Labelled prompts that settle the verdict with a stated chance, if the estimate is the truth.

    Parameters
    ----------
    power : float
        The chance.
    prompts : float
        Not rounded.
    low, high : float or None
        Interval, for what the labelled prompts leave uncertain of the distance to the gate; an end is None where it
        is infinite or unknown.
    """

    power: Share
    prompts: Positive
    low: Positive | None
    high: Positive | None


class LabelSteps(Record):
    """The verdict by the number of labels: a projection.

    Parameters
    ----------
    steps : list of LabelStep
        In rising order.
    current : int
        Which step, from 0, has the labels of the audit.
    sampled : bool
        Whether the labels are a sample. Prompts without labels are then taken to grow in number as the labelled do.
    needed : LabelsNeeded, optional
        Absent where the estimate equals the gate, where no number of labels settles the verdict, or where the
        labels are a sample.
    """

    steps: Annotated[list[LabelStep], Field(min_length=FEWEST_STEPS)]
    current: Count
    sampled: bool
    needed: LabelsNeeded | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.prompts for one in self.steps], self.current, "prompts")
        return self


class ShareSteps(Record):
    """The verdict by the share of the prompts that goes to a stronger judge.

    Parameters
    ----------
    signal : str
        By which the prompts are chosen.
    steps : list of ShareStep
        In rising order.
    current : int
        Which step, from 0, the slider begins at.
    """

    signal: NotBlank
    steps: Annotated[list[ShareStep], Field(min_length=FEWEST_STEPS)]
    current: Count

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([one.share for one in self.steps], self.current, "share")
        return self


class WhatIf(Record):
    """What would change the verdict on one judge.

    Parameters
    ----------
    judge : str
        Its name; of several the one with the largest recovery.
    confidence : float
        Of the two-sided intervals.
    gate_value : float
        The gate of the audit.
    gate : GateSteps
        The verdict at other gates.
    share : ShareSteps, optional
        Where routing was studied.
    labels : LabelSteps, optional
        Where the interval can be projected.
    """

    judge: str
    confidence: Confidence
    gate_value: Number
    gate: GateSteps
    share: ShareSteps | None = None
    labels: LabelSteps | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.gate.steps[self.gate.current].gate != self.gate_value:
            raise ValueError("gate.current is not the step of gate_value")
        return self
