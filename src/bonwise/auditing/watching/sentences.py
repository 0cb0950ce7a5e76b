"""What a watch says in words: what moved, from where to where, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.documents.watch import WatchData, WatchedSignal, WatchSettings, WatchVerdict
from bonwise.printable import printable
from bonwise.report.numbers import counted, number, percent
from bonwise.report.watched_words import TITLES, level_words

__all__ = ["sentences", "verdict_of"]

_NAME = 60
"""Letters of a period in a sentence."""


def verdict_of(signals: Mapping[str, WatchedSignal]) -> WatchVerdict:
    """Return what all signals come to."""
    found = {signal.status for signal in signals.values()}
    if "moved" in found:
        return "moved"
    return "nothing moved" if "not moved" in found else "too early"


def sentences(signals: Mapping[str, WatchedSignal], data: WatchData, settings: WatchSettings) -> Iterator[str]:
    """Yield the sentences of a document, what decides first."""
    moved = [(name, signal) for name, signal in signals.items() if signal.alarm is not None]
    for name, signal in moved:
        yield _moved(name, signal)
    if not moved:
        yield _still(signals, data)
    for name, signal in signals.items():
        if signal.neighbours is not None:
            yield (
                f"The {TITLES[name]} of a period follows that of the period before (correlation "
                f"{number(signal.neighbours)}), so false alarms are more frequent than stated. {_longer(settings.by)}"
            )
    if moved:
        yield "After you have acted on an alarm, begin with a new baseline: an alarm stays with its baseline."
    chance, looks = percent(round(1 - settings.confidence, 10)), counted(settings.year, "look")
    yield (
        f"The chance of any false alarm of any signal within {looks} is at most {chance}. That holds if periods are "
        "exchangeable while nothing changes."
    )


def _longer(by: str) -> str:
    if by in ("hour", "day"):
        return "Use --by week --year 52."
    return "Use --by week --year 52, which needs a time in each line." if by == "file" else "Watch longer periods."


def _moved(name: str, signal: WatchedSignal) -> str:
    alarm = signal.alarm
    if alarm is None:
        raise TypeError(f"{name} did not move")
    since, period = (printable(one, longest=_NAME) for one in (alarm.since, alarm.period))
    now, before = level_words(alarm.level, signal.unit), level_words(signal.baseline, signal.unit)
    title = TITLES[name].capitalize()
    return f"{title} {alarm.direction}: {now} since {since}, against {before} in the baseline. Alarm in {period}."


def _still(signals: Mapping[str, WatchedSignal], data: WatchData) -> str:
    watched = sum(signal.status == "not moved" for signal in signals.values())
    if watched:
        ends = dict.fromkeys((data.periods[0], data.periods[-1])) if data.periods else {}
        spanned = " to ".join(printable(one, longest=_NAME) for one in ends)
        over = counted(len(data.periods), "period")
        return f"Nothing moved: {counted(watched, 'signal')} watched over {over}, {spanned}."
    if not data.periods:
        periods = counted(len(data.baseline_periods), "period")
        return f"Too early to say: the log has {periods}, and the baseline takes all of them."
    return "Too early to say: no signal can be watched yet."
