"""Picks of production: what moved, each signal with its baseline, and its course."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.watch import WatchData, WatchDocument, WatchedSignal
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.limits import limits
from bonwise.report.figures.course import course_figure
from bonwise.report.numbers import NOTHING, count, counted, interval_title, listed_counts, percent
from bonwise.report.watched_words import TITLES, level_ends, level_figure

__all__ = ["describe"]

_NAME = 40
"""Letters of a period or a file."""

_STATES = {"moved": "bad", "nothing moved": "good", "too early": "open"}


def describe(document: WatchDocument) -> Part:
    """Describe what moved in the picks of production."""
    data = document.data
    title = f"Watch of {counted(data.picks, 'pick')} in {counted(len(data.periods), 'period')}"
    return Part(title, list(_blocks(document)))


def _blocks(document: WatchDocument) -> Iterator[Block]:
    yield Table.facts(_facts(document))
    yield _verdict(document)
    courses = [
        drawing
        for name, signal in document.signals.items()
        for drawing in course_figure(name, TITLES.get(name, name), signal)
    ]
    if courses:
        yield Part("Over time", courses, "detail", anchor="courses")
    yield Part("Signals", [_table(document), *_notes(document)], anchor="signals")
    yield limits("watch")


def _facts(document: WatchDocument) -> Iterator[tuple[str, str]]:
    data, settings = document.data, document.settings
    yield (
        "picks",
        f"{counted(len(data.files), 'file')}, {count(data.picks)} watched, {count(data.baseline_picks)} before",
    )
    if settings.by.isdecimal():
        yield "a period", counted(int(settings.by), "pick")
    else:
        yield (
            "a period",
            settings.by if settings.time is None else f"{settings.by} of {printable(settings.time)}, UTC",
        )
    if data.baseline_periods:
        yield "baseline", _span(data.baseline_periods)
    if settings.audit is not None:
        yield "audit", settings.audit
    if settings.labels is not None:
        yield "labels", settings.labels
    yield "intervals", f"{percent(settings.confidence)}, by periods"
    yield "bonwise", settings.version


def _span(periods: list[str]) -> str:
    ends = " to ".join(dict.fromkeys(printable(one, longest=_NAME) for one in (periods[0], periods[-1])))
    return f"{counted(len(periods), 'period')}, {ends}"


def _verdict(document: WatchDocument) -> Part:
    moved = sum(signal.alarm is not None for signal in document.signals.values())
    leading = max(moved, 1)
    said = [Said("lead" if at < leading else "finding", text) for at, text in enumerate(document.sentences)]
    return Part(document.verdict, said, "verdict", _STATES[document.verdict])  # type: ignore[arg-type]


def _table(document: WatchDocument) -> Table:
    confidence = interval_title(document.settings.confidence)
    columns = (
        Column("signal", "name"),
        Column("baseline"),
        Column(confidence, spare=2),
        Column("now"),
        Column(f"{confidence} ", spare=1),
        Column("picks", spare=4),
        Column("evidence", spare=3),
        Column("outcome", "words"),
    )
    rows = [_row(TITLES.get(name, name), signal) for name, signal in document.signals.items()]
    return Table.of(columns, rows, "Levels of the baseline and now; after an alarm, now is since the shift")


def _row(title: str, signal: WatchedSignal) -> tuple[str, ...]:
    now = signal.now if signal.alarm is None else signal.alarm.level
    return (
        title,
        level_figure(signal.baseline, signal.unit),
        level_ends(signal.baseline, signal.unit),
        level_figure(now, signal.unit),
        level_ends(now, signal.unit),
        NOTHING if now is None else count(now.picks),
        _evidence(signal),
        _outcome(signal),
    )


def _evidence(signal: WatchedSignal) -> str:
    """Write the largest evidence so far as a part of what an alarm takes."""
    told = [look.log10_e for look in signal.looks if look.log10_e is not None]
    if not told or signal.threshold is None:
        return NOTHING
    return "alarm" if signal.alarm is not None else percent(round(min(10 ** (max(told) - signal.threshold), 1), 2))


def _outcome(signal: WatchedSignal) -> str:
    if signal.alarm is not None:
        return f"{signal.alarm.direction} since {printable(signal.alarm.since, longest=_NAME)}"
    return signal.status


def _notes(document: WatchDocument) -> Iterator[Said]:
    for name, signal in document.signals.items():
        title = TITLES.get(name, name)
        if signal.reason is not None:
            yield Said("note", f"{title}: {signal.status}, because {printable(signal.reason, longest=200)}")
        elif signal.undefined:
            picks = counted(sum(signal.undefined.values()), "pick")
            yield Said("note", f"{title}: {picks} left out: {_without(signal)}")
    sources: dict[str, list[str]] = {}
    for name, signal in document.signals.items():
        if signal.baseline_source is not None:
            sources.setdefault(signal.baseline_source, []).append(TITLES.get(name, name))
    for source, titles in sources.items():
        yield Said("note", f"baseline of {', '.join(titles)}: {printable(source, longest=100)}")
    yield from _caveats(document.data)
    yield Said("note", "evidence: the largest so far, as a part of what raises an alarm")


def _without(signal: WatchedSignal) -> str:
    return listed_counts((printable(reason, longest=80), times) for reason, times in signal.undefined.items())


def _caveats(data: WatchData) -> Iterator[Said]:
    if data.left_out:
        yield Said("caveat", f"{counted(data.left_out, 'pick')} at the end left out: they do not fill a period yet")
    if data.repeated:
        yield Said(
            "caveat", f"{counted(data.repeated, 'pick')} of a prompt that was picked before: labels count once"
        )
    for change in data.changes:
        names = ", ".join(printable(key, longest=_NAME) for key in change.changed)
        yield Said("caveat", f"settings changed in {printable(change.period, longest=_NAME)}: {names}")
