"""The change of every metric that easy candidates make, as the rows of a table, for text and pages alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.report.metric_table import GROUPS, interval, interval_header, named, number

__all__ = ["change_rows"]

_Document = Mapping[str, Any]


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
