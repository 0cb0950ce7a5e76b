"""A file of another tool as a table: what was written, and what an audit still lacks."""

from __future__ import annotations

from bonwise.documents.convert import ConvertDocument
from bonwise.printable import printable
from bonwise.report.blocks import Part, Said
from bonwise.report.numbers import counted

__all__ = ["describe"]


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
