"""The counts behind the figures of a study, and what was left out and why, in one way for all studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.documents.judge_counts import StudyCounts
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Said, Table
from bonwise.report.numbers import count, counted

__all__ = ["Counts", "Losses", "counts_table", "data_blocks", "left_out", "losses_table"]

Counts = Mapping[str, Mapping[str, int]]
"""By judge and by key."""

Losses = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By judge, by key and by reason."""

_LEFT_OUT = "_left_out"
"""Ends the keys of what was left out: before it stands what is counted, as in ``pairs_left_out``."""


def data_blocks(counts: Counts, losses: Losses) -> Iterator[Block]:
    """Yield a table of counts and one of what was left out, each only where it has rows."""
    if any(counts.values()):
        yield counts_table(counts)
    if any(losses.values()):
        yield losses_table(losses)


def left_out(data: StudyCounts) -> Iterator[Said]:
    """Yield what was left out of a judge's figures, and for which reasons."""
    for what, reasons in data.lost().items():
        for why, many in reasons.items():
            if many:
                yield Said("caveat", f"{_lost(what, many)}: {printable(why, longest=120)}")


def counts_table(counts: Counts) -> Table:
    """Return one row per count of the only judge, or one row per judge."""
    if len(counts) == 1:
        (some,) = counts.values()
        columns = (Column("what", "name"), Column("how many"))
        return Table.of(columns, [(_words(what), count(many)) for what, many in some.items()], "Counts")
    keys = list(dict.fromkeys(key for some in counts.values() for key in some))
    rows = [(printable(name), *(count(some.get(key)) for key in keys)) for name, some in counts.items()]
    return Table.of((Column("judge", "name"), *(Column(_words(key)) for key in keys)), rows, "Counts")


def losses_table(losses: Losses) -> Table:
    """Return one row per reason; the judge is named where there are several."""
    several = len(losses) > 1
    whose: Sequence[Column] = (Column("judge", "name"),) if several else ()
    rows = [
        (*((printable(name),) if several else ()), _words(what), why, count(many))
        for name, some in losses.items()
        for what, reasons in some.items()
        for why, many in reasons.items()
        if many
    ]
    return Table.of((*whose, Column("what", "words"), Column("why", "words"), Column("how many")), rows, "Left out")


def _lost(key: str, many: int) -> str:
    """Write how many of what are lost: the key names what it counts, and prompts where it names nothing."""
    noun = _words(key.removesuffix(_LEFT_OUT))
    return (
        f"dropped {counted(many, 'prompt')}" if noun == key else f"left out {counted(many, noun.removesuffix('s'))}"
    )


def _words(key: str) -> str:
    return key.replace("_", " ")
