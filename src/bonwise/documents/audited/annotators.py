"""Several annotators per candidate: how their labels became one, how far they agree, what one of them recovers."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["AgainstOthers", "AnnotatorRecord", "Annotators", "JudgeAgainstOthers"]


class AgainstOthers(Record):
    """Scores compared with the labels of all annotators but one, each annotator left out in turn.

    Parameters
    ----------
    prompts : int
        Prompts of which some annotator labelled every candidate, each labelled by another annotator too.
    pools : int
        Those prompts, each counted once per such annotator.
    recovery, within_r, top1_accuracy : EstimateRecord, optional
        As metrics of an audit; intervals are clustered by prompt.
    """

    prompts: Count
    pools: Count
    recovery: EstimateRecord | None = None
    within_r: EstimateRecord | None = None
    top1_accuracy: EstimateRecord | None = None


class JudgeAgainstOthers(AgainstOthers):
    """A judge compared with the labels that one annotator is compared with.

    Parameters
    ----------
    prompts, pools, recovery, within_r, top1_accuracy
        As of `AgainstOthers`.
    minus_annotator : dict of str to EstimateRecord
        By metric: the judge minus one annotator, paired by prompt.
    """

    minus_annotator: dict[str, EstimateRecord]

    @property
    def recovery_minus_annotator(self) -> EstimateRecord | None:
        """The difference of recoveries, where there is one."""
        return self.minus_annotator.get("recovery")


class AnnotatorRecord(AgainstOthers):
    """One annotator compared with the labels of the others.

    Parameters
    ----------
    prompts, pools, recovery, within_r, top1_accuracy
        As of `AgainstOthers`.
    annotator : str
    labels : int
        Labels that the annotator gave.
    """

    annotator: str
    labels: Count


class Annotators(Record):
    """The labels of several annotators.

    Parameters
    ----------
    layout : {"rows", "columns"}
        Whether annotators are in rows or in columns of their own.
    columns : list of str
        The column that names annotators, or the columns of their labels.
    annotators : int
        Annotators with a label of an audited candidate.
    labels, labelled_candidates, several_labels : int
        Labels of audited candidates; candidates with one or more, and with two or more.
    kind : {"yes or no", "ordered categories", "numbers"}
        What the labels were taken for.
    rule : {"mean", "median", "majority"}
        How the labels of a candidate became one.
    rule_stated : bool
        Whether the rule was asked for.
    split : int
        Candidates tied between labels, or with a median between two labels: they have the mean of these.
    level : {"nominal", "ordinal", "interval"}
        How alpha takes the difference of two labels.
    alpha : EstimateRecord
        Krippendorff's alpha of the labels.
    one_annotator : AgainstOthers, optional
        Labels of one annotator against those of the others, over all annotators.
    reason : str, optional
        Why there is no such comparison.
    judges : dict of str to JudgeAgainstOthers, optional
        Each judge on the same prompts against the same labels.
    each : list of AnnotatorRecord
        The annotators with the most labels.
    """

    layout: Literal["rows", "columns"]
    columns: list[str]
    annotators: Count
    labels: Count
    labelled_candidates: Count
    several_labels: Count
    kind: Literal["yes or no", "ordered categories", "numbers"]
    rule: Literal["mean", "median", "majority"]
    rule_stated: bool
    split: Count
    level: Literal["nominal", "ordinal", "interval"]
    alpha: EstimateRecord
    one_annotator: AgainstOthers | None = None
    reason: str | None = None
    judges: dict[str, JudgeAgainstOthers] | None = None
    each: list[AnnotatorRecord]
