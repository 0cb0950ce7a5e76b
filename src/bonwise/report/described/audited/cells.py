"""Single labelled candidates: how many of each group are labelled, and what that says of the statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.audited.cells import LabelledCells, LabelledShareRecord, PoolsByLabelsRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.numbers import count, counted, number

__all__ = ["who_was_labelled"]

_SHOWN = 12
"""Groups of candidates that a terminal shows."""

_GROUPS = {"name": "By name", "top": "By place", "score": "By score"}

_BY_SCORE = "--design cells-by-score fits the chances of being labelled to scores and names instead."


def who_was_labelled(found: LabelledCells, anchor: str) -> Part:
    """Return how many are labelled of each group of candidates, which a statement on them is judged by.

    Parameters
    ----------
    found : LabelledCells
    anchor : str
    """
    blocks: list[Block] = [Said("finding", _used(found))]
    if found.contradictions:
        against = "; ".join(found.contradictions)
        offered = f" {_BY_SCORE}" if found.statement == "at random" else ""
        blocks.append(Said("caveat", f"The labels contradict what is stated: {against}.{offered}"))
    blocks += [Said("caveat", f"note: {note}") for note in found.notes]
    blocks.append(_shares(found.shares))
    blocks += _pools(found.pools)
    return Part("Who was labelled", blocks, anchor=anchor)


def _used(found: LabelledCells) -> str:
    before = "none of them in a prompt that is labelled whole"
    if found.whole_prompts:
        whole = counted(found.whole_prompts, "prompt")
        before = f"{count(found.labels_of_whole_prompts)} of them in {whole} labelled whole"
    return f"Figures rest on {counted(found.labels, 'label')} of {count(found.cells)} candidates, {before}."


def _shares(shares: Sequence[LabelledShareRecord]) -> Table:
    columns = (
        Column("candidates", "name"),
        Column("labelled"),
        Column("minus the others", spare=2),
        Column("t", spare=1),
    )
    rows, before = [], ""
    for one in shares:
        group = _GROUPS[one.by] if one.by != before else ""
        cells = (
            printable(one.group, longest=60),
            number(one.share, "share"),
            number(one.difference, "points", sign=True),
            number(one.t, sign=True),
        )
        rows.append(Row(cells, group=group))
        before = one.by
    return Table(columns, rows, "Share of candidates that are labelled", at_a_glance=_SHOWN)


def _pools(pools: Sequence[PoolsByLabelsRecord]) -> Iterator[Block]:
    columns = (Column("candidates"), Column("labels"), Column("prompts"), Column("at one rate"))
    rows = [(count(one.candidates), count(one.labels), count(one.pools), number(one.expected)) for one in pools]
    told = Said("note", "Labels may come in bunches: the figures hold then too.")
    yield Part("", [Table.of(columns, rows, "Prompts by their number of labels"), told], "detail")
