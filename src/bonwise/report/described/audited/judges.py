"""Several judges side by side: a summary, paired differences, and who was not audited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.compared import JudgesCompared
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.metrics import unit_of
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Drawing, Part, Row, Said, Table
from bonwise.report.described.audited.data import dropped_of
from bonwise.report.described.choice import best_of, differences_from_best, has_intervals, held_together
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.figures.forest import Row as ForestRow
from bonwise.report.figures.judges import judges_figures
from bonwise.report.figures.names import pair as two_judges
from bonwise.report.numbers import count, counted, estimate, interval, unit_of_difference
from bonwise.report.wording import named

__all__ = ["MOST_DRAWN", "by_recovery", "dropped_prompts", "not_audited", "side_by_side", "summary"]

MOST_DRAWN = 6
"""Judges that have drawings of their own: a drawing takes a third of a second."""

_FIRST = "recovery"

_SUMMARY = {_FIRST: 0, "within_r": 0, "global_r": 5, "inflation": 2, "tie_rate": 3}
"""Metrics of a summary, and when they are left out on a narrow terminal."""

_DIFFERENCES = ("recovery", "within_r")

_FEW = 3
"""Judges of whom every pair is drawn."""

_PAIRS, _AT_A_GLANCE = 100, 15
"""Pairs of judges in a table, and rows that a terminal shows."""


def side_by_side(document: AuditDocument) -> Iterator[Part]:
    """Yield what compares the judges."""
    judges = document.judges
    reference = document.settings.reference
    blocks: list[Block] = [
        *_on_a_page(judges_figures(by_recovery(judges), document.settings.thresholds.recovery_useful, reference)),
        Part("", [summary(document)], folded=f"A table of the {count(len(judges))} judges"),
        *best_of(document.choice, "judges", reference),
    ]
    if len(judges) > MOST_DRAWN:
        told = (
            f"Of {count(len(judges))} judges each has tables below and no drawings: up to {MOST_DRAWN} judges are "
            "drawn in full."
        )
        blocks.append(Part("", [Said("note", told)], "detail"))
    yield Part("Judges side by side", blocks, anchor="judges")
    yield from not_audited(document)
    yield from differences_from_best(document.choice)
    if document.comparisons:
        yield _paired(document.comparisons, few=len(judges) <= _FEW)


def _on_a_page(blocks: Iterable[Block]) -> Iterator[Part]:
    yield Part("", list(blocks), "detail")


def not_audited(document: AuditDocument) -> Iterator[Part]:
    """Yield the judges that were not audited, and why; nothing where there are none."""
    if document.not_audited:
        columns = (Column("judge", "name"), Column("why", "words"))
        yield Part("Not audited", [Table.of(columns, document.not_audited.items())], anchor="not-audited")


def by_recovery(judges: Mapping[str, JudgeFound]) -> Mapping[str, JudgeFound]:
    """Return judges with the largest recovery first, and last those where it is undefined."""
    return dict(sorted(judges.items(), key=lambda one: _recovery(one[1])))


def _recovery(judge: JudgeFound) -> tuple[bool, float]:
    found = judge.metrics.get(_FIRST)
    undefined = found is None or found.estimate is None
    return undefined, 0.0 if found is None or found.estimate is None else -found.estimate


def dropped_prompts(judges: Mapping[str, JudgeFound]) -> Iterator[Part]:
    """Yield in one table what was dropped of each judge, where its own part is for pages alone."""
    columns = (Column("judge", "name"), Column("prompts"), Column("why", "words"))
    rows = [
        Row((printable(name), count(len(judge.data.dropped)), dropped_of(judge.data.dropped)))
        for name, judge in judges.items()
        if judge.data.dropped
    ]
    if rows:
        yield Part("Dropped prompts", [Table(columns, rows, at_a_glance=_AT_A_GLANCE)], anchor="dropped")


def summary(document: AuditDocument) -> Table:
    """Return one row per judge, the largest recovery first."""
    first, *others = _SUMMARY
    judges, reference, choice = document.judges, document.settings.reference, document.choice
    together = [Column("simultaneous", spare=1)] if has_intervals(choice, first) else []
    columns = (
        Column("judge", "name"),
        Column("verdict", "name"),
        Column(named(first, reference)),
        Column("its interval", spare=6),
        *together,
        *(Column(named(name, reference), spare=_SUMMARY[name]) for name in others),
        Column("prompts", spare=4),
    )
    rows = [
        (
            printable(name),
            judge.verdict.level,
            estimate(judge.metrics.get(first), unit_of(first)),
            interval(judge.metrics.get(first), unit_of(first)),
            *(held_together(choice, first, name) for _ in together),
            *(estimate(judge.metrics.get(metric), unit_of(metric)) for metric in others),
            count(judge.data.labelled_prompts),
        )
        for name, judge in by_recovery(judges).items()
    ]
    held = "; simultaneous intervals hold together" if together else ""
    return Table.of(columns, rows, f"Each judge on its complete prompts{held}")


def _paired(pairs: Sequence[JudgesCompared], *, few: bool) -> Part:
    """Return the differences of all pairs; of more than a few judges those from the best one are drawn alone."""
    columns = (
        Column("first", "name"),
        Column("second", "name"),
        Column("prompts", spare=3),
        Column("recovery"),
        Column("its interval"),
        Column("within_r", spare=2),
        Column("its interval", spare=1),
    )
    rows = [Row(_pair(one)) for one in pairs[:_PAIRS]]
    more = len(pairs) - _PAIRS
    told = f"{counted(more, 'more pair')} {'is' if more == 1 else 'are'} in the JSON document (--json FILE)."
    return Part(
        "Paired differences",
        [
            Said(
                "finding", "First judge minus second, on the prompts that both scored completely, paired by prompt."
            ),
            *(_forest(pairs) if few else ()),
            Table(columns, rows, "First minus second", at_a_glance=_AT_A_GLANCE),
            *([Said("note", told)] if more > 0 else []),
        ],
        anchor="differences",
        folded="" if few else f"All {counted(len(pairs), 'pair')} of judges",
    )


def _pair(pair: JudgesCompared) -> Sequence[str]:
    found = [(pair.differences.get(name), unit_of_difference(unit_of(name))) for name in _DIFFERENCES]
    figures = [
        cell for one, unit in found for cell in (estimate(one, unit, sign=True), interval(one, unit, sign=True))
    ]
    return printable(pair.first), printable(pair.second), count(pair.prompts), *figures


def _forest(pairs: Sequence[JudgesCompared]) -> Iterator[Drawing[Forest]]:
    for name in _DIFFERENCES:
        yield from forest_figure(
            [_row(one, one.differences[name]) for one in pairs if name in one.differences],
            f"paired-{name.replace('_', '-')}",
            f"Difference of {name}",
            f"{name} of the first judge minus that of the second; right of 0 the first does better.",
            across=f"difference of {name}",
            unit=unit_of_difference(unit_of(name)),
            sign=True,
        )


def _row(pair: JudgesCompared, found: EstimateRecord) -> ForestRow:
    return two_judges(pair.first, pair.second), found.estimate, found.low, found.high
