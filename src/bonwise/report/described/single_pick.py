"""A single pick: how the candidates stand, what decided, and what it took."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.pick import PickRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.described.pools import FIGURES, MEANINGS, by_rank, figures, story
from bonwise.report.numbers import NOTHING, counted, money

__all__ = ["headline", "single_pick"]

_LONGEST = 60
"""Characters of a candidate's name or reason."""


def headline(pick: PickRecord) -> str:
    """Return who was picked, and what decided."""
    best = "no pick" if pick.best is None else printable(pick.best, longest=_LONGEST)
    return f"{best}, decided by {pick.decided_by}: {pick.stopped}"


def single_pick(pick: PickRecord) -> Iterator[Block]:
    """Yield what stands below the headline."""
    yield from story(pick)
    yield _candidates(pick)
    tokens = counted(pick.input_tokens + pick.output_tokens + pick.reused_tokens, "token")
    cost = f", {money(pick.cost)}" if pick.cost else ""
    took = f"{counted(pick.calls, 'call')}, {counted(pick.from_ledger, 'answer')} from a ledger, {tokens}{cost}"
    yield Said("note", took)
    why = f"Decided by {pick.decided_by}: {MEANINGS[pick.decided_by]}."
    yield Part("Why", [Said("finding", why)], "detail")


def _candidates(pick: PickRecord) -> Table:
    """Return the candidates, the best first, in the columns that say something."""
    known = [dict(figures(pick, at)) for at in range(len(pick.ids))]
    names = [name for name in FIGURES if any(name in one for one in known)]
    if set(pick.draws) == {1}:
        names.remove("draws")  # each was scored once
    cells = {name: [one.get(name, NOTHING) for one in known] for name in names}
    columns = [Column("candidate", "name"), *map(Column, cells)]
    if pick.unscored:
        columns.append(Column("why not", "words"))
        cells["why not"] = [printable(pick.unscored.get(name, ""), longest=_LONGEST) for name in pick.ids]
    rows = [
        Row([printable(pick.ids[at], longest=_LONGEST), *(cell[at] for cell in cells.values())], at == pick.index)
        for at in by_rank(pick)
    ]
    return Table(columns, rows)
