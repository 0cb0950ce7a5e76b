"""Recovery and correlation within prompts by the value of a column: where the judge is better and where worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bonwise.printable import printable
from bonwise.report.metric_table import interval, number
from bonwise.report.page.figures.forest import Row, forest_figure
from bonwise.report.page.section import Figure

__all__ = ["strata_figures"]

_Document = Mapping[str, Any]

_METRICS = ("recovery", "within_r")


def strata_figures(strata: Sequence[_Document] | None, key: str) -> list[Figure]:
    """Draw two figures for each column: recovery, and correlation within prompts, of each of its values.

    Parameters
    ----------
    strata : sequence of mapping, or None
        Each with ``column`` and ``rows`` of ``value``, ``prompts`` and ``metrics``.
    key : str
        Of the drawings.

    Returns
    -------
    list of Figure
    """
    return [
        figure
        for at, column in enumerate(strata or ())
        for metric in _METRICS
        for figure in _figures(column, metric, f"{key}-{at}-{metric.replace('_', '-')}")
    ]


def _figures(column: _Document, metric: str, key: str) -> list[Figure]:
    rows: list[Row] = []
    known = []
    for row in column["rows"]:
        found = row["metrics"].get(metric) or {"estimate": None, "low": None, "high": None}
        rows.append((f"{row['value']} ({row['prompts']:,})", *(found[end] for end in ("estimate", "low", "high"))))
        if found["estimate"] is not None:
            known.append((found["estimate"], printable(row["value"], longest=40), found))
    if not known:
        return []
    name = printable(column["column"], longest=40)
    says = f"{metric} by {name}, with the number of prompts: {_ends(known)}"
    return forest_figure(rows, key, f"{metric} by {name}", says)


def _ends(known: Sequence[tuple[float, str, _Document]]) -> str:
    lowest, highest = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    if len(known) == 1:
        return f"{_said(lowest)}."
    return f"from {_said(lowest)} to {_said(highest)}."


def _said(one: tuple[float, str, _Document]) -> str:
    value, name, found = one
    return f"{number(value)} {'(no interval)' if found['low'] is None else interval(found)} for {name}"
