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
    """What was asked for, and what the table was taken for; a study adds its own settings.

    Parameters
    ----------
    confidence : float
        Of the two-sided intervals.
    exclude, control : list of str
        Candidate names left out; easy candidates.
    seed : int
    version : str
        Of bonwise.
    shape : {"rectangular", "ragged"}
    source : str
    columns : dict of str to str
        Role to column.
    judge_scale : dict of str to str, optional
        Declared scales by judge.
    label_scale : str, optional
    draws : int, optional
        Most scores of one candidate that were averaged, where there is more than one.
    labels_left_out : LabelsLeftOut, optional
    reference : str, optional
        The judge that stood in for oracle labels.
    """

    confidence: Confidence
    exclude: list[str]
    control: list[str]
    seed: Count
    version: str
    shape: Shape
    source: str
    columns: dict[str, str]
    judge_scale: dict[str, str] | None = None
    label_scale: str | None = None
    draws: Annotated[int, Field(ge=2)] | None = None
    labels_left_out: LabelsLeftOut | None = None
    reference: str | None = None
