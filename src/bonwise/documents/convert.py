"""What was written of a file of another tool, and what an audit still lacks: ``bonwise.convert/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["MODEL", "ConvertCounts", "ConvertDocument"]


class ConvertCounts(Record):
    """What was written."""

    rows: Count
    prompts: Count
    left_out: Count
    """Rows whose prompt or candidate cannot be told."""


class ConvertDocument(Document):
    """The table that was written of a file."""

    schema_: Literal["bonwise.convert/1"] = Field(default="bonwise.convert/1", alias="schema")
    source: str
    out: str
    """Where the table is."""
    columns: list[str]
    data: ConvertCounts
    read_as: str | None
    """How the file was read; None for a table in the usual shape."""
    lacks: list[str]
    """What an audit would need and the file does not hold, a sentence each."""
    version: str
    """Of bonwise."""

    frame_columns = ("rows", "prompts", "left_out")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield the one row of counts."""
        yield self.data.to_dict()


MODEL = ConvertDocument
