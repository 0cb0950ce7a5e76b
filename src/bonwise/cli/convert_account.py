"""What a conversion did, as a document and as words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from bonwise.printable import printable
from bonwise.report.blocks import Part, Said
from bonwise.report.numbers import counted
from bonwise.results import Count, Document, FrameRow, Record

__all__ = ["ConvertCounts", "ConvertDocument", "describe"]


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


def describe(document: ConvertDocument) -> Part:
    """Describe the table."""
    return Part(f"Rows of {printable(document.source)}", list(said_of(document)))


def said_of(document: ConvertDocument) -> list[Said]:
    """Return the sentences."""
    data = document.data
    said: list[Said] = [
        Said("finding", f"{printable(document.out)}: {counted(data.rows, 'row')}, {counted(data.prompts, 'prompt')}")
    ]
    if document.read_as:
        said.append(Said("note", f"read as {printable(document.read_as, longest=1000)}"))
    if data.left_out:
        said.append(Said("caveat", f"{counted(data.left_out, 'row')} without prompt or candidate left out"))
    return [
        *said,
        *(Said("caveat", f"an audit still lacks: {printable(one, longest=600)}") for one in document.lacks),
    ]
