"""Documents without a layout of their own, as sections of a page: what a command prints, its tables as tables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bonwise.report.page.section import Section
from bonwise.report.page.told import lines, tables

__all__ = ["PRINTED", "printed_sections", "printed_title"]

_Document = Mapping[str, Any]

PRINTED: Mapping[str, str] = {}
"""Who puts a document into words, by its schema."""


def printed_title(document: _Document) -> str:
    """Return the first line that the command prints."""
    return lines(_parts(document))[0].text


def printed_sections(document: _Document) -> list[Section]:
    """Return everything below that line: lines above the first table are findings, the others notes.

    Parameters
    ----------
    document : mapping
        Of a schema among `PRINTED`.
    """
    parts = _parts(document)
    said = lines(parts)[1:]
    return [
        Section(
            "What was found",
            "found",
            sentences=[line.text for line in said if not line.after],
            tables=tables(parts),
            notes=[line.text for line in said if line.after],
        )
    ]


def _parts(document: _Document) -> list[Any]:
    module, function = PRINTED[document["schema"]].split(":")
    return list(getattr(import_module(f"bonwise.report.{module}"), function)(document))
