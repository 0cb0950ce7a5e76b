"""A document of schema ``bonwise.confidence/1`` as text: bins, levels, and what sums them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, number

__all__ = ["confidence_parts", "confidence_text"]

_Document = Mapping[str, Any]


def confidence_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(confidence_parts(document))


def confidence_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings = document["settings"]
    yield Text(f"Stated confidence of {printable(settings['source'])}", "bold")
    words = {"exclude": "; oracle ties excluded", "half": "; oracle ties count half"}
    ties = words.get(settings.get("oracle_ties"), "")
    yield Text(f"intervals at {100 * settings['confidence']:g}%, clustered by prompt{ties}")
    yield from labels_left_out(settings)
    for name, judge in document["judges"].items():
        yield from _judge(name, judge)


def _judge(name: str, judge: _Document) -> Iterator[RenderableType]:
    data = judge["data"]
    yield Text(f"{printable(name)}: {data['statements']:,} statements on {data['prompts']:,} prompts")
    if data["dropped"]:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in data["dropped"].items())
        yield Text(f"left out: {reasons}", style="yellow")
    if "bins" in judge:
        yield _bins(judge["bins"])
    if "levels" in judge:
        yield _levels(judge["levels"])
    if not judge["metrics"]:
        return
    rows = [
        (metric.replace("_", " "), number(found["estimate"]), interval(found), _note(found))
        for metric, found in judge["metrics"].items()
    ]
    if "mean_width" in data:
        rows.append(("mean width", number(data["mean_width"]), "", ""))
    yield FittedTable(("summary", "estimate", "interval", "note"), rows, spare=("note",))


def _note(found: _Document) -> str:
    """Say why there is no estimate or interval, or that an interval is of another kind than its neighbours."""
    return found.get("reason") or (
        "from the bins' intervals, which hold all at once" if found["interval"] == "bins" else ""
    )


def _bins(bins: list[_Document]) -> FittedTable:
    rows = [
        (
            f"P in [{one['low']:.1f}, {one['high']:.1f}{']' if one is bins[-1] else ')'}",
            f"{one['statements']:,}",
            number(one["stated"]),
            number(one["observed"]["estimate"]),
            interval(one["observed"]),
            number(one["error"]["estimate"]),
        )
        for one in bins
    ]
    return FittedTable(("stated", "statements", "mean", "observed", "interval", "error"), rows, spare=("statements",))


def _levels(levels: list[_Document]) -> FittedTable:
    rows = [
        (str(one["level"]), f"{one['statements']:,}", number(one["accuracy"]["estimate"]), interval(one["accuracy"]))
        for one in levels
    ]
    return FittedTable(("confidence", "statements", "accuracy", "interval"), rows)
