"""A study of shortlists as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.metric_table import interval, interval_header, number

__all__ = ["shortlist_parts", "shortlist_text"]


def shortlist_text(document: Mapping[str, Any]) -> str:
    """Render a document of schema ``bonwise.study/1``, study ``shortlist``, as plain text."""
    return plain(shortlist_parts(document))


def shortlist_parts(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings = document["settings"]
    yield Text(f"Shortlists of {settings['keep']} on {printable(settings['source'])}", style="bold")
    rows = []
    for name, judge in document["judges"].items():
        yield from (Text(f"{printable(name)}: {sentence}") for sentence in judge["sentences"])
        rows.append((printable(name), number(judge["held"]["estimate"]), interval(judge["held"])))
    yield FittedTable(("judge", "held", interval_header(settings["confidence"])), rows)
    for name, reason in document["not_studied"].items():
        yield Text(f"{printable(name)} not studied: {printable(reason, longest=200)}", style="yellow")
