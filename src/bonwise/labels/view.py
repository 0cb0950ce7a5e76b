"""A draw of prompts to label, designs compared, and a sheet made from pools, put into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bonwise.labels import result
from bonwise.printable import file_name, printable
from bonwise.report.blocks import Block, Column, Part, Said, Table, finding
from bonwise.report.numbers import Ends, count, counted, estimate, interval, interval_title, number, percent
from bonwise.report.table_facts import table_facts, values_read_as
from bonwise.table.facts import DroppedPrompt

_MOST = 3
"""Reasons that are named."""


def cannot_be_drawn(dropped: Sequence[DroppedPrompt]) -> Iterator[Said]:
    """Yield how many prompts no draw can take, and some of the reasons; nothing where there are none."""
    if not dropped:
        return
    reasons = sorted({printable(prompt.reason) for prompt in dropped})
    more = ", ..." if len(reasons) > _MOST else ""
    yield Said("caveat", f"cannot be drawn: {counted(len(dropped), 'prompt')} ({', '.join(reasons[:_MOST])}{more})")


_UNIFORM: result.DesignName = "uniform"


def describe_label_designs(document: result.DesignComparison) -> Part:
    """Describe what each design would have cost or saved."""
    settings = document.settings
    return Part(
        f"Label designs for the audit of {printable(settings.judge)} on {file_name(settings.source)}",
        list(_comparison_blocks(document)),
    )


def _comparison_blocks(document: result.DesignComparison) -> Iterator[Block]:
    settings, data = document.settings, document.data
    yield Table.facts(_comparison_facts(settings))
    yield from values_read_as(settings)
    lacking = f"; {count(data.unlabelled)} without labels left out" if data.unlabelled else ""
    yield Said(
        "note",
        f"{counted(data.prompts, 'labelled prompt')}, {count(data.all_tied)} of them all tied by the judge{lacking}; "
        f"recovery {number(data.recovery, 'share')}",
    )
    yield from cannot_be_drawn(data.dropped)
    yield Said("note", "Variance of recovery over that of as many labels alone drawn at random")
    yield Said("note", "Labels alone, to first order:")
    yield _shares(document, lambda compared: number(compared.labels_only))
    models = sorted({share.model for share in document.designs[_UNIFORM].shares if share.with_scores is not None})
    if models:
        yield Said("note", f"With the scores as covariates, as an audit uses them ({', '.join(models)}):")
        yield _shares(document, lambda compared: number(compared.with_scores))
    yield Said(
        "note",
        f"Labels alone, by {count(settings.draws)} draws of each design (standard error of these draws in brackets):",
    )
    yield _shares(document, _with_se, drawn=True)
    if not all(design.feasible for design in document.designs.values()):
        yield Said("caveat", "* needs labels that are not there yet")
    yield _meanings(document)
    yield _chain(document)
    for sentence in document.sentences:
        yield finding(printable(sentence, longest=1000))


def _comparison_facts(settings: result.ComparisonSettings) -> Iterator[tuple[str, str]]:
    yield "scores", settings.source
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "intervals", f"{percent(settings.confidence)}, clustered by prompt"
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _name(name: str, design: result.ComparedDesign) -> str:
    return name if design.feasible else f"{name} *"


def _shares(
    document: result.DesignComparison, figure: Callable[[result.ComparedShare], str], *, drawn: bool = False
) -> Table:
    """Return a column per share and a row per design; of draws none for random ones, the measure of the others."""
    columns = (Column("design", "name"), *(Column(percent(share)) for share in document.settings.shares))
    rows = [
        (_name(name, design), *(figure(compared) for compared in design.shares))
        for name, design in document.designs.items()
        if not (drawn and name == _UNIFORM)
    ]
    return Table.of(columns, rows)


def _with_se(compared: result.ComparedShare) -> str:
    if compared.drawn is None or compared.drawn_se is None:
        return number(compared.drawn)
    known = Ends(compared.drawn, compared.drawn - compared.drawn_se, compared.drawn + compared.drawn_se)
    return f"{estimate(known)} ({number(compared.drawn_se, like=known)})"


def _meanings(document: result.DesignComparison) -> Table:
    rows = [(_name(name, design), design.meaning) for name, design in document.designs.items()]
    return Table.of((Column("design", "name"), Column("labels go to", "words")), rows)


def _chain(document: result.DesignComparison) -> Table:
    columns = (
        Column("proxy", "name"),
        Column("r"),
        Column(interval_title(document.settings.confidence)),
        Column("explained"),
        Column("its interval", spare=2),
        Column("n", spare=1),
    )
    return Table.of(columns, [_link(link) for link in document.proxy_chain], "What predicts what, per prompt")


def _link(link: result.ProxyLink) -> tuple[str, ...]:
    r, explained = link.correlation, Ends(link.explained, link.explained_low, link.explained_high)
    return (
        f"{link.from_} -> {link.to}",
        estimate(r),
        interval(r),
        estimate(explained, "share"),
        interval(explained, "share"),
        count(r.n),
    )


def describe_label_sheet(document: result.PoolSheet) -> Part:
    """Describe what is to be labelled."""
    settings, data = document.settings, document.data
    chosen = "all of them" if data.prompts_to_label == data.prompts else "drawn uniformly at random"
    blocks: list[Block] = [
        Said(
            "finding",
            f"{count(data.prompts_to_label)} of {counted(data.prompts, 'prompt')} are to be labelled, {chosen}: "
            f"{counted(data.responses_to_label, 'response')}.",
        ),
        Said("note", "The sheet shows no names; candidates stand in random order."),
    ]
    if data.single:
        blocks.append(Said("caveat", f"{counted(data.single, 'prompt')} with fewer than 2 candidates left out."))
    return Part(f"Label sheet for {file_name(settings.pools)}, seed {settings.seed}", blocks)


def describe(document: result.LabelDraw) -> Part:
    """Describe what was drawn."""
    settings = document.settings
    return Part(
        f"Labels for the audit of {printable(settings.judge)} on {file_name(settings.source)}, phase "
        f"{settings.phase}, seed {settings.seed}",
        list(_draw_blocks(document)),
    )


def _draw_blocks(document: result.LabelDraw) -> Iterator[Block]:
    yield Table.facts(_draw_facts(document.settings))
    yield from values_read_as(document.settings)
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


def _draw_facts(settings: result.DrawSettings) -> Iterator[tuple[str, str]]:
    yield "scores", settings.source
    yield from table_facts(
        settings.shape, settings.exclude, settings.columns, settings.label_scale, settings.judge_scale
    )
    yield "seed", str(settings.seed)
    yield "bonwise", settings.version


def _strata(strata: Sequence[result.DrawnStratum]) -> Table:
    sized = any(stratum.mean_size is not None for stratum in strata)
    second = any(stratum.drawn_before for stratum in strata)
    parted = any(stratum.pairs is not None for stratum in strata)
    columns = (
        Column("stratum", "name"),
        Column("clusters" if any(stratum.unit for stratum in strata) else "prompts"),
        *((Column("before"),) if second else ()),
        Column("drawn"),
        *((Column("whole"), Column("pairs")) if parted else ()),
        Column("propensity"),
        *((Column("mean size", spare=1),) if sized else ()),
    )
    return Table.of(columns, [tuple(_row(stratum, second=second, sized=sized)) for stratum in strata])


def _row(stratum: result.DrawnStratum, *, second: bool, sized: bool) -> Iterator[str]:
    yield str(stratum.stratum)
    yield count(stratum.prompts)
    if second:
        yield count(stratum.drawn_before)
    yield count(stratum.drawn_now)
    if stratum.whole_pools is not None and stratum.pairs is not None:
        yield count(stratum.whole_pools)
        yield count(stratum.pairs)
    yield number(stratum.propensity, "share")
    if sized:
        yield number(stratum.mean_size)


def _width(width: result.WidthRatio) -> str:
    if width.estimate is None:
        return f"Expected width: not known in advance ({width.reason})."
    share = f", scores explaining {percent(round(width.explained, 2))} of it" if width.explained else ""
    return (
        f"Expected width, to first order: {number(width.estimate)} of the width of as many random labels, if "
        f"{width.assumption}{share}."
    )
