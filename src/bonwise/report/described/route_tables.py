"""The tables of a study of routing."""

from __future__ import annotations

from collections.abc import Sequence

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.routed.judge import JudgeRoute
from bonwise.documents.routed.signal import RoutedShareRecord
from bonwise.report.blocks import Column, Table
from bonwise.report.numbers import NOTHING, Ends, count, estimate, interval, number, percent

__all__ = ["curve_table", "factor_tables", "grid_table", "signal_table"]

_MARGINS = ("0 (tie)", "to 0.05", "to 0.10", "above")
_LEVELS = ("below 0.7", "to 0.8", "to 0.9", "from 0.9")

_TELLING = ("10%", "25%", "50%")
"""Shares that stay on a narrow terminal, beside the one asked for."""


def signal_table(judge: JudgeRoute, share: float) -> Table:
    """Return what each signal is worth at the share asked for."""
    columns = (
        Column("signal", "name"),
        Column("value", spare=3),
        Column("lift"),
        Column("captured"),
        Column("interval"),
        Column("corr(signal, gain)"),
        Column("its interval", spare=2),
        Column("n", spare=1),
    )
    rows: list[Sequence[str]] = []
    like: Ends | None = None
    for name, signal in judge.studied.items():
        at = signal.at(share)
        value = Ends(at.value, at.value_low, at.value_high)
        like = like or value
        rows.append(
            (
                name,
                estimate(value),
                number(at.lift, like=value, sign=True),
                estimate(Ends(at.captured, at.low, at.high), "share"),
                interval(Ends(at.captured, at.low, at.high), "share") if at.low is not None else "",
                estimate(signal.corr_gain),
                interval(signal.corr_gain),
                count(at.n),
            )
        )
    best = judge.perfect_at(share)
    last = (
        "perfect order",
        number(best.value, like=like),
        number(best.lift, like=like, sign=True),
        percent(1.0),
        "",
        "",
        "",
        count(best.n),
    )
    title = f"Sending {percent(share)} of the prompts on, over sending as many at random"
    return Table.of(columns, [*rows, last], title)


def curve_table(judge: JudgeRoute, share: float) -> Table:
    """Return what each signal captures at every share."""
    shares = [one.share for one in judge.perfect if one.share < 1]
    kept = (percent(share), *_TELLING)
    titles = [percent(one) for one in shares]
    spare = [title for title in titles if title not in kept]
    columns = [Column(title, spare=spare.index(title) + 1 if title in spare else 0) for title in titles]
    rows = [(name, *(_captured(signal.at(one)) for one in shares)) for name, signal in judge.studied.items()]
    title = "Part of the possible lift captured, by share sent on"
    return Table.of((Column("signal", "name"), *columns), rows, title)


def factor_tables(judge: JudgeRoute) -> list[Table]:
    """Return how each signal goes with the two factors of the mean gain: over prompts, and over equal groups."""
    over_prompts = (
        Column("signal", "name"),
        Column("with wrong"),
        Column("interval", spare=4),
        Column("with gap"),
        Column("interval", spare=3),
        Column("with gain", spare=2),
        Column("interval", spare=1),
    )
    over_groups = (Column("signal", "name"), Column("with wrong"), Column("with gap"), Column("with gain"))
    prompts, groups = [], []
    for name, signal in judge.studied.items():
        parts = signal.decomposition
        if parts is not None:
            pairs = (_pair(one) for one in (parts.corr_wrong, parts.corr_gap, parts.corr_gain))
            prompts.append((name, *(cell for pair in pairs for cell in pair)))
            across = parts.across_bins
            groups.append((name, *(number(one) for one in (across.wrong, across.gap, across.gain))))
    return [
        Table.of(over_prompts, prompts, "Mean gain = P(wrong) x mean gap if wrong: correlations with each"),
        Table.of(over_groups, groups, "The same correlations over 5 equal groups of prompts"),
    ]


def grid_table(grid: Sequence[Sequence[EstimateRecord]]) -> Table:
    """Return the mean gain by margin and mean score."""
    rows = [(margin, *map(_cell, row)) for margin, row in zip(_MARGINS, grid, strict=True)]
    columns = (Column("margin", "name"), *map(Column, _LEVELS))
    return Table.of(columns, rows, "Mean gain (and prompts) by margin and mean score")


def _captured(at: RoutedShareRecord) -> str:
    return estimate(Ends(at.captured, at.low, at.high), "share")


def _pair(found: EstimateRecord) -> tuple[str, str]:
    return estimate(found), interval(found)


def _cell(found: EstimateRecord) -> str:
    return NOTHING if found.estimate is None else f"{estimate(found)} ({count(found.n)})"
