"""The metrics of one judge: groups, intervals, meanings, and why some have no figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.metrics import Metric, MetricGroup, groups_of
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.numbers import count, counts, estimates, interval_title, intervals, setting
from bonwise.report.wording import all_named, named

__all__ = ["ALONE", "first_figures", "metrics"]

ALONE = "* from the completely labelled prompts alone"
"""What a star beside a metric says."""

_LABELS_ALONE, _WITH_CONTROL = "labels alone", "with control"

_FIRST = ("recovery", "top1_accuracy", "within_r", "hit_rate", "gain", "value_judge")
_FIRST_OF_SYSTEMS = ("global_r", "level_bias", "recovery", "within_r")
"""Metrics to read first by what is decided; those that are undefined leave their place to the next ones."""

_MOST_FIRST = 3

_BRIEFLY: Mapping[str, str] = {
    "top1_accuracy": "the pick is the best",
    "hit_rate": "the pick is among the best",
    "gain": "picks minus random picks",
    "level_bias": "largest bias of a mean",
}
"""Meanings that leave room for the gate on 80 columns."""

_RESTS_ON = ("cells", "pools", "pairs")
"""Columns of what a figure rests on where candidates are labelled one by one."""


def metrics(judge: JudgeFound, settings: AuditSettings, anchor: str) -> Part:
    """Return every metric with its interval, its prompts and what it says.

    Where single candidates were labelled the metrics that need whole pools have no row; of logged picks there are
    the metrics of picks alone.
    """
    groups = _groups(judge, settings)
    beside = [column.title for column in _beside(judge, groups)]
    width = interval_title(settings.confidence)
    without = f"; figures under {' and '.join(beside)} have none here" if beside else ""
    starred = [Said("note", ALONE)] if judge.balance is not None else []
    blocks: list[Block] = [
        Part("", [Said("finding", f"Every estimate with its {width}, clustered by prompt{without}.")], "detail"),
        _table(judge, settings, groups),
        *(Said("note", f"{', '.join(names)}: {why}") for why, names in _reasons(judge, settings, groups).items()),
        *starred,
        Part("", [Said("note", f"Thresholds of the verdict: {_thresholds(settings)}.")], "detail"),
    ]
    many = sum(len(group.metrics) for group in groups)
    return Part("Metrics", blocks, anchor=anchor, folded=f"{count(many)} metrics with their intervals")


def first_figures(judge: JudgeFound, settings: AuditSettings) -> Iterator[Block]:
    """Yield the figures to read first as a table, each with its interval and the gate of the verdict on it."""
    wanted = _FIRST_OF_SYSTEMS if settings.target == "system" else _FIRST
    names = [name for name in wanted if name in judge.metrics]
    known = [name for name in names if judge.metrics[name].estimate is not None]
    # The verdict says why the first one is undefined where it is.
    first = list(dict.fromkeys([*names[:1], *known]))[:_MOST_FIRST]
    groups = groups_of(first)
    found = {one.name: one for group in groups for one in group.metrics}
    beside = _beside(judge, groups)
    shown = [found[name] for name in first]
    gates = _gates(settings)
    columns = (
        Column("metric", "metric"),
        Column("estimate"),
        Column(interval_title(settings.confidence)),
        Column("gate"),
        *(beside or (Column("what it says", "meaning", spare=1),)),
    )
    rows = []
    for metric, (name, figure, ends, *others) in zip(
        shown, _cells(shown, judge, settings.reference, beside), strict=True
    ):
        meaning = named(_BRIEFLY.get(metric.name, metric.meaning), settings.reference)
        last = others[: len(beside)] or [meaning]
        rows.append((name, figure, ends, gates.get(metric.name, ""), *last))
    yield Table.of(columns, rows)
    if judge.balance is not None:
        yield Said("note", ALONE)


def _gates(settings: AuditSettings) -> Mapping[str, str]:
    """Return what the checks of a verdict compare with, by metric; the verdict itself says it of the level bias."""
    limits = settings.thresholds
    return {
        "recovery": setting(limits.recovery_useful, "share"),
        "within_r": setting(0.0),
        "global_r": setting(limits.global_r),
    }


def _groups(judge: JudgeFound, settings: AuditSettings) -> Sequence[MetricGroup]:
    groups = groups_of(judge.metrics)
    # Logged picks hold no scores, so what is made of scores would be a page of dashes.
    return groups if settings.picks is None else [group for group in groups if group.title == "Picks"]


def _table(judge: JudgeFound, settings: AuditSettings, groups: Sequence[MetricGroup]) -> Table:
    beside = _beside(judge, groups)
    columns = (
        Column("metric", "metric"),
        Column("estimate"),
        Column(interval_title(settings.confidence)),
        *beside,
        *_counts(judge),
        Column("n", spare=4),
        Column("what it says", "meaning", spare=1),
    )
    shown = [(group.title, [one for one in group.metrics if _has_row(judge, one)]) for group in groups]
    cells = _cells([one for _, some in shown for one in some], judge, settings.reference, beside)
    rows = [
        Row(next(cells), metric.headline, "" if at else title)
        for title, some in shown
        for at, metric in enumerate(some)
    ]
    return Table(columns, rows)


def _has_row(judge: JudgeFound, metric: Metric) -> bool:
    drawn = judge.sampling
    single = drawn is not None and (drawn.labels_a_prompt is not None or drawn.pairs is not None)
    return not single or judge.metrics[metric.name].estimate is not None


def _beside(judge: JudgeFound, groups: Sequence[MetricGroup]) -> Sequence[Column]:
    """Return the columns of figures that stand beside the estimates."""
    found = [judge.metrics[one.name] for group in groups for one in group.metrics]
    sampled = any(one.labelled_only is not None for one in found)
    return (
        *((Column(_LABELS_ALONE, spare=2),) if sampled else ()),
        *((Column(_WITH_CONTROL, spare=3),) if judge.with_control is not None else ()),
    )


def _counts(judge: JudgeFound) -> Sequence[Column]:
    return () if judge.labelled_cells is None else [Column(title, spare=5) for title in _RESTS_ON]


def _cells(
    shown: Sequence[Metric], judge: JudgeFound, reference: str | None, beside: Sequence[Column]
) -> Iterator[Sequence[str]]:
    """Return the cells of each row, written column by column."""
    found = [judge.metrics[one.name] for one in shown]
    units = [one.unit for one in shown]
    figures = list(zip(found, units, strict=True))
    names = all_named((one.name for one in shown), reference)
    starred = [f"{name} *" if one.method == "labelled_only" else name for name, one in zip(names, found, strict=True)]
    written = [starred, estimates(figures), intervals(figures)]
    for column in beside:
        if column.title == _LABELS_ALONE:
            alone = estimates((one.labelled_only, unit) for one, unit in figures)
            written.append(
                ["" if one.labelled_only is None else cell for one, cell in zip(found, alone, strict=True)]
            )
        else:
            controlled: Mapping[str, EstimateRecord] = judge.with_control or {}
            written.append(estimates((controlled.get(one.name), one.unit) for one in shown))
    if judge.labelled_cells is not None:
        behind = [judge.labelled_cells.counts.get(one.name) for one in shown]
        written += [
            ["" if one is None or not getattr(one, title) else count(getattr(one, title)) for one in behind]
            for title in _RESTS_ON
        ]
    written += [counts(one.n for one in found), all_named((one.meaning for one in shown), reference)]
    return zip(*written, strict=True)


def _reasons(judge: JudgeFound, settings: AuditSettings, groups: Sequence[MetricGroup]) -> Mapping[str, list[str]]:
    """Return what is to be said below the table, and the metrics it is said of, each reason once."""
    found: dict[str, list[str]] = {}
    for metric in (one for group in groups for one in group.metrics):
        for note in _notes(judge.metrics[metric.name]):
            found.setdefault(note, []).append(named(metric.name, settings.reference))
    return found


def _notes(found: EstimateRecord) -> Iterator[str]:
    if found.reason:
        yield found.reason
    if found.interval == "exact":
        yield "all prompts alike: bound"


def _thresholds(settings: AuditSettings) -> str:
    return ", ".join(f"{name} {setting(value)}" for name, value in settings.thresholds.to_dict().items())
