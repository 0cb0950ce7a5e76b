"""Label designs compared: the variance of each, and what tells of what."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bonwise.documents.label_designs import (
    ComparedDesign,
    ComparedShare,
    ComparisonSettings,
    DesignName,
    LabelDesignsDocument,
    ProxyLinkRecord,
)
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.dropped_prompts import cannot_be_drawn
from bonwise.report.described.table_facts import table_facts
from bonwise.report.numbers import Ends, count, counted, estimate, interval, interval_title, number, percent

__all__ = ["describe"]

_UNIFORM: DesignName = "uniform"


def describe(document: LabelDesignsDocument) -> Part:
    """Describe what each design would have cost or saved."""
    settings = document.settings
    return Part(
        f"Label designs for the audit of {printable(settings.judge)} on {printable(settings.source)}",
        list(_blocks(document)),
    )


def _blocks(document: LabelDesignsDocument) -> Iterator[Block]:
    settings, data = document.settings, document.data
    yield Table.facts(_facts(settings))
    lacking = f"; {count(data.unlabelled)} without labels left out" if data.unlabelled else ""
    yield Said(
        "note",
        f"{counted(data.prompts, 'labelled prompt')}, {count(data.all_tied)} of them all tied by the judge{lacking}; "
        f"recovery {number(data.recovery, 'share')}",
    )
    yield from cannot_be_drawn(data.dropped)
    yield Said("note", "Variance of recovery over that of as many labels alone drawn at random")
    yield Said("note", "Labels alone, to first order:")
    yield _shares(document, lambda one: number(one.labels_only))
    models = sorted({one.model for one in document.designs[_UNIFORM].shares if one.with_scores is not None})
    if models:
        yield Said("note", f"With the scores as covariates, as an audit uses them ({', '.join(models)}):")
        yield _shares(document, lambda one: number(one.with_scores))
    yield Said(
        "note",
        f"Labels alone, by {count(settings.draws)} draws of each design (standard error of these draws in brackets):",
    )
    yield _shares(document, _with_se, drawn=True)
    yield _meanings(document)
    yield _chain(document)
    for sentence in document.sentences:
        yield Said("finding", printable(sentence, longest=1000))


def _facts(settings: ComparisonSettings) -> Iterator[tuple[str, str]]:
    yield "scores", settings.source
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _name(name: str, design: ComparedDesign) -> str:
    return name if design.feasible else f"{name} *"


def _shares(document: LabelDesignsDocument, figure: Callable[[ComparedShare], str], *, drawn: bool = False) -> Table:
    """Return a column per share and a row per design; of draws none for random ones, the measure of the others."""
    columns = (Column("design", "name"), *(Column(percent(share)) for share in document.settings.shares))
    rows = [
        (_name(name, design), *(figure(one) for one in design.shares))
        for name, design in document.designs.items()
        if not (drawn and name == _UNIFORM)
    ]
    return Table.of(columns, rows)


def _with_se(one: ComparedShare) -> str:
    if one.drawn is None or one.drawn_se is None:
        return number(one.drawn)
    known = Ends(one.drawn, one.drawn - one.drawn_se, one.drawn + one.drawn_se)
    return f"{estimate(known)} ({number(one.drawn_se, like=known)})"


def _meanings(document: LabelDesignsDocument) -> Table:
    rows = [
        (_name(name, one), one.meaning + ("" if one.feasible else "; needs labels that are not there yet"))
        for name, one in document.designs.items()
    ]
    return Table.of((Column("design", "name"), Column("labels go to", "words")), rows)


def _chain(document: LabelDesignsDocument) -> Table:
    columns = (
        Column("proxy", "name"),
        Column("r"),
        Column(interval_title(document.settings.confidence)),
        Column("explained"),
        Column("its interval", spare=2),
        Column("n", spare=1),
    )
    return Table.of(columns, [_link(link) for link in document.proxy_chain], "What predicts what, per prompt")


def _link(link: ProxyLinkRecord) -> tuple[str, ...]:
    r, explained = link.correlation, Ends(link.explained, link.explained_low, link.explained_high)
    return (
        f"{link.from_} -> {link.to}",
        estimate(r),
        interval(r),
        estimate(explained, "share"),
        interval(explained, "share"),
        count(r.n),
    )
