"""What a watch says in words: signals and their levels, what moved, from where to where, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from bonwise.printable import printable
from bonwise.report.numbers import NOTHING, Bounded, FigureText, Unit, counted, estimate, interval, number, percent
from bonwise.watching.result import WatchData, WatchedSignal, WatchSettings, WatchVerdict

WatchUnit = Literal["share", "number", "dollars", "characters"]

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "tie_rate": "tie rate",
        "margin": "margin",
        "order_effect": "order effect",
        "unscored_share": "unscored share",
        "cost_per_pick": "cost per pick",
        "length": "length",
        "recovery": "recovery",
    }
)
"""What a signal is called in a sentence."""


def plain_unit(unit: WatchUnit) -> Unit:
    """Return the unit in which `bonwise.report.numbers` writes a figure."""
    return "share" if unit == "share" else "number"


def level_figure(level: Bounded | None, unit: WatchUnit) -> str:
    """Write a level; a dash where there is none."""
    if level is None or level.estimate is None:
        return NOTHING
    whole = level.low is None or level.high is None
    written = number(level.estimate, plain_unit(unit)) if whole else estimate(level, plain_unit(unit))
    return written.behind("$") if unit == "dollars" and isinstance(written, FigureText) else written


def level_ends(level: Bounded | None, unit: WatchUnit) -> str:
    """Write the interval of a level; a dash where there is none."""
    return interval(level, plain_unit(unit))


def level_words(level: Bounded | None, unit: WatchUnit) -> str:
    """Write a level and its interval, for a sentence."""
    ends = level_ends(level, unit)
    after = " characters" if unit == "characters" else ""
    return f"{level_figure(level, unit)} {'(no interval)' if ends == NOTHING else ends}{after}"


_NAME = 60
"""Letters of a period in a sentence."""


def verdict_of(signals: Mapping[str, WatchedSignal]) -> WatchVerdict:
    """Return what all signals come to."""
    statuses = {signal.status for signal in signals.values()}
    if "moved" in statuses:
        return "moved"
    return "nothing moved" if "not moved" in statuses else "too early"


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
    if data.unread:
        where = printable("; ".join(data.unread), longest=300)
        yield f"{counted(len(data.unread), 'line')} left out, not written whole: {where}."
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
    since, period = (printable(period_name, longest=_NAME) for period_name in (alarm.since, alarm.period))
    now, before = level_words(alarm.level, signal.unit), level_words(signal.baseline, signal.unit)
    title = TITLES[name].capitalize()
    return f"{title} {alarm.direction}: {now} since {since}, against {before} in the baseline. Alarm in {period}."


def _still(signals: Mapping[str, WatchedSignal], data: WatchData) -> str:
    watched = sum(signal.status == "not moved" for signal in signals.values())
    if watched:
        ends = dict.fromkeys((data.periods[0], data.periods[-1])) if data.periods else {}
        spanned = " to ".join(printable(end, longest=_NAME) for end in ends)
        over = counted(len(data.periods), "period")
        return f"Nothing moved: {counted(watched, 'signal')} watched over {over}, {spanned}."
    if not data.periods:
        periods = counted(len(data.baseline_periods), "period")
        return f"Too early to say: the log has {periods}, and the baseline takes all of them."
    return "Too early to say: no signal can be watched yet."
