"""What is drawn of one judge: picks, differences and ties, spread, strata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.exhibits import JudgeExhibits
from bonwise.report.figures.differences import difference_figures
from bonwise.report.figures.picks import picks_figures
from bonwise.report.figures.spread import spread_figures
from bonwise.report.figures.strata import strata_figures
from bonwise.report.metric_table import interval, named, number
from bonwise.report.page.section import Section, Table, figures_of

__all__ = ["judge_figures"]

_Document = Mapping[str, Any]

_DRAWN = 4
"""Columns whose strata are drawn; drawings take time, and tables hold the same figures."""

_OF_STRATA = ("recovery", "within_r", "tie_rate", "top1_accuracy")


def judge_figures(metrics: _Document, exhibits: _Document, prefix: str, reference: str | None) -> Iterator[Section]:
    """Yield the sections that hold drawings; what cannot be drawn has none.

    Parameters
    ----------
    metrics : mapping
        The judge's, of a document of schema ``bonwise.audit/1``.
    exhibits : mapping
        The judge's, of a document of schema ``bonwise.exhibits/1``.
    prefix : str
        Of addresses and drawings; empty, or ending in a hyphen.
    reference : str or None
        What stands in for the oracle.
    """
    key = prefix or "a-"
    shown = JudgeExhibits.model_validate(exhibits)
    known = {name: EstimateRecord.model_validate(one) for name, one in metrics.items()}
    figures = figures_of(picks_figures(known, shown.chance, f"{key}picks", reference=reference))
    if figures:
        yield Section("What the picks are worth", f"{prefix}picks", figures=figures)
    figures = figures_of(difference_figures(shown.differences, f"{key}differences", reference=reference))
    if figures:
        yield Section("Differences and ties", f"{prefix}ties", figures=figures)
    figures = figures_of(spread_figures(shown.spread, f"{key}spread", metrics=known, reference=reference))
    if figures:
        yield Section("Between prompts and within them", f"{prefix}spread", figures=figures)
    yield from _strata(exhibits, shown, prefix, key, reference)


def _strata(exhibits: _Document, shown: JudgeExhibits, prefix: str, key: str, reference: str | None) -> Iterator[Section]:
    strata, left_out = exhibits["strata"], exhibits["strata_left_out"]
    if strata or left_out:
        yield Section(
            "Strata",
            f"{prefix}strata",
            sentences=list(_drawn(strata)),
            figures=figures_of(strata_figures(shown.strata[:_DRAWN], f"{key}strata")),
            tables=[_table(one, reference) for one in strata],
            notes=[f"{one['column']}: not shown: {one['reason']}" for one in left_out],
        )


def _drawn(strata: Sequence[_Document]) -> Iterator[str]:
    if len(strata) > _DRAWN:
        yield f"Of {len(strata)} columns the first {_DRAWN} are drawn; the others are tables alone."


def _table(stratum: _Document, reference: str | None) -> Table:
    rows = []
    for row in stratum["rows"]:
        found = [row["metrics"][name] for name in _OF_STRATA]
        cells = [cell for one in found for cell in (number(one["estimate"]), interval(one))]
        rows.append((str(row["value"]), f"{row['prompts']:,}", *cells))
    headers = (name for metric in _OF_STRATA for name in (named(metric, reference), "its interval"))
    return Table((stratum["column"], "prompts", *headers), rows, title=f"Metrics by {stratum['column']}")
