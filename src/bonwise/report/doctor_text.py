"""A document of schema ``bonwise.doctor/1`` as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.commands import command
from bonwise.report.console import plain

__all__ = ["doctor_parts", "doctor_text"]


_REASONS_SHOWN = 5


def doctor_text(document: Mapping[str, Any]) -> str:
    """Render as plain text."""
    return plain(doctor_parts(document))


def doctor_parts(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what to print."""
    counts = document["counts"]
    yield Text(printable(document["source"]), style="bold")
    for role, column in document["columns"].items():
        yield Text(f"  {role:<13} column {printable(column)}")
    if document["strata"]:
        yield Text(f"  {'strata':<13} {', '.join(map(printable, document['strata'][:8]))}")
    yield Text(
        f"{counts['rows']:,} rows, {counts['prompts']:,} prompts, {counts['candidates']:,} candidate names, "
        f"{counts['judges']:,} judge{'s' if counts['judges'] > 1 else ''}; taken as {document['shape']}"
    )
    dropped = sorted(document["dropped"].items(), key=lambda item: -item[1])
    if len(dropped) > _REASONS_SHOWN:
        rest = dropped[_REASONS_SHOWN:]
        dropped = [*dropped[:_REASONS_SHOWN], (f"{len(rest)} other reasons", sum(count for _, count in rest))]
    for reason, count in dropped:
        yield Text(
            f"  an audit drops {count:,} prompt{'s' if count > 1 else ''}: {printable(reason)}", style="yellow"
        )
    for judge in document["judges"]:
        yield from _judge(judge)
    yield _labels(document["labels"])
    for sentence in document["suspicious"]:
        yield Text(f"suspicious: {printable(sentence, longest=600)}", style="yellow")
    if not document["suspicious"]:
        yield Text("nothing suspicious")
    yield command(f"next: {document['next_command']}", style="bold")


def _judge(judge: Mapping[str, Any]) -> Iterator[Text]:
    if judge["prompts"]:
        yield Text(
            f"{printable(judge['judge'])}: scores {judge['lowest']:g} to {judge['highest']:g}, "
            f"{judge['distinct']:,} distinct; ties {judge['tie_rate']:.1%} of pairs within prompts, "
            f"{judge['top1_tie_rate']:.1%} of prompts at the top"
        )


def _labels(labels: Mapping[str, Any]) -> Text:
    if not labels["labelled_rows"]:
        return Text("no oracle labels")
    return Text(
        f"labels {labels['lowest']:g} to {labels['highest']:g}, {labels['distinct']:,} distinct; prompts labelled "
        f"{labels['labelled_prompts']:,}, in part {labels['partly_labelled_prompts']:,}, not at all "
        f"{labels['unlabelled_prompts']:,}"
    )
