"""A draw of prompts to label: its strata, its weights, and the width to expect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.labels import DrawnStratum, DrawSettings, LabelsDocument, WidthRatio
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.dropped_prompts import cannot_be_drawn
from bonwise.report.described.table_facts import table_facts
from bonwise.report.numbers import count, counted, number, percent

__all__ = ["describe"]


def describe(document: LabelsDocument) -> Part:
    """Describe what was drawn."""
    settings = document.settings
    return Part(
        f"Labels for the audit of {printable(settings.judge)} on {printable(settings.source)}, phase "
        f"{settings.phase}, seed {settings.seed}",
        list(_blocks(document)),
    )


def _blocks(document: LabelsDocument) -> Iterator[Block]:
    yield Table.facts(_facts(document.settings))
    yield from cannot_be_drawn(document.data.dropped)
    yield _strata(document.strata)
    for sentence in document.sentences:
        yield Said("finding", printable(sentence, longest=1000))
    clusters = document.data.clusters
    drawn = count(document.data.drawn) if clusters is None else counted(clusters.drawn, "cluster")
    yield Said(
        "note",
        f"Effective sample size of the weights: {count(round(document.ess))} of {drawn}. It "
        "counts how unevenly labels weigh, not what they are worth.",
    )
    yield Said("note", _width(document.width_ratio))


def _facts(settings: DrawSettings) -> Iterator[tuple[str, str]]:
    yield "scores", settings.source
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _strata(strata: Sequence[DrawnStratum]) -> Table:
    sized = any(one.mean_size is not None for one in strata)
    second = any(one.drawn_before for one in strata)
    parted = any(one.pairs is not None for one in strata)
    columns = (
        Column("stratum", "name"),
        Column("clusters" if any(one.unit for one in strata) else "prompts"),
        *((Column("before"),) if second else ()),
        Column("drawn"),
        *((Column("whole"), Column("pairs")) if parted else ()),
        Column("propensity"),
        *((Column("mean size", spare=1),) if sized else ()),
    )
    return Table.of(columns, [tuple(_row(one, second=second, sized=sized)) for one in strata])


def _row(one: DrawnStratum, *, second: bool, sized: bool) -> Iterator[str]:
    yield str(one.stratum)
    yield count(one.prompts)
    if second:
        yield count(one.drawn_before)
    yield count(one.drawn_now)
    if one.whole_pools is not None and one.pairs is not None:
        yield count(one.whole_pools)
        yield count(one.pairs)
    yield number(one.propensity, "share")
    if sized:
        yield number(one.mean_size)


def _width(found: WidthRatio) -> str:
    if found.estimate is None:
        return f"Expected width: not known in advance ({found.reason})."
    share = f", scores explaining {percent(round(found.explained, 2))} of it" if found.explained else ""
    return (
        f"Expected width, to first order: {number(found.estimate)} of the width of as many random labels, if "
        f"{found.assumption}{share}."
    )
