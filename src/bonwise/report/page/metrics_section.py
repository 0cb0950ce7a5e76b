"""The metrics of one judge as a section of a page: groups, intervals, meanings, and why some have no figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from bonwise.report.metric_table import GROUPS, interval, interval_header, named, number
from bonwise.report.page.layout import GroupedTable, Headline
from bonwise.report.page.section import Section

__all__ = ["headlines", "metrics_section"]

_Document = Mapping[str, Any]

_HEADLINES = ("recovery", "within_r", "global_r")
_INSTEAD = ("top1_accuracy", "gain", "hit_rate")

_MEANINGS = {name: meaning for _, rows in GROUPS for name, meaning in rows}


def metrics_section(judge: _Document, settings: _Document, anchor: str) -> Section:
    """Return every metric with its interval, its prompts and what it says.

    Where single candidates were labelled the metrics that need whole pools have no row; of logged picks there are
    the metrics of picks alone.

    Parameters
    ----------
    judge : mapping
        The judge's part of a document of schema ``bonwise.audit/1``.
    settings : mapping
        The document's settings.
    anchor : str
    """
    groups = _groups(judge, settings)
    reference = settings.get("reference")
    metrics = [row for _, rows in groups for row in rows]
    sampled = any("labelled_only" in judge["metrics"][name] for name, _ in metrics)
    control = judge.get("with_control", {})
    width = interval_header(settings["confidence"])
    beside = _beside(sampled=sampled, control=bool(control))
    headers = ("metric", "estimate", width, *beside, "prompts")
    starts = accumulate((len(rows) for _, rows in groups), initial=0)
    table = GroupedTable(
        headers,
        [_cells(name, judge["metrics"][name], control, reference, sampled=sampled) for name, _ in metrics],
        strong=[at for at, (name, _) in enumerate(metrics) if name in _HEADLINES],
        groups={at: title for at, (title, _) in zip(starts, groups, strict=False)},
        meanings=[named(meaning, reference) for _, meaning in metrics],
    )
    return Section(
        "Metrics",
        anchor,
        sentences=[f"Every estimate with its {width}, clustered by prompt{_without(beside)}."],
        tables=[table],
        notes=[*_notes(judge, metrics, reference), *_thresholds(settings)],
    )


def headlines(judge: _Document, settings: _Document) -> list[Headline]:
    """Return the three figures to read first, of those that there are."""
    found, reference = judge["metrics"], settings.get("reference")
    known = [name for name in (*_HEADLINES, *_INSTEAD) if found[name]["estimate"] is not None]
    return [
        Headline(
            named(name, reference),
            named(_MEANINGS[name], reference),
            number(found[name]["estimate"]),
            interval(found[name]) if found[name]["low"] is not None else "no interval",
            _aside(name, judge),
        )
        for name in known[:3]
    ]


def _aside(name: str, judge: _Document) -> str:
    told = []
    if "with_control" in judge:
        told.append(f"{number(judge['with_control'][name]['estimate'])} with the control")
    if "labelled_only" in judge["metrics"][name]:
        told.append(f"{number(judge['metrics'][name]['labelled_only']['estimate'])} of the labelled prompts alone")
    return "; ".join(told)


def _groups(judge: _Document, settings: _Document) -> list[tuple[str, list[tuple[str, str]]]]:
    # Logged picks hold no scores, so what is made of scores would be a page of dashes.
    groups = GROUPS[:1] if "picks" in settings else GROUPS
    whole_pools = "labels_a_prompt" not in judge.get("sampling", {})
    shown = [
        (title, [row for row in rows if whole_pools or judge["metrics"][row[0]]["estimate"] is not None])
        for title, rows in groups
    ]
    return [(title, rows) for title, rows in shown if rows]


def _beside(*, sampled: bool, control: bool) -> Sequence[str]:
    return (*(("labels alone",) if sampled else ()), *(("with control",) if control else ()))


def _without(beside: Sequence[str]) -> str:
    return f"; figures under {' and '.join(beside)} have none here" if beside else ""


def _cells(name: str, found: _Document, control: _Document, reference: str | None, *, sampled: bool) -> Sequence[str]:
    star = " *" if found["method"] == "labelled_only" else ""
    alone = found.get("labelled_only")
    cells = [named(name, reference) + star, number(found["estimate"]), interval(found)]
    cells += ["" if alone is None else number(alone["estimate"])] if sampled else []
    cells += [number(control[name]["estimate"])] if control else []
    return [*cells, f"{found['n']:,}"]


def _notes(judge: _Document, metrics: Sequence[tuple[str, str]], reference: str | None) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for name, _ in metrics:
        found = judge["metrics"][name]
        told = [found["reason"]] if found.get("reason") else []
        told += ["all prompts alike: bound"] if found["interval"] == "exact" else []
        for reason in told:
            reasons.setdefault(reason, []).append(named(name, reference))
    yield from (f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    if "balance" in judge:
        yield "* from the completely labelled prompts alone"


def _thresholds(settings: _Document) -> Iterator[str]:
    gates = ", ".join(f"{name} {value:g}" for name, value in settings["thresholds"].items())
    yield f"Thresholds of the verdict: {gates}."
