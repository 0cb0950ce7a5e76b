"""What a page draws of one judge: picks, differences and ties, spread, strata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.exhibits import ColumnLeftOut, JudgeExhibits, Stratum
from bonwise.documents.metrics import unit_of
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.figures.differences import difference_figures
from bonwise.report.figures.picks import picks_figures
from bonwise.report.figures.spread import spread_figures
from bonwise.report.figures.strata import strata_figures
from bonwise.report.numbers import count, estimate, interval
from bonwise.report.wording import named

__all__ = ["drawn"]

_DRAWN = 4
"""Columns whose strata are drawn; drawings take time, and tables hold the same figures."""

_OF_STRATA = ("recovery", "within_r", "tie_rate", "top1_accuracy")


def drawn(judge: JudgeFound, exhibits: JudgeExhibits | None, prefix: str, reference: str | None) -> Iterator[Part]:
    """Yield the parts that hold drawings; what cannot be drawn has none.

    Parameters
    ----------
    judge : JudgeFound
    exhibits : JudgeExhibits or None
        Without them the metrics can still be drawn.
    prefix : str
        Of addresses and drawings; empty, or ending in a hyphen.
    reference : str or None
        What stands in for the oracle.
    """
    key = prefix or "a-"
    chance = None if exhibits is None else exhibits.chance
    picks = picks_figures(judge.metrics, chance, f"{key}picks", reference=reference)
    yield from _part("What the picks are worth", picks, f"{prefix}picks")
    if exhibits is None:
        return
    labelled = judge.data.labelled_prompts < judge.data.prompts
    differences = difference_figures(exhibits.differences, f"{key}differences", reference=reference)
    yield from _part("Differences and ties", differences, f"{prefix}ties")
    spread = spread_figures(
        exhibits.spread, f"{key}spread", metrics=judge.metrics, reference=reference, labelled=labelled
    )
    yield from _part("Between prompts and within them", spread, f"{prefix}spread")
    strata = list(_strata(exhibits.strata, exhibits.strata_left_out, f"{key}strata", reference, labelled))
    yield from _part("Strata", strata, f"{prefix}strata")


def _part(title: str, blocks: Sequence[Block], anchor: str) -> Iterator[Part]:
    if blocks:
        yield Part(title, blocks, "detail", anchor=anchor)


def _strata(
    strata: Sequence[Stratum],
    left_out: Sequence[ColumnLeftOut],
    key: str,
    reference: str | None,
    labelled: bool,
) -> Iterator[Block]:
    if len(strata) > _DRAWN:
        told = f"Of {count(len(strata))} columns the first {_DRAWN} are drawn; the others are tables alone."
        yield Said("finding", told)
    yield from strata_figures(strata[:_DRAWN], key, labelled=labelled)
    yield from (_table(one, reference, labelled) for one in strata)
    yield from (Said("note", f"{one.column}: not shown: {one.reason}") for one in left_out)


def _table(stratum: Stratum, reference: str | None, labelled: bool) -> Table:
    figures = [column for name in _OF_STRATA for column in (Column(named(name, reference)), Column("its interval"))]
    rows = []
    for row in stratum.rows:
        found = [(row.metrics.get(name), unit_of(name)) for name in _OF_STRATA]
        cells = [cell for one, unit in found for cell in (estimate(one, unit), interval(one, unit))]
        rows.append((row.value, count(row.prompts), *cells))
    columns = (Column(stratum.column, "name"), Column("labelled prompts" if labelled else "prompts"), *figures)
    return Table.of(columns, rows, f"Metrics by {stratum.column}")
