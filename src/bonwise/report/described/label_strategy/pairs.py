"""The pairs that were judged both ways: best of two, and what verdicts decide where scores tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.documents.label_strategy.pairs import GapGroup, MatchedPairs
from bonwise.documents.label_strategy.strategies import StrategiesJudge, StrategiesSettings
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.described.label_strategy.asking_columns import (
    RECOVERY,
    asking_table,
    missing_figures,
    missing_intervals,
)
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.numbers import count, counted, estimate, interval, number, setting
from bonwise.report.wording import named

__all__ = ["matched_pairs"]

_COLUMNS: Mapping[str, str] = {
    "tie_rate": "ties",
    "sign_agreement": "agreement, decided",
    "effective_agreement_decided": "agreement, ties 1/2",
    RECOVERY: "recovery",
}


def matched_pairs(judge: StrategiesJudge, settings: StrategiesSettings, suffix: str) -> Part:
    """Describe the pairs that were judged both ways."""
    found = judge.matched_pairs
    title = f"{counted(found.pairs, 'pair')} judged both ways"
    blocks: list[Block] = [
        *_figure(found, settings, suffix),
        asking_table(title, found.by_name, judge, settings, _COLUMNS),
        *_by_gap(found, settings),
        *(Said("note", line) for line in dict.fromkeys(_missing(found, settings))),
    ]
    if found.weighted:
        blocks.append(Said("note", "Shares are weighted by how the pairs were drawn, counts are plain."))
    return Part("Best of two", blocks, anchor=f"label-strategy-pairs-{suffix}")


def _missing(found: MatchedPairs, settings: StrategiesSettings) -> Iterator[str]:
    yield from missing_figures(found.by_name, settings, _COLUMNS)
    yield from missing_intervals(found.by_name, settings)


def _by_gap(found: MatchedPairs, settings: StrategiesSettings) -> Iterator[Block]:
    groups = found.where_pointwise_tied.by_gap
    if not groups:
        return
    gap = named("oracle gap", settings.reference)
    columns = (Column(gap, "name"), *(Column(title) for title in ("pairs", "decided", "accuracy", "interval")))
    rows = [
        (
            _gap_words(at, row),
            count(row.pairs),
            count(row.decided_pairs),
            estimate(row.accuracy, "share"),
            interval(row.accuracy, "share"),
        )
        for at, row in enumerate(groups)
    ]
    yield Table.of(columns, rows, f"Where scores tie, by {gap}")
    yield Said("note", f"Verdicts {_decided_words(found)}; accuracy is over those.")


def _gap_words(at: int, row: GapGroup) -> str:
    """Write the ends of a group of gaps, the first of which holds its lower end."""
    if at == 0 and row.low == row.high:
        return setting(row.low)
    return f"{'above ' if at else ''}{setting(row.low)} to {setting(row.high)}"


def _decided_words(found: MatchedPairs) -> str:
    """Say how many pairs that scores tie the verdicts decide: a plain count, and a share that may be weighted."""
    where = found.where_pointwise_tied
    share, weighted = where.decided.estimate, " weighted" if found.weighted else ""
    part = "" if share is None else f" ({number(share, 'share')}{weighted})"
    return f"decide {count(where.decided_pairs)} of {count(where.pairs)}{part}"


def _figure(found: MatchedPairs, settings: StrategiesSettings, suffix: str) -> list[Drawing[Forest]]:
    groups = found.where_pointwise_tied.by_gap
    if not groups:
        return []
    return forest_figure(
        [
            (_gap_words(at, row), row.accuracy.estimate, row.accuracy.low, row.accuracy.high)
            for at, row in enumerate(groups)
        ],
        f"label-strategy-gaps-{suffix}",
        named("Accuracy where scores tie, by oracle gap", settings.reference),
        f"Of the pairs that scores tie, verdicts {_decided_words(found)}; the line is a coin's accuracy.",
        0.5,
        across="share of decided pairs that are right",
        unit="share",
    )
