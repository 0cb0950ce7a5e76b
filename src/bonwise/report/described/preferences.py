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
    "cov between: the share of Cov(J, O) that lies between contexts, which says nothing about the choice within one. "
    "oracle between: the same share of the oracle's variance. Neither counts the chance scatter of contexts with few "
    "pairs, so a share may be negative."
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
            *_single(document.judges.values()),
        ],
    )


def _table(document: PreferencesDocument, *, several: bool) -> Table:
    columns = (
        Column("judge", "name"),
        Column("prompts"),
        Column("pairs", spare=7),
        Column("agreement"),
        Column("interval"),
        *([Column("orders")] if several else []),
        Column("ties", spare=8),
        Column("phi", spare=6),
        Column("phi within", spare=5),
        Column("cov between", spare=4),
        Column("its interval", spare=2),
        Column("oracle between", spare=3),
        Column("its interval", spare=1),
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
        interval(metrics.covariance_between_share, "share"),
        estimate(metrics.oracle_between_share, "share"),
        interval(metrics.oracle_between_share, "share"),
    ]


def _left_out(judges: Iterable[JudgePreferences]) -> Iterator[Said]:
    dropped = sum(sum(judge.data.dropped.values()) for judge in judges)
    if dropped:
        yield Said("caveat", f"{counted(dropped, 'row')} left out: no verdict in every order, or no label")


def _single(judges: Iterable[JudgePreferences]) -> Iterator[Said]:
    counts = [judge.data.contexts_of_one_pair or 0 for judge in judges]
    if max(counts):
        least, most = count(min(counts)), count(max(counts))
        some = most if least == most else f"{least} to {most}"
        yield Said(
            "note",
            f"Contexts with a single pair, per judge: {some}. They count in the totals; the part within is taken "
            "from the other contexts.",
        )
