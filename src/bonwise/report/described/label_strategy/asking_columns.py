"""Ways of asking a judge: how they are called, their table, and why figures are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.label_strategy.pairs import WayMetrics
from bonwise.documents.label_strategy.strategies import StrategiesJudge, StrategiesSettings
from bonwise.documents.metrics import unit_of
from bonwise.printable import printable
from bonwise.report.amounts import brief
from bonwise.report.blocks import Column, Table
from bonwise.report.numbers import NOTHING, alike, count, counted, estimate, interval
from bonwise.report.wording import named

__all__ = [
    "RECOVERY",
    "Ways",
    "asking_table",
    "missing_figures",
    "missing_intervals",
    "partly_labelled",
    "way_name",
]

Ways = Mapping[str, WayMetrics]

RECOVERY = "recovery"

_NAMES: Mapping[str, str] = {
    "pointwise": "scores",
    "quantised": "scores in {bins} bins",
    "pairwise": "every pair",
    "pairwise_one_order": "every pair, one order",
    "sparse": "some pairs",
    "sparse_one_order": "some pairs, one order",
    "tie_break": "scores, top ties compared",
    "partial": "the pairs there are",
}

_SMALL = ("gain_per_call", "gain_per_1000_tokens")
"""Figures that have the same decimals all down their column."""

_CALLS, _WHOLE = "calls_per_prompt", "tokens_per_prompt"

_SPARE: Mapping[str, int] = {
    "gain_per_1000_tokens": 1,
    "tokens_per_prompt": 2,
    "top1_accuracy": 3,
    "within_r": 4,
}
"""When the column of a metric is left out on a narrow terminal."""

_SPARE_INTERVAL = 5


def way_name(name: str, settings: StrategiesSettings) -> str:
    """Return what a way is called."""
    return _NAMES[name].format(bins=settings.bins)


def asking_table(
    title: str, ways: Ways, judge: StrategiesJudge, settings: StrategiesSettings, titles: Mapping[str, str]
) -> Table:
    """Return one row per way: its metrics, and by how much it recovers more than scores do.

    Parameters
    ----------
    title : str
    ways : mapping of str to WayMetrics
    judge : StrategiesJudge
    settings : StrategiesSettings
    titles : mapping of str to str
        Headings of metrics; a metric without a figure of any way has no column.
    """
    known = [key for key in titles if any(_figure(way, key) is not None for way in ways.values())]
    columns = (
        Column("way", "name"),
        *(Column(titles[key], spare=_SPARE.get(key, 0)) for key in known),
        Column("interval", spare=_SPARE_INTERVAL),
        Column("minus scores"),
        Column("interval"),
    )
    cells = [_column(key, ways.values()) for key in known]
    star = " *" if judge.data.method == "labelled_only" else ""
    rows = [
        (f"{way_name(name, settings)}{star}", *(column[at] for column in cells), *_against_scores(way))
        for at, (name, way) in enumerate(ways.items())
    ]
    return Table.of(columns, rows, title)


def _column(key: str, ways: Iterable[WayMetrics]) -> Sequence[str]:
    found = [_figure(way, key) for way in ways]
    if key in _SMALL:
        return alike(found)
    if key == _CALLS:
        return [NOTHING if value is None else brief(value) for value in found]
    if key == _WHOLE:
        return [NOTHING if value is None else count(round(value)) for value in found]
    return [estimate(_record(way, key), unit_of(key)) for way in ways]


def _against_scores(way: WayMetrics) -> tuple[str, str, str]:
    ends = interval(_record(way, RECOVERY), "share")
    if RECOVERY not in way.less:
        return ends, "", ""
    less = way.less[RECOVERY]
    return ends, estimate(less, "points", sign=True), interval(less, "points", sign=True)


def missing_figures(ways: Ways, settings: StrategiesSettings, titles: Mapping[str, str]) -> Iterator[str]:
    """Yield why figures are missing: those that one reason explains for the same ways share a line."""
    shared: dict[tuple[str, str], list[str]] = {}
    for key, title in titles.items():
        named_by: dict[str, list[str]] = {}
        for name, way in ways.items():
            found = _record(way, key)
            if found is not None and found.estimate is None:
                named_by.setdefault(found.reason or "", []).append(way_name(name, settings))
        for reason, names in named_by.items():
            shared.setdefault((reason, "; ".join(names)), []).append(title)
    for (reason, whose), found_titles in shared.items():
        yield printable(f"{'; '.join(found_titles)}: no figure for {whose}: {reason}", longest=400)


def missing_intervals(ways: Ways, settings: StrategiesSettings) -> Iterator[str]:
    """Yield why differences of recovery lack an interval, each reason once with the ways it holds for."""
    reasons: dict[str, list[str]] = {}
    for name, way in ways.items():
        less = way.less.get(RECOVERY)
        if less is not None and less.estimate is not None and less.low is None:
            reason = (less.reason or "").removeprefix("no interval: ")
            reasons.setdefault(reason, []).append(way_name(name, settings))
    for reason, names in reasons.items():
        told = f"recovery: no interval of the difference for {'; '.join(names)}: {reason}"
        yield printable(told, longest=400)


def partly_labelled(judge: StrategiesJudge, settings: StrategiesSettings) -> Iterator[str]:
    """Yield what a star says: that figures rest on the labelled prompts alone, and on how many."""
    data = judge.data
    if data.method == "labelled_only":
        scored = counted(data.prompts + data.unlabelled_prompts, "prompt")
        words = f"* from {count(data.prompts)} of {scored} scored completely: the others lack labels"
        yield named(words, settings.reference)


def _record(way: WayMetrics, key: str) -> EstimateRecord | None:
    return way.metrics.get(key)


def _figure(way: WayMetrics, key: str) -> float | None:
    found = _record(way, key)
    return None if found is None else found.estimate
