"""A study of requirements as text: what each judge found, and the tables of targets and of given correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, named, number

__all__ = ["requirements_parts", "requirements_text", "share"]

_Document = Mapping[str, Any]


def requirements_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(requirements_parts(document))


def requirements_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings = document["settings"]
    yield Text(f"What a wanted recovery takes on the labels of {printable(settings['source'])}", "bold")
    yield Text(f"[intervals] at {100 * settings['confidence']:g}%, clustered by prompt")
    yield from labels_left_out(settings)
    for name, judge in document["judges"].items():
        yield from _judge(name, judge, settings)
    for name, reason in document["not_studied"].items():
        yield Text(f"not studied: {printable(name, longest=60)}: {printable(reason, longest=200)}", style="yellow")


def share(value: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> share(0.25), share(0.9955)
    ('25%', '99.55%')
    """
    return f"{100 * value:.6g}%"


def _judge(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    data = judge["data"]
    yield Text("")
    yield Text(f"{printable(name, longest=60)}: {_counts(data)}", "bold")
    for reason, count in data["dropped"].items():
        yield Text(f"dropped {counted(count, 'prompt')}: {printable(reason, longest=120)}", style="yellow")
    for sentence in judge["sentences"]:
        yield Text(named(sentence, settings.get("reference")))
    if judge["curve"]:
        yield _targets(judge)
        if judge["inverse"]:
            yield _inverse(judge)


def _counts(data: _Document) -> str:
    return f"{counted(data['prompts'], 'prompt')}, {counted(data['rows'], 'candidate')}"


def _targets(judge: _Document) -> FittedTable:
    rows = [
        (
            share(one["target"]),
            *(
                cell
                for key in ("within_r", "effective_agreement")
                for cell in (number(one[key]["estimate"]), interval(one[key]))
            ),
        )
        for one in judge["targets"]
    ]
    return FittedTable(
        ("recovery", "needs within_r", "[within_r]", "needs agreement", "[agreement]"),
        rows,
        spare=("[agreement]", "[within_r]"),
    )


def _inverse(judge: _Document) -> FittedTable:
    rows = [
        (f"{one['within_r']:g}", number(one["recovery"]["estimate"]), interval(one["recovery"]))
        for one in judge["inverse"]
    ]
    return FittedTable(("within_r", "recovers", "interval"), rows)
