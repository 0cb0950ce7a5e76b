"""Recovery and correlation within prompts by the value of a column: where the judge is better and where worse."""

from __future__ import annotations

from collections.abc import Sequence

from bonwise.documents.exhibits import Stratum
from bonwise.printable import printable
from bonwise.report.blocks import Drawing
from bonwise.report.figures.forest import Forest, Row, forest_figure
from bonwise.report.numbers import Unit, count, with_interval

__all__ = ["strata_figures"]

_ALIKE = 4
"""Values with the same figure that a caption names."""

_METRICS: tuple[tuple[str, Unit], ...] = (("recovery", "share"), ("within_r", "number"))


def strata_figures(strata: Sequence[Stratum] | None, key: str, *, labelled: bool = False) -> list[Drawing[Forest]]:
    """Draw two figures for each column: recovery, and correlation within prompts, of each of its values.

    Parameters
    ----------
    strata : sequence of Stratum, or None
    key : str
        Of the drawings.
    labelled : bool
        Whether prompts without labels are left out, and captions say so.

    Returns
    -------
    list of Drawing
    """
    return [
        figure
        for at, column in enumerate(strata or ())
        for metric, unit in _METRICS
        for figure in _figures(column, metric, unit, f"{key}-{at}-{metric.replace('_', '-')}", labelled)
    ]


def _figures(column: Stratum, metric: str, unit: Unit, key: str, labelled: bool) -> list[Drawing[Forest]]:
    rows: list[Row] = []
    known: list[tuple[float, str]] = []
    for row in column.rows:
        label = f"{row.value} ({count(row.prompts)})"
        if metric not in row.metrics:
            rows.append((label, None, None, None))
            continue
        found = row.metrics[metric]
        rows.append((label, found.estimate, found.low, found.high))
        if found.estimate is not None:
            said = f"{with_interval(found, unit)} for {printable(row.value, longest=40)}"
            known.append((found.estimate, said))
    if not known:
        return []
    title = f"{metric} by {printable(column.column, longest=40)}"
    prompts = "labelled prompts" if labelled else "prompts"
    says = f"{title}, with the number of {prompts}: {_reach(known)}"
    return forest_figure(rows, key, title, says, across=metric, unit=unit)


def _reach(known: Sequence[tuple[float, str]]) -> str:
    """Name the lowest and the highest; where all are alike, what each is, for none of them is the highest."""
    lowest, highest = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    if lowest[0] < highest[0]:
        return f"from {lowest[1]} to {highest[1]}."
    more = f" and {count(len(known) - _ALIKE)} more" if len(known) > _ALIKE else ""
    return f"{', '.join(said for _, said in known[:_ALIKE])}{more}."
