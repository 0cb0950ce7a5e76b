"""The change of every metric that easy candidates make, as the rows of a table, for text and pages alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.metric_table import GROUPS, interval, interval_header, named, number

__all__ = ["change_notes", "change_rows"]

_Document = Mapping[str, Any]

_ROUNDING = 1e-9


def change_rows(judge: _Document, settings: _Document) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return the headers, and a row a metric: without the control, with it, and the difference.

    Parameters
    ----------
    judge : mapping
        Of one judge in a document of schema ``bonwise.study/1``, study ``mix``.
    settings : mapping
        Of that document.

    Returns
    -------
    tuple of (sequence of str, list of tuple of str)
        A metric from the completely labelled prompts alone has a star.
    """
    ends = judge["points"][0]["metrics"], next(point["metrics"] for point in judge["points"] if point["share"] == 1)
    rows = []
    for key in (key for _, metrics in GROUPS for key, _ in metrics if key in judge["change"]):
        found = judge["change"][key]
        star = " *" if found["method"] == "labelled_only" else ""
        figures = (number(end[key]["estimate"]) for end in ends)
        name = f"{named(key, settings.get('reference'))}{star}"
        rows.append((name, *figures, number(found["estimate"]), interval(found), f"{found['n']:,}"))
    width = interval_header(settings["confidence"])
    return ("metric", "without", "with", "with - without", width, "n"), rows


def change_notes(change: _Document, reference: str | None) -> list[str]:
    """Return what is to be said below the rows, each thing once with the metrics it is said of.

    Parameters
    ----------
    change : mapping
        Estimates by metric, of one judge.
    reference : str or None
        What stands in for the oracle.

    Returns
    -------
    list of str
        Why a change has no figure, why one has an interval though all prompts are alike, and what a star means.

    Examples
    --------
    >>> same = {"estimate": 0.0, "interval": "exact", "n": 99, "method": "complete"}
    >>> change_notes({"value_oracle": same}, None)
    ['value_oracle: no prompt changed: exact bound of 99 prompts']
    """
    said: dict[str, list[str]] = {}
    for key in (key for _, metrics in GROUPS for key, _ in metrics if key in change):
        for note in _notes(change[key]):
            said.setdefault(note, []).append(named(key, reference))
    notes = [f"{', '.join(keys)}: {note}" for note, keys in said.items()]
    stars = any(found["method"] == "labelled_only" for found in change.values())
    return [*notes, *(["* from the completely labelled prompts alone"] if stars else [])]


def _notes(found: _Document) -> list[str]:
    notes = [printable(found["reason"], longest=200)] if found.get("reason") else []
    if found["interval"] == "exact":
        what = "no prompt changed" if abs(found["estimate"]) < _ROUNDING else "all prompts changed alike"
        notes.append(f"{what}: exact bound of {counted(found['n'], 'prompt')}")
    return notes
