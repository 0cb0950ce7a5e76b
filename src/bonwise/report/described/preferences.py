"""Pairwise verdicts compared with an oracle's: one row per judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bonwise.documents.preferences import JudgePreferences, PreferencesDocument
from bonwise.printable import printable
from bonwise.report.blocks import Column, Part, Said, Table
from bonwise.report.numbers import count, counted, estimate, interval, percent

__all__ = ["describe"]

_LONGEST = 32
"""Characters of a judge's name in a table."""

_BETWEEN = (
    "cov between: the share of Cov(J, O) that lies between contexts, which says nothing about the choice within one."
)


def describe(document: PreferencesDocument) -> Part:
    """Describe how far each judge agrees with the oracle."""
    settings = document.settings
    several = len(settings.verdicts) > 1
    orders = "both presentation orders averaged" if several else "one presentation order"
    confidence = percent(settings.confidence)
    return Part(
        f"Pairwise verdicts of {printable(settings.source)}, against {printable(settings.oracle)}",
        [
            Table.facts(
                [
                    ("scores", settings.source),
                    ("judges", count(len(document.judges))),
                    ("intervals", f"{confidence}, clustered by prompt"),
                    ("bonwise", settings.version),
                ]
            ),
            Said("note", f"{counted(document.data.contexts, 'context')}; {orders}; intervals at {confidence}"),
            _table(document, several=several),
            *_left_out(document.judges.values()),
            *([Said("note", "orders: how often both presentation orders agree.")] if several else []),
            Said("note", _BETWEEN),
        ],
    )


def _table(document: PreferencesDocument, *, several: bool) -> Table:
    columns = (
        Column("judge", "name"),
        Column("prompts"),
        Column("pairs", spare=4),
        Column("agreement"),
        Column("interval"),
        *([Column("orders")] if several else []),
        Column("ties", spare=5),
        Column("phi", spare=3),
        Column("phi within", spare=2),
        Column("cov between", spare=1),
    )
    return Table.of(columns, [_row(name, judge) for name, judge in document.judges.items()])


def _row(name: str, judge: JudgePreferences) -> list[str]:
    data, metrics = judge.data, judge.metrics
    return [
        printable(name, longest=_LONGEST),
        count(data.prompts),
        count(data.pairs),
        estimate(metrics.agreement, "share"),
        interval(metrics.agreement, "share"),
        *([] if metrics.order_agreement is None else [estimate(metrics.order_agreement, "share")]),
        estimate(metrics.judge_tie_rate, "share"),
        estimate(metrics.phi),
        estimate(metrics.phi_within),
        estimate(metrics.covariance_between_share, "share"),
    ]


def _left_out(judges: Iterable[JudgePreferences]) -> Iterator[Said]:
    dropped = sum(sum(judge.data.dropped.values()) for judge in judges)
    if dropped:
        yield Said("caveat", f"{counted(dropped, 'row')} left out: no verdict in every order, or no label")
