"""How a table was read whose prompts are to be labelled, as draws and comparisons of label designs repeat it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record

__all__ = ["PopulationSettings"]


class PopulationSettings(Record):
    """The table, and how it was read.

    Parameters
    ----------
    source, judge : str
        The audited judge.
    further_judges : list of str
        The others, whose scores help to choose prompts.
    shape : {"rectangular", "ragged"}
    labels_in_table : bool
        Whether the table came with labels of its own.
    label_file : str or None
    exclude : list of str
    shape_asked : {"rectangular", "ragged"} or None
    columns, judge_scale : dict of str to str
    label_scale : str or None
    """

    source: str
    judge: str
    further_judges: list[str]
    shape: Literal["rectangular", "ragged"]
    labels_in_table: bool
    label_file: str | None
    exclude: list[str]
    shape_asked: Literal["rectangular", "ragged"] | None
    columns: dict[str, str]
    judge_scale: dict[str, str]
    label_scale: str | None
