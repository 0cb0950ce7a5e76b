"""A study of mixed difficulty as text: what was found, the curve, and the change of every metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out
from bonwise.report.metric_table import interval, named, number
from bonwise.report.mix_change import change_notes, change_rows

__all__ = ["mix_parts", "mix_text"]

_Document = Mapping[str, Any]

_SHOWN: Mapping[str, str] = {
    "global_r": "global_r",
    "recovery": "recovery",
    "sign_agreement": "sign",
    "effective_agreement": "effective",
    "within_r": "within_r",
    "top1_accuracy": "top-1",
}
_WITH_ENDS = ("global_r", "recovery")

_LEGEND = (
    "of pools: share of the pools that hold a control in which it is shown, every second point of the curve (--json "
    "has each). all + 10%: a tenth of the way from there to easy pairs alone. sign, effective: agreement."
)


def mix_text(document: _Document) -> str:
    """Render a document of schema ``bonwise.study/1``, study ``mix``, as plain text."""
    return plain(mix_parts(document))


def mix_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    settings = document["settings"]
    controls = ", ".join(printable(name, longest=40) for name in settings["control"])
    yield Text(f"Mixed difficulty of {printable(settings['source'])}, control: {controls}", style="bold")
    yield from labels_left_out(settings)
    for name, judge in document["judges"].items():
        yield from _judge(name, judge, settings)
    for name, reason in document["not_studied"].items():
        yield Text(f"{printable(name)} not studied: {printable(reason, longest=200)}", style="yellow")


def _judge(name: str, judge: _Document, settings: _Document) -> Iterator[RenderableType]:
    reference = settings.get("reference")
    data = judge["data"]
    holding = f"{data['prompts_with_control']:,} with a control"
    yield Text(f"{printable(name)}: {counted(data['mixed_prompts'], 'prompt')}, {holding}")
    for sentence in judge["sentences"]:
        yield Padding(Text(named(printable(sentence, longest=1000), reference)), (0, 0, 0, 2))
    yield Text("")
    yield _curve(judge)
    yield Text(_LEGEND)
    yield Text("")
    yield _change(judge, settings)
    yield from (Text(note) for note in change_notes(judge["change"], reference))


def _curve(judge: _Document) -> FittedTable:
    rows = []
    for point in _shown(judge["points"]):
        row = [_where(point), f"{100 * point['easy_pairs']:.0f}%"]
        for metric in _SHOWN:
            found = point["metrics"].get(metric)
            row.append("" if found is None else number(found["estimate"]))
            if metric in _WITH_ENDS:
                row.append("" if found is None else interval(found))
        rows.append(row)
    headers = ["of pools", "easy pairs"]
    for metric, title in _SHOWN.items():
        headers += [title, f"[{title}]"] if metric in _WITH_ENDS else [title]
    return FittedTable(headers, rows, spare=(*reversed(headers[6:]), "[recovery]", "[global_r]"))


def _shown(points: Sequence[_Document]) -> list[_Document]:
    """Return every second point up to that of every pool, counted back from it, and all after it."""
    first = [point for point in points if not point["towards"]]
    kept = first[:1] + [point for at, point in enumerate(first) if at and (len(first) - 1 - at) % 2 == 0]
    return [*kept, *points[len(first) :]]


def _where(point: _Document) -> str:
    """Name a point of the curve."""
    if not point["towards"]:
        return f"{100 * point['share']:.0f}%"
    if point["towards"] < 1:
        return f"all + {100 * point['towards']:.0f}%"
    return "easy alone"


def _change(judge: _Document, settings: _Document) -> FittedTable:
    headers, rows = change_rows(judge, settings)
    return FittedTable(headers, rows, spare=("n", "without", "with"))
