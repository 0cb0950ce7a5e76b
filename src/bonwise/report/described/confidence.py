"""Stated confidence: bins, levels, and what sums them up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.confidence import BinRecord, ConfidenceDocument, JudgeConfidence, Level
from bonwise.documents.estimate import EstimateRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.labels_left_out import labels_left_out
from bonwise.report.numbers import Unit, count, counted, estimate, interval, listed_counts, number, percent, setting

__all__ = ["describe"]

_UNITS: dict[str, Unit] = {"accuracy": "share", "coverage": "share"}
"""What is not a probability, as it was stated, or a score of such."""

_TIES = {"exclude": "; oracle ties excluded", "half": "; oracle ties count half"}


def describe(document: ConfidenceDocument) -> Part:
    """Describe what judges stated: one part per judge."""
    settings = document.settings
    ties = "" if settings.oracle_ties is None else _TIES[settings.oracle_ties]
    return Part(
        f"Stated confidence of {printable(settings.source)}",
        [
            Table.facts(
                [
                    ("scores", settings.source),
                    ("judges", count(len(document.judges))),
                    ("intervals", f"{percent(settings.confidence)}, clustered by prompt"),
                    ("bonwise", settings.version),
                ]
            ),
            Said("note", f"intervals at {percent(settings.confidence)}, clustered by prompt{ties}"),
            *labels_left_out(settings.labels_left_out),
            *(Part(_title(name, judge), list(_judge(judge))) for name, judge in document.judges.items()),
        ],
    )


def _title(name: str, judge: JudgeConfidence) -> str:
    data = judge.data
    return f"{printable(name)}: {counted(data.statements, 'statement')} on {counted(data.prompts, 'prompt')}"


def _judge(judge: JudgeConfidence) -> Iterator[Block]:
    if judge.data.dropped:
        yield Said("caveat", f"left out: {listed_counts(judge.data.dropped.items())}")
    if judge.bins is not None:
        yield _bins(judge.bins)
    if judge.levels is not None:
        yield _levels(judge.levels)
    if judge.metrics:
        yield _summary(judge)


def _summary(judge: JudgeConfidence) -> Table:
    rows = [
        (metric.replace("_", " "), estimate(found, unit), interval(found, unit), _note(found))
        for metric, found in judge.metrics.items()
        for unit in [_UNITS.get(metric, "number")]
    ]
    if judge.data.mean_width is not None:
        rows.append(("mean width", number(judge.data.mean_width), "", ""))
    columns = (Column("summary", "name"), Column("estimate"), Column("interval"), Column("note", "words", spare=1))
    return Table.of(columns, rows)


def _note(found: EstimateRecord) -> str:
    """Say why there is no estimate or interval, or that an interval is of another kind than its neighbours."""
    if found.reason is not None:
        return found.reason
    return "from the bins' intervals, which hold all at once" if found.interval == "bins" else ""


def _bins(bins: Sequence[BinRecord]) -> Table:
    columns = (
        Column("stated", "name"),
        Column("statements", spare=1),
        *(Column(title) for title in ("mean", "observed", "interval", "error")),
    )
    rows = [
        (
            f"P in [{setting(one.low)}, {setting(one.high)}{']' if one is bins[-1] else ')'}",
            count(one.statements),
            number(one.stated),
            estimate(one.observed),
            interval(one.observed),
            estimate(one.error),
        )
        for one in bins
    ]
    return Table.of(columns, rows)


def _levels(levels: Sequence[Level]) -> Table:
    columns = (Column("confidence", "name"), Column("statements"), Column("accuracy"), Column("interval"))
    rows = [
        (str(one.level), count(one.statements), estimate(one.accuracy, "share"), interval(one.accuracy, "share"))
        for one in levels
    ]
    return Table.of(columns, rows)
