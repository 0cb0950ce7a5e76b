"""How a table was read whose prompts are to be labelled, as draws and comparisons of label designs repeat it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record

__all__ = ["PopulationSettings"]


class PopulationSettings(Record):
    """The table, and how it was read."""

    source: str
    """The audited judge."""
    judge: str
    """The audited judge."""
    further_judges: list[str]
    """The others, whose scores help to choose prompts."""
    shape: Literal["rectangular", "ragged"]
    labels_in_table: bool
    """Whether the table came with labels of its own."""
    label_file: str | None
    exclude: list[str]
    shape_asked: Literal["rectangular", "ragged"] | None
    columns: dict[str, str]
    judge_scale: dict[str, str]
    label_scale: str | None
