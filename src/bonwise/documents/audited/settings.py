"""What an audit was asked to do, as its document repeats it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.audited.verdict import DECIDES, Target
from bonwise.documents.labels_left_out import LabelsLeftOut
from bonwise.documents.picks_made import PicksMade
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, Number

__all__ = ["AuditSettings", "IntervalKind", "Shape", "ThresholdValues"]

IntervalKind = Literal["default", "bootstrap"]

Shape = Literal["rectangular", "ragged"]


class ThresholdValues(Record):
    """Where a figure starts to mean something for the verdict."""

    global_r: Number
    """From here the usual sanity check looks acceptable."""
    level_bias: Number
    """Up to here calibrated means may be off, in units of the label scale: of its declared width, or else of the
    range of the labels.
    """
    within_r_weak: Number
    """Below, signal within prompts is weak."""
    within_r_useful: Number
    """From here best of 4 becomes useful."""
    recovery_useful: Number
    """Recovery that goes with `within_r_useful`."""


class AuditSettings(Record):
    """What was asked for, and what the table was taken for."""

    confidence: Confidence
    """Of the two-sided intervals."""
    interval: IntervalKind
    """Jackknife and Fieller, or the percentile cluster bootstrap."""
    exclude: list[str]
    """Candidate names left out; easy candidates, reported with and without."""
    control: list[str]
    """Candidate names left out; easy candidates, reported with and without."""
    target: Target
    """The decision that the verdict is about."""
    seed: Count
    """Of the bootstrap, of the folds of level_bias and of the draws behind `choice`."""
    thresholds: ThresholdValues
    """Of the verdict."""
    version: str
    """Of bonwise."""
    resamples: Annotated[int, Field(ge=2)] | None = None
    """Of a bootstrap."""
    outcome_model: str | None = None
    """Class of the regressor that was given."""
    shape: Shape
    """Whether every prompt must carry all candidate names."""
    source: str
    """Where the scores came from."""
    columns: dict[str, str]
    """Role to column."""
    draws: Count
    """Most scores of one candidate by one judge that were averaged."""
    judge_scale: dict[str, str] | None = None
    """Declared scales by judge."""
    label_scale: str | None = None
    """Declared scale of the labels."""
    reference: str | None = None
    """The judge that stood in for oracle labels."""
    picks: PicksMade | None = None
    """How the logged picks were made that were audited in place of scores."""
    labels_left_out: LabelsLeftOut | None = None
    """Labels that were there and not used."""
    keep_easy: list[str] | None = None
    """Easy candidates that count like any other."""
    label_words: dict[str, Number] | None = None
    """What labels that are words were taken for, such as pass for 1."""
    pools: str | None = None
    """Where the texts of candidates are, of which the lengths were taken."""
    judge_family: dict[str, str] | None = None
    """The family that was given for each judge; an empty name stands for every judge not named."""
    readings: dict[str, str] | None = None
    """By role: how numbers are read that are not written plainly, such as percent."""

    @property
    def deciding(self) -> tuple[str, float]:
        """The metric that decides for the target, and the gate of the verdict on it."""
        limits = self.thresholds
        return DECIDES[self.target], limits.recovery_useful if self.target == "best-of-n" else limits.global_r
