"""A document of schema ``bonwise.plan/1`` as text: the study, what it takes, and what it cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.commands import command
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable

__all__ = ["plan_parts", "plan_rows", "plan_text", "planned_with"]

_Document = Mapping[str, Any]

_HIDDEN = frozenset({"version", "design", "labels", "prompts", "label_cost", "judge_cost", "pilot"})
_STYLES = {"feasible": "bold green", "underpowered": "bold yellow", "infeasible": "bold red"}


def plan_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(plan_parts(document))


def plan_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    yield Text(f"Plan for {document['question']}: {document['verdict']}", _STYLES[document["verdict"]])
    yield Text(planned_with(document))
    for name, value in plan_rows(document):
        yield Text(f"{name:<22}{value}")
    if document["power_table"]:
        yield _powers(document)
    yield Text("")
    for sentence in document["sentences"]:
        yield Text(printable(sentence, longest=600))
    if document["commands"]:
        yield Text("")
        yield Text("Next:")
    for line in document["commands"]:
        yield command(line)


def planned_with(document: _Document) -> str:
    """Return what was given to plan with, in words."""
    given = [
        f"{name} {_value(value)}"
        for name, value in document["settings"].items()
        if name not in _HIDDEN and value not in (0.0, False) and not (name == "raters" and value == 1)
    ]
    return printable(", ".join(given), longest=600)


def plan_rows(document: _Document) -> Iterator[tuple[str, str]]:
    """Yield the figures of the plan: name, and figure as it is to be read."""
    yield "design", f"{document['design']}, {document['sides']}-sided"
    yield "planned for", ", ".join(f"{name} {_value(value)}" for name, value in document["effect"].items())
    yield "prompts", _count(document["prompts"])
    yield "labels", _count(document["labels"])
    if document["interval"] is not None:
        low, high = document["interval"]
        yield "interval on labels", f"[{_count(low)}, {'no end' if high is None else _count(high)}]"
    if document["cost"] is not None:
        yield "cost", f"{document['cost']:,.2f}"
    if document["mde"] is not None:
        yield "smallest detectable", f"{document['mde']:.4g} ({document['mde_of']})"
    if (factor := document["design_effect"]) is not None and factor != 1:
        yield "design effect", f"{factor:.3f}"
    if (found := document["sequential"]) is not None:
        low, high = found["mean"]
        mean = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        yield "fixed / sequential", f"{found['fixed']:,} / {mean} on average, {found['reserve']:,} in reserve"
    if (found := document["pilot"]) is not None:
        yield "pilot", _pilot(found)


def _pilot(found: _Document) -> str:
    count = (
        f"{found['votes']:,.0f} votes that count" if "votes" in found else f"{found['prompts']:,} labelled prompts"
    )
    ends = f"{_end(found['low'])}, {_end(found['high'])}"
    figure = f"{found['of']} {_end(found['estimate'])} [{ends}]"
    return f"{printable(found['source'], longest=60)}: {count}, {printable(figure, longest=200)}"


def _powers(document: _Document) -> FittedTable:
    shown = "power" if "power" in document["power_table"][0] else "half_width"
    rows = [
        (_count(row["labels"]), _count(row["prompts"]), "-" if row[shown] is None else f"{row[shown]:.3f}")
        for row in document["power_table"]
    ]
    return FittedTable(("labels", "prompts", shown.replace("_", "-")), rows)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{role}={column}" for role, column in value.items())
    if isinstance(value, list):
        return ",".join(str(one) for one in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _end(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
