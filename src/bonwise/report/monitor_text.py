"""A document of schema ``bonwise.monitor/1`` as text: the verdict, the estimate and the looks behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out

__all__ = ["monitor_parts", "monitor_text"]

_Document = Mapping[str, Any]


def monitor_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(monitor_parts(document))


def monitor_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    votes = document["question"] == "preference"
    yield Text(_title(document), "bold")
    yield from _counts(document["data"], votes)
    yield _verdict(document)
    if document["looks"]:
        rows = [[f"{look['n']:,}", *_cells(look)] for look in document["looks"]]
        stopped = document["stopped"]
        marked = ["stop" if stopped and look["n"] == stopped["n"] else "" for look in document["looks"]]
        yield FittedTable(
            ("votes" if votes else "labelled", "share" if votes else "recovery", "interval", "half-width", " "),
            [[*row, mark] for row, mark in zip(rows, marked, strict=True)],
            spare=(" ", "half-width"),
        )
    now = document["now"]
    if now["estimate"] is not None and not document["looks"]:
        yield Text(f"{'share' if votes else 'recovery'} {now['estimate']:.3f} after {now['n']:,}")
    if now.get("reason"):
        yield Text(now["reason"])
    for sentence in document["sentences"]:
        yield Text(printable(sentence))


def _verdict(document: _Document) -> Text:
    verdict, narrow = document["verdict"], document["describes"] == "labelled prompts"
    if verdict == "continue":
        return Text(verdict, "bold yellow")
    if narrow:
        return Text(f"{verdict}, for the {document['data']['labelled_prompts']:,} labelled prompts", "bold yellow")
    return Text(verdict, "bold green")


def _title(document: _Document) -> str:
    settings = document["settings"]
    if document["question"] == "precision":
        what = f"Recovery of {printable(settings['judge'])}, to +-{settings['half_width']:g}"
    elif document["question"] == "significance":
        what = f"Recovery of {printable(settings['judge'])}, above {settings['than']:g} or not"
    else:
        first, second = (printable(side, longest=40) for side in settings["sides"])
        what = f"Votes for {first} over {second}, above {settings['than']:g} or not"
    return f"{what}, at {100 * settings['confidence']:g}%"


def _counts(data: _Document, votes: bool) -> Iterator[Text]:
    if votes:
        yield Text(
            f"{data['votes']:,} votes of {printable(data['source'])}; {data['ties']:,} ties; {data['blank']:,} blank"
        )
        return
    partly = data["partly_labelled_prompts"]
    half = f", {partly:,} partly and not counted yet" if partly else ""
    yield Text(f"{data['labelled_prompts']:,} of {data['prompts']:,} prompts completely labelled{half}")
    for reason, count in Counter(one["reason"] for one in data["dropped"]).most_common(5):
        yield Text(f"dropped {counted(count, 'prompt')}: {printable(reason, longest=120)}", style="yellow")
    yield from labels_left_out(data)


def _cells(look: _Document) -> list[str]:
    estimate = "-" if look["estimate"] is None else f"{look['estimate']:.3f}"
    if look["low"] is None:
        return [estimate, "-", "-"]
    return [estimate, f"[{look['low']:.3f}, {look['high']:.3f}]", f"{look['half_width']:.3f}"]
