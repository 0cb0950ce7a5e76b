"""Several annotators per candidate: how their labels became one, how far they agree, what one of them recovers."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["AgainstOthers", "AnnotatorRecord", "Annotators", "JudgeAgainstOthers"]


class AgainstOthers(Record):
    """Scores compared with the labels of all annotators but one, each annotator left out in turn."""

    prompts: Count
    """Prompts of which some annotator labelled every candidate, each labelled by another annotator too."""
    pools: Count
    """Those prompts, each counted once per such annotator."""
    recovery: EstimateRecord | None = None
    """As metrics of an audit; intervals are clustered by prompt."""
    within_r: EstimateRecord | None = None
    """As metrics of an audit; intervals are clustered by prompt."""
    top1_accuracy: EstimateRecord | None = None
    """As metrics of an audit; intervals are clustered by prompt."""


class JudgeAgainstOthers(AgainstOthers):
    """A judge compared with the labels that one annotator is compared with."""

    minus_annotator: dict[str, EstimateRecord]
    """By metric: the judge minus one annotator, paired by prompt."""

    @property
    def recovery_minus_annotator(self) -> EstimateRecord | None:
        """The difference of recoveries, where there is one."""
        return self.minus_annotator.get("recovery")


class AnnotatorRecord(AgainstOthers):
    """One annotator compared with the labels of the others."""

    annotator: str
    labels: Count
    """Labels that the annotator gave."""


class Annotators(Record):
    """The labels of several annotators."""

    layout: Literal["rows", "columns"]
    """Whether annotators are in rows or in columns of their own."""
    columns: list[str]
    """The column that names annotators, or the columns of their labels."""
    annotators: Count
    """Annotators with a label of an audited candidate."""
    labels: Count
    """Labels of audited candidates; candidates with one or more, and with two or more."""
    labelled_candidates: Count
    """Labels of audited candidates; candidates with one or more, and with two or more."""
    several_labels: Count
    """Labels of audited candidates; candidates with one or more, and with two or more."""
    kind: Literal["yes or no", "ordered categories", "numbers"]
    """What the labels were taken for."""
    rule: Literal["mean", "median", "majority"]
    """How the labels of a candidate became one."""
    rule_stated: bool
    """Whether the rule was asked for."""
    split: Count
    """Candidates tied between labels, or with a median between two labels: they have the mean of these."""
    level: Literal["nominal", "ordinal", "interval"]
    """How alpha takes the difference of two labels."""
    alpha: EstimateRecord
    """Krippendorff's alpha of the labels."""
    one_annotator: AgainstOthers | None = None
    """Labels of one annotator against those of the others, over all annotators."""
    reason: str | None = None
    """Why there is no such comparison."""
    judges: dict[str, JudgeAgainstOthers] | None = None
    """Each judge on the same prompts against the same labels."""
    each: list[AnnotatorRecord]
    """The annotators with the most labels."""
