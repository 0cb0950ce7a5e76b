"""A document of schema ``bonwise.compare/1`` as text: what two sets of picks are worth and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.console import plain
from bonwise.report.digits import estimate_and_ends
from bonwise.report.fitted import FittedTable
from bonwise.report.left_out import labels_left_out

__all__ = ["compare_parts", "compare_text"]

_Document = Mapping[str, Any]

_FIRST_ROWS = ("value_random", "value_judge", "value_oracle", "gain", "recovery", "top1_accuracy", "hit_rate")
_LAST_ROWS = (
    *("calls_per_prompt", "tokens_per_prompt", "gain_per_call", "gain_per_1000_tokens"),
    *("recovery_per_call", "recovery_per_1000_tokens"),
)
"""What the picks took; any other metric stands between the two."""

_OF_FIRST, _OF_SECOND = "[first]", "[second]"
"""Heads of intervals."""


def compare_text(document: _Document) -> str:
    """Render as plain text."""
    return plain(compare_parts(document))


def compare_parts(document: _Document) -> Iterator[RenderableType]:
    """Yield what to print."""
    first, second, settings = document["first"], document["second"], document["settings"]
    yield Text(f"Picks of {printable(first['source'])} against {printable(second['source'])}", "bold")
    yield Text(
        f"{counted(document['prompts'], 'prompt')} in both; [intervals] at {100 * settings['confidence']:g}%, "
        "paired by prompt"
    )
    for side in (first, second):
        if side["only_here"]:
            names = ", ".join(printable(name, longest=40) for name in side["only_here"][:5])
            more = ", ..." if len(side["only_here"]) > 5 else ""
            alone = f"{len(side['only_here']):,} only in {printable(side['source'])}"
            yield Text(f"{alone}: {names}{more}", style="yellow")
    for reason, count in Counter(one["reason"] for one in document["dropped"]).most_common(5):
        yield Text(f"dropped {counted(count, 'prompt')}: {printable(reason, longest=120)}", style="yellow")
    yield from labels_left_out(settings)
    yield _table(document)
    yield from _notes(document)


def _rows(document: _Document) -> list[str]:
    """Return the metrics in the order in which they are shown."""
    others = [key for key in document["differences"] if key not in (*_FIRST_ROWS, *_LAST_ROWS)]
    return [*_FIRST_ROWS, *others, *_LAST_ROWS]


def _table(document: _Document) -> FittedTable:
    rows = []
    for key in _rows(document):
        sides = [document[side]["metrics"][key] for side in ("first", "second")]
        found = document["differences"][key]
        star = " *" if found["method"] == "labelled_only" else ""
        cells = [cell for one in (*sides, found) for cell in estimate_and_ends(one)]
        rows.append([key + star, *cells])
    return FittedTable(
        ("metric", "first", _OF_FIRST, "second", _OF_SECOND, "first - second", "[first - second]"),
        rows,
        spare=(_OF_FIRST, _OF_SECOND),
    )


def _notes(document: _Document) -> Iterator[Text]:
    """Yield why a figure is missing, each reason once, and what partial labels leave out."""
    reasons: dict[str, list[str]] = {}
    for key in _rows(document):
        for found in (document[side]["metrics"][key] for side in ("first", "second")):
            if found.get("reason") and key not in reasons.setdefault(found["reason"], []):
                reasons[found["reason"]].append(key)
    for key in _rows(document):
        found = document["differences"][key]
        if found["estimate"] is not None and found.get("reason"):
            reasons.setdefault(f"no interval of the difference: {found['reason']}", []).append(key)
    for reason, keys in reasons.items():
        yield Text(f"{', '.join(keys)}: {printable(reason, longest=200)}")
    if document["differences"]["gain"]["method"] == "labelled_only":
        yield Text("* from the completely labelled prompts alone")
