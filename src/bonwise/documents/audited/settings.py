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
    """Where a figure starts to mean something for the verdict.

    Parameters
    ----------
    global_r : float
        From here the usual sanity check looks acceptable.
    level_bias : float
        Up to here calibrated means may be off, in units of the label scale: of its declared width, or else of the
        range of the labels.
    within_r_weak : float
        Below, signal within prompts is weak.
    within_r_useful : float
        From here best of 4 becomes useful.
    recovery_useful : float
        Recovery that goes with `within_r_useful`.
    """

    global_r: Number
    level_bias: Number
    within_r_weak: Number
    within_r_useful: Number
    recovery_useful: Number


class AuditSettings(Record):
    """What was asked for, and what the table was taken for.

    Parameters
    ----------
    confidence : float
        Of the two-sided intervals.
    interval : {"default", "bootstrap"}
        Jackknife and Fieller, or the percentile cluster bootstrap.
    exclude, control : list of str
        Candidate names left out; easy candidates, reported with and without.
    target : {"best-of-n", "system"}
        The decision that the verdict is about.
    seed : int
        Of the bootstrap, of the folds of level_bias and of the draws behind `choice`.
    thresholds : ThresholdValues
        Of the verdict.
    version : str
        Of bonwise.
    resamples : int, optional
        Of a bootstrap.
    outcome_model : str, optional
        Class of the regressor that was given.
    shape : {"rectangular", "ragged"}
        Whether every prompt must carry all candidate names.
    source : str
        Where the scores came from.
    columns : dict of str to str
        Role to column.
    draws : int
        Most scores of one candidate by one judge that were averaged.
    judge_scale : dict of str to str, optional
        Declared scales by judge.
    label_scale : str, optional
        Declared scale of the labels.
    reference : str, optional
        The judge that stood in for oracle labels.
    picks : PicksMade, optional
        How the logged picks were made that were audited in place of scores.
    labels_left_out : LabelsLeftOut, optional
        Labels that were there and not used.
    keep_easy : list of str, optional
        Easy candidates that count like any other.
    label_words : dict of str to float, optional
        What labels that are words were taken for, such as pass for 1.
    pools : str, optional
        Where the texts of candidates are, of which the lengths were taken.
    judge_family : dict of str to str, optional
        The family that was given for each judge; an empty name stands for every judge not named.
    readings : dict of str to str, optional
        By role: how numbers are read that are not written plainly, such as percent.
    """

    confidence: Confidence
    interval: IntervalKind
    exclude: list[str]
    control: list[str]
    target: Target
    seed: Count
    thresholds: ThresholdValues
    version: str
    resamples: Annotated[int, Field(ge=2)] | None = None
    outcome_model: str | None = None
    shape: Shape
    source: str
    columns: dict[str, str]
    draws: Count
    judge_scale: dict[str, str] | None = None
    label_scale: str | None = None
    reference: str | None = None
    picks: PicksMade | None = None
    labels_left_out: LabelsLeftOut | None = None
    keep_easy: list[str] | None = None
    label_words: dict[str, Number] | None = None
    pools: str | None = None
    judge_family: dict[str, str] | None = None
    readings: dict[str, str] | None = None

    @property
    def deciding(self) -> tuple[str, float]:
        """The metric that decides for the target, and the gate of the verdict on it."""
        limits = self.thresholds
        return DECIDES[self.target], limits.recovery_useful if self.target == "best-of-n" else limits.global_r
