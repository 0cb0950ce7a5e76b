"""What a file was taken for, what is odd about it, and what to type next: ``bonwise.doctor/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bonwise.results import Count, Document, Number, Record, Share
from bonwise.table.facts import UnlabelledCandidates


class TableCounts(Record):
    """How much there is of what in the file."""

    rows: Count
    prompts: Count
    candidates: Count
    judges: Count


class ColumnFacts(Record):
    """What one column of the file holds."""

    name: str
    kind: str
    """Such as numbers, names or text; how numbers are written where that is not plain."""
    missing: Count
    """Blank cells."""
    examples: list[str]
    """Up to three cells, cut where they are long."""
    taken: str
    """The role that it plays, stratum, words, or nothing."""
    rows: Count = Field(default=0, exclude=True)
    """Of the file."""


class JudgeScores(Record):
    """The scores of one judge."""

    judge: str
    prompts: Count
    """Of which it scored a candidate; where there is none every other key is absent."""
    lowest: Number | None = None
    highest: Number | None = None
    distinct: Count | None = None
    """Different scores."""
    tie_rate: Share | None = None
    top1_tie_rate: Share | None = None
    """Both: share of the pairs within prompts that are ties, and of the prompts whose top score is shared."""

    unscored: Count | None = None
    """Candidates without a score; absent where every one has one."""

    @model_validator(mode="after")
    def _figures_stand_where_prompts_do(self) -> JudgeScores:
        figures = (self.lowest, self.highest, self.distinct, self.tie_rate, self.top1_tie_rate)
        if any((figure is None) != (not self.prompts) for figure in figures):
            raise ValueError("should have its figures where it scored a prompt, and only there")
        return self


class AnnotatorCounts(Record):
    """The labels of several annotators, and what an audit makes of them."""

    layout: Literal["rows", "columns"]
    """Whether annotators are in rows or in columns of their own."""
    columns: list[str]
    """The column that names annotators, or the columns of their labels."""
    annotators: Count
    labels: Count
    several_labels: Count
    """Candidates with two labels or more."""
    kind: Literal["yes or no", "ordered categories", "numbers"]
    """What the labels are taken for."""
    rule: Literal["mean", "median", "majority"]
    """How the labels of a candidate become one."""
    split: Count
    """Candidates tied between labels, or with a median between two labels: they have the mean of these."""


class LabelCoverage(Record):
    """The oracle labels."""

    labelled_rows: Count
    """Where there is none `lowest`, `highest` and `distinct` are absent."""
    labelled_prompts: Count
    partly_labelled_prompts: Count
    unlabelled_prompts: Count
    """All three: prompts of the judge that scored most, by how many of their candidates are labelled."""
    lowest: Number | None = None
    highest: Number | None = None
    distinct: Count | None = None
    """Different labels."""
    words: dict[str, Number] | None = None
    """What labels that are words are taken for, such as pass for 1."""
    annotators: AnnotatorCounts | None = None
    """Where candidates have labels of several annotators."""

    @model_validator(mode="after")
    def _figures_stand_where_labels_do(self) -> LabelCoverage:
        if any((figure is None) != (not self.labelled_rows) for figure in (self.lowest, self.highest, self.distinct)):
            raise ValueError("should have lowest, highest and distinct where there are labels, and only there")
        return self


class DoctorDocument(Document):
    """What was found about a file before an audit of it."""

    schema_: Literal["bonwise.doctor/1"] = Field(default="bonwise.doctor/1", alias="schema")
    source: str
    columns: dict[str, str]
    """Role to column."""
    strata: list[str]
    """Columns that prompts can be told apart by."""
    counts: TableCounts
    shape: Literal["rectangular", "ragged"] | None = None
    """Absent where the file is no table of scores."""
    dropped: dict[str, Count]
    """Prompts that an audit would leave out, by reason."""
    judges: list[JudgeScores]
    labels: LabelCoverage
    suspicious: list[str]
    """What looks wrong, in one sentence each."""
    next_command: str
    """To type next, whole, as it stands; empty where `not_audited` says why there is none."""
    supports: dict[str, str]
    """By kind of analysis: ``yes``, or ``no: `` and why."""
    proposed: list[str] | None = None
    """Why the next command names the columns that it names, a sentence each; absent where the file needed none."""
    fixed: str | None = None
    """Where the table was written as it was understood; absent where it was not."""
    not_audited: str | None = None
    """Why an audit would say nothing of it; absent where it would."""
    column_facts: list[ColumnFacts] | None = None
    """What each column of the file holds; absent where scores did not come from rows."""
    readings: dict[str, str] | None = None
    """By role: how numbers are read that are not plain; under ``file`` how the format of another tool is."""

    unlabelled: UnlabelledCandidates | None = None

    frame_columns = ("judge", "prompts", "lowest", "highest", "distinct", "tie_rate", "top1_tie_rate")
    frame_of = "judges"
