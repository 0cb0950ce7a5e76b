"""What every study of a table of scores was asked to do, as its document repeats it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.labels_left_out import LabelsLeftOut
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count

__all__ = ["Shape", "StudySettings"]

Shape = Literal["rectangular", "ragged"]


class StudySettings(Record):
    """What was asked for, and what the table was taken for; a study adds its own settings."""

    confidence: Confidence
    """Of the two-sided intervals."""
    exclude: list[str]
    """Candidate names left out; easy candidates."""
    control: list[str]
    """Candidate names left out; easy candidates."""
    seed: Count
    version: str
    """Of bonwise."""
    shape: Shape
    source: str
    columns: dict[str, str]
    """Role to column."""
    judge_scale: dict[str, str] | None = None
    """Declared scales by judge."""
    label_scale: str | None = None
    draws: Annotated[int, Field(ge=2)] | None = None
    """Most scores of one candidate that were averaged, where there is more than one."""
    labels_left_out: LabelsLeftOut | None = None
    reference: str | None = None
    """The judge that stood in for oracle labels."""
