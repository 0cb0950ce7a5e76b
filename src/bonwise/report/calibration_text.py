"""A study of calibration as text: what each way of calibrating changes, with intervals."""

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

__all__ = [
    "CHANGES",
    "calibration_parts",
    "calibration_text",
    "interval_note",
    "labelled_note",
    "percent",
    "percent_interval",
    "signed",
]

_Document = Mapping[str, Any]

CHANGES = (
    *("recovery", "top1_accuracy", "hit_rate", "within_r", "global_r"),
    *("sign_agreement", "effective_agreement", "tie_rate", "top1_tie_rate"),
)
"""The metrics whose changes are printed; the document holds all."""


def calibration_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(calibration_parts(document))


def calibration_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings = document["settings"]
    yield Text(f"Calibration of judges of {printable(settings['source'])}", "bold")
    yield Text(
        f"{settings['folds']} folds of whole prompts, seed {settings['seed']}; [intervals] at "
        f"{100 * settings['confidence']:g}%, paired by prompt"
    )
    yield from labels_left_out(settings)
    for name, judge in document["judges"].items():
        yield from _judge_parts(name, judge, settings)
    for name, why in document["not_studied"].items():
        yield Text(f"{printable(name, longest=60)} is not studied: {printable(why, longest=200)}", style="yellow")


def _judge_parts(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    data = judge["data"]
    yield Text("")
    yield Text(f"{printable(name, longest=60)}: {data['prompts']:,} labelled prompts, {data['rows']:,} rows", "bold")
    for reason, count in data["dropped"].items():
        yield Text(f"dropped {counted(count, 'prompt')}: {printable(reason, longest=120)}", style="yellow")
    if data["method"] == "labelled_only":
        yield Text(f"* {labelled_note(data)}", style="yellow")
    if judge["covariates"]:
        yield Text(f"covariates: {', '.join(printable(one, longest=40) for one in judge['covariates'])}")
    for sentence in judge["sentences"]:
        yield Text(named(printable(sentence), settings.get("reference")))
    yield _changes(judge)
    yield Text(interval_note(judge))
    yield _picks(judge)


def labelled_note(data: _Document) -> str:
    """Say how many prompts lack labels."""
    count = data["unlabelled_prompts"]
    return f"from the labelled prompts alone; {count:,} {'lacks' if count == 1 else 'lack'} labels"


def interval_note(judge: _Document) -> str:
    """Say which intervals learn the maps again, and which take them as fixed."""
    methods = judge["methods"].items()
    fixed = [f"all of {name.replace('_', ' ')}" for name, found in methods if found["intervals"] != "refitted"]
    return (
        f"Intervals learn the maps again without each of {judge['groups']} groups of prompts; those of "
        f"{' and '.join(['the level', *fixed])} take the maps as fixed."
    )


def _changes(judge: _Document) -> FittedTable:
    rows = []
    for method, found in judge["methods"].items():
        for metric in CHANGES:
            raw, after, change = (
                part[metric] for part in (judge["raw"]["metrics"], found["metrics"], found["changes"])
            )
            star = " *" if change["method"] == "labelled_only" else ""
            relative = found["relative"].get(metric)
            rows.append(
                [
                    method,
                    metric + star,
                    number(raw["estimate"]),
                    number(after["estimate"]),
                    signed(change["estimate"]),
                    interval(change),
                    "" if relative is None else percent(relative["estimate"]),
                    "" if relative is None else percent_interval(relative),
                ]
            )
    headers = ("method", "metric", "raw", "calibrated", "change", "[change]", "in %", "[in %]")
    return FittedTable(headers, rows, spare=("[in %]", "in %", "raw", "calibrated"), left=2)


def _picks(judge: _Document) -> FittedTable:
    rows = []
    for method, found in judge["methods"].items():
        whole, untied = found["picks"]["all"], found["picks"]["without_ties"]
        counts = (
            whole["picks_changed"],
            untied["picks_changed"],
            whole["picks_newly_tied"],
            whole["ties_broken"],
            whole["prompts"],
            untied["prompts"],
        )
        rows.append([method, *(f"{count:,}" for count in counts)])
    last = ("prompts", "of them without ties")
    headers = ("method", "picks changed", "without ties", "newly tied", "ties broken", *last)
    return FittedTable(headers, rows, spare=last[::-1])


def signed(value: float | None) -> str:
    """Write a change to three decimals with its sign, a dash where there is none."""
    return "-" if value is None else f"{round(value, 3) + 0.0:+.3f}"


def percent(value: float | None) -> str:
    """Write a fraction as a percentage with its sign."""
    return "-" if value is None else f"{round(100 * value, 1) + 0.0:+.1f}%"


def percent_interval(found: _Document) -> str:
    """Write the interval of a fraction as percentages."""
    if found["low"] is None:
        return "-"
    low, high = (round(100 * found[end], 1) + 0.0 for end in ("low", "high"))
    return f"[{low:.1f}, {high:.1f}]"
