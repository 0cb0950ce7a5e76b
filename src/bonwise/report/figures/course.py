"""A signal of production over time, beside its baseline, with the alarm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bonwise.report.amounts import brief
from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.colours import COLOURS, SIZE
from bonwise.report.figures.hover import tell
from bonwise.report.figures.legend import legend_below
from bonwise.report.numbers import percent
from bonwise.report.watched_words import WatchUnit, level_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bonwise.documents.watch import WatchedSignal

__all__ = ["Course", "CourseLook", "course_figure"]

_TICKS = 4
_LETTERS = 12
_TOP = {True: 0.01, False: 1.0}
"""Upper end of the axis of a signal that is always 0, by whether it is a share."""


class CourseLook(Protocol):
    """A signal at one look."""

    @property
    def last(self) -> str:
        """Its last period."""

    @property
    def value(self) -> float | None:
        """The level there."""

    @property
    def log10_e(self) -> float | None:
        """Evidence for a shift; None in the baseline."""


@dataclass(frozen=True, slots=True)
class Course:
    """A signal at its looks."""

    looks: Sequence[CourseLook]
    up: str
    """What the upright axis holds."""
    percent: bool
    level: float | None
    """Of the baseline."""
    low: float | None
    """Of the baseline."""
    high: float | None
    """Of the baseline."""
    since: int | None
    """Looks at which the shift began, and at which the alarm was raised."""
    alarm: int | None
    """Looks at which the shift began, and at which the alarm was raised."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per look."""
        for at, look in enumerate(self.looks):
            yield {
                "period": look.last,
                "value": look.value,
                "log10_e": look.log10_e,
                "baseline": look.log10_e is None,
                "shifted": self.since is not None and at >= self.since,
                "alarm": at == self.alarm,
            }


def course_figure(name: str, title: str, signal: WatchedSignal) -> list[Drawing[Course]]:
    """Draw a signal over time; none where no look has a level.

    Parameters
    ----------
    name, title : str
        Of the signal.
    signal : WatchedSignal
    """
    looks, alarm, unit = signal.looks, signal.alarm, signal.unit
    if not any(look.value is not None for look in looks):
        return []
    firsts, lasts = [look.first for look in looks], [look.last for look in looks]
    before = signal.baseline
    data = Course(
        looks,
        _axis(title, unit),
        unit == "share",
        None if before is None else before.estimate,
        None if before is None else before.low,
        None if before is None else before.high,
        None if alarm is None or alarm.since not in firsts else firsts.index(alarm.since),
        None if alarm is None or alarm.period not in lasts else lasts.index(alarm.period),
    )
    says = f"The {title} of {len(looks)} looks; the baseline is {level_words(before, unit)}"
    if alarm is not None:
        says += (
            f". It {alarm.direction} since {alarm.since}, to {level_words(alarm.level, unit)}; alarm: {alarm.period}"
        )
    key = f"course-{name.replace('_', '-')}"
    return [Drawing(_paint, data, key, title[:1].upper() + title[1:], f"{says}.", SIZE)]


def _axis(title: str, unit: WatchUnit) -> str:
    return title if unit in ("share", "number") else f"{title}, {unit}"


def _paint(axes: Axes, data: Course) -> None:
    from bonwise.report.figures.percent import Percent  # noqa: PLC0415 - drawing loads matplotlib

    nan = float("nan")
    values = [nan if look.value is None else look.value for look in data.looks]
    count = len(values)
    if data.low is not None and data.high is not None:
        axes.axhspan(data.low, data.high, color=COLOURS["band"], linewidth=0, label="baseline")
    if data.level is not None:
        axes.axhline(data.level, color=COLOURS["muted"], linewidth=0.9, linestyle=(0, (3, 3)))
    for at, look in enumerate(data.looks):
        if look.value is not None:
            tell(at, look.value, f"{_cut(look.last)}: {percent(look.value) if data.percent else brief(look.value)}")
    before = sum(look.log10_e is None for look in data.looks)
    places = range(count)
    axes.plot(places, values, color=COLOURS["judge"], linewidth=1, alpha=0.6)
    marks = {"markersize": 3, "marker": "o", "linestyle": "none"}
    axes.plot(places[:before], values[:before], color=COLOURS["random"], label="of the baseline", **marks)  # type: ignore[arg-type]
    axes.plot(places[before:], values[before:], color=COLOURS["judge"], label="watched", **marks)  # type: ignore[arg-type]
    if data.since is not None:
        axes.axvline(data.since - 0.5, color=COLOURS["bad"], linewidth=1, linestyle=(0, (4, 2)), label="shift")
    if data.alarm is not None:
        place = {"marker": "D", "markersize": 6, "linestyle": "none"}
        axes.plot([data.alarm], [values[data.alarm]], color=COLOURS["bad"], label="alarm", **place)  # type: ignore[arg-type]
    ticks = sorted({round(at * (count - 1) / max(_TICKS - 1, 1)) for at in range(_TICKS)})
    axes.set_xticks(ticks, [_cut(data.looks[at].last) for at in ticks])
    if data.percent:
        axes.yaxis.set_major_formatter(Percent())
    axes.locator_params(axis="y", nbins=5)
    axes.grid(visible=True, axis="y")
    axes.set_ylabel(data.up)
    if not any((data.low, data.high, *(look.value for look in data.looks))):
        # matplotlib gives a constant a range on both sides, and no signal that is always 0 goes below it.
        axes.set_ylim(-0.05 * _TOP[data.percent], _TOP[data.percent])
    legend_below(axes, 3, handle=1.4, between=1.0)


def _cut(name: str) -> str:
    text = name if name.isprintable() else repr(name)
    return text if len(text) <= _LETTERS else f"...{text[-_LETTERS + 3 :]}"
