"""Pairs drawn to be judged: how many of each stratum."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.label_strategy.draw import PairDrawDocument
from bonwise.printable import printable
from bonwise.report.amounts import brief
from bonwise.report.blocks import Block, Column, Said, Table
from bonwise.report.described.studied.described_study import DescribedStudy
from bonwise.report.described.table_facts import table_facts
from bonwise.report.numbers import count, counted

__all__ = ["pair_draw"]


def pair_draw(document: PairDrawDocument) -> DescribedStudy:
    """Describe pairs that were drawn."""
    settings = document.settings
    return DescribedStudy(
        title=f"Pairs drawn from {printable(settings.source)}, seed {settings.seed}",
        heading="Pairs drawn to be judged",
        anchor="label-strategy-draw",
        together=list(_blocks(document)),
        facts=[
            ("scores", settings.source),
            ("judge", settings.judge),
            ("pools", settings.pools),
            *table_facts(settings.shape, settings.exclude, {}, None),
            ("seed", str(settings.seed)),
            ("bonwise", settings.version),
        ],
    )


def _blocks(document: PairDrawDocument) -> Iterator[Block]:
    yield from (Said("finding", sentence) for sentence in document.sentences)
    for why, prompts in document.prompts_left_out.items():
        yield Said("caveat", f"left out {counted(prompts, 'prompt')}: {printable(why, longest=120)}")
    columns = (
        Column("gap of", "name"),
        Column("stratum", "name"),
        *(Column(title) for title in ("pairs", "drawn", "weight")),
    )
    rows = [
        (f"{one.gap_of} gap", one.stratum, count(one.pairs), count(one.drawn), brief(one.pairs / one.drawn))
        for one in document.strata
    ]
    yield Table.of(columns, rows)
