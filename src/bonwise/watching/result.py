"""Picks of production, period by period, and what moved: ``bonwise.watch/1``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.results import Confidence, Count, Document, FrameRow, Number, Record, given
from bonwise.table.facts import ValuesRead

if TYPE_CHECKING:
    from bonwise.watching.courses import SignalCourse
    from bonwise.watching.pick_log import DividedLog
    from bonwise.watching.signals import LabelledPicks

SignalUnit = Literal["share", "number", "dollars", "characters"]

WatchVerdict = Literal["nothing moved", "moved", "too early"]

_Status = Literal["moved", "not moved", "too early", "not watched"]

_MOST_CHANGES = 20


class LevelRecord(Record):
    """The level of a signal, its interval by periods, and what is behind it."""

    estimate: Number | None
    low: Number | None
    high: Number | None
    periods: Count
    """Periods, and picks that tell the signal. Of an audit there are no periods, and the picks are its prompts."""
    picks: Count
    """Periods, and picks that tell the signal. Of an audit there are no periods, and the picks are its prompts."""
    reason: str | None = None
    """Why the interval is missing."""


class Alarm(Record):
    """The first time that the evidence for a shift sufficed."""

    period: str
    """The last period of the look at which it sufficed."""
    since: str
    """The period from which on the shift fits best."""
    direction: Literal["rose", "fell"]
    level: LevelRecord
    """From `since` to the last period."""

    @classmethod
    def of(cls, course: SignalCourse, baseline: LevelRecord) -> Self | None:
        """Return the first alarm of a signal; None where there is none."""
        alarm, names = course.alarm(baseline.estimate), course.rule.names
        if alarm is None:
            return None
        since, until, fell = alarm
        return cls(
            period=names[until],
            since=names[since],
            direction="fell" if fell else "rose",
            level=course.level(since, len(names)),
        )


class WatchedLook(Record):
    """A signal at one look."""

    first: str
    last: str
    """Both: periods that it spans."""
    value: Number | None
    """The level of all picks of these periods."""
    log10_e: Number | None
    """Evidence for a shift up to here, its logarithm to base 10; None in the baseline."""

    @classmethod
    def of(cls, course: SignalCourse, first: int, last: int, log10_e: float | None) -> Self:
        """Return a look from one period to another."""
        names = course.rule.names
        return cls(first=names[first], last=names[last], value=course.totals.over(first, last), log10_e=log10_e)


class WatchedSignal(Record):
    """One signal."""

    unit: SignalUnit
    status: _Status
    reason: str | None = None
    """Why it is not watched, or what it waits for."""
    method: Literal["ranks", "bound"] | None = None
    """Whether periods are ranked among those before them, or compared with the bounds of an audit."""
    baseline: LevelRecord | None = None
    baseline_source: str | None = None
    now: LevelRecord | None = None
    """Over all watched periods."""
    alarm: Alarm | None = None
    look_size: Count | None = None
    """Picks per look, of ranks."""
    threshold: Number | None = None
    """What `log10_e` must reach."""
    neighbours: Number | None = None
    """Correlation of a period with the next one, where it is striking: false alarms are then more frequent."""
    undefined: dict[str, Count]
    """Picks that do not tell the signal, by reason."""
    looks: list[WatchedLook]

    @classmethod
    def of(cls, course: SignalCourse, baseline: LevelRecord, look_size: int | None = None) -> Self:
        """Return what became of a signal that is watched; `look_size` is of one that is ranked."""
        alarm, rule = Alarm.of(course, baseline), course.rule
        ranked = look_size is not None
        return cls(
            unit=course.signal.unit,
            status="not moved" if alarm is None else "moved",
            method="ranks" if ranked else "bound",
            baseline=baseline,
            baseline_source=course.source,
            now=course.level(rule.baseline, len(rule.names)),
            threshold=course.threshold,
            undefined=dict(course.signal.undefined),
            looks=[WatchedLook.of(course, *look) for look in course.looks()],
            **given(
                alarm=alarm,
                look_size=look_size,
                neighbours=course.neighbours(moved=alarm is not None) if ranked else None,
            ),
        )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.status == "moved") != (self.alarm is not None):
            raise ValueError("has an alarm where it moved, and only there")
        if self.status in ("too early", "not watched") and not self.reason:
            raise ValueError("says why it is not watched")
        return self


class SettingsChange(Record):
    """A period that begins to pick with other settings than the one before."""

    period: str
    changed: list[str]
    """Settings that changed."""


class WatchData(Record):
    """What was read."""

    picks: Count
    baseline_picks: Count
    """Both: watched, and of the baseline."""
    files: list[str]
    baseline_files: list[str]
    periods: list[str]
    """Watched periods, in the order of time."""
    baseline_periods: list[str]
    left_out: Count
    """Picks at the end that do not fill a period yet."""
    unread: list[str] | None = None
    """Lines that were not written whole and are no picks, and why: a crash, or a log that is being written."""
    changes: list[SettingsChange]
    """The latest ones."""
    repeated: Count | None = None
    """Picks of prompts that were picked before: labels count for the first pick alone."""
    unpicked: Count | None = None
    """Labelled pools without a pick: recovery counts a random pick there, or the first candidate."""

    @classmethod
    def of(
        cls,
        log: DividedLog,
        begins: int,
        files: Sequence[Path],
        earlier: Sequence[Path],
        labelled: LabelledPicks | None,
    ) -> Self:
        """Return what was read: a log whose first periods are the baseline, and the files that it came from."""
        baseline = int((log.period < begins).sum())
        changes = [SettingsChange(period=period, changed=keys) for period, keys in log.changes()]
        repeated, unpicked = (None, None) if labelled is None else (labelled.repeated, labelled.unpicked)
        return cls(
            picks=len(log.picks) - baseline,
            baseline_picks=baseline,
            files=[str(path) for path in files],
            baseline_files=[str(path) for path in earlier],
            periods=list(log.names[begins:]),
            baseline_periods=list(log.names[:begins]),
            left_out=log.left_out,
            changes=changes[-_MOST_CHANGES:],
            **given(unread=list(log.unread) or None, repeated=repeated or None, unpicked=unpicked or None),
        )


class WatchSettings(ValuesRead):
    """How it was watched."""

    confidence: Confidence
    """Of the intervals, and 1 minus the chance of any false alarm of any signal within a year of looks."""
    by: str
    """What a period is: ``file``, ``hour``, ``day``, ``week``, or a number of picks."""
    time: str | None = None
    """The key of a line that holds its time."""
    first: Annotated[int, Field(ge=1)] | None = None
    """Periods of the log that are the baseline where none was given."""
    baseline_from: str | None = None
    """The period at which that baseline begins, where it is not the log's first one."""
    year: Annotated[int, Field(ge=1)]
    """Looks over which the chance of a false alarm is spent."""
    seed: Count
    audit: str | None = None
    """File of the audit that is the baseline of the signals that it holds."""
    labels: str | None = None
    version: str


class Watch(Document):
    """What moved in the picks of production."""

    schema_: Literal["bonwise.watch/1"] = Field(default="bonwise.watch/1", alias="schema")
    verdict: WatchVerdict
    sentences: list[str]
    signals: dict[str, WatchedSignal]
    """Every signal, the unwatched ones with the reason."""
    data: WatchData
    settings: WatchSettings

    frame_columns = ("signal", *WatchedLook.model_fields, "baseline", "alarm")

    @model_validator(mode="after")
    def _fits_its_signals(self) -> Self:
        moved = any(signal.alarm is not None for signal in self.signals.values())
        if moved != (self.verdict == "moved"):
            raise ValueError("has the verdict moved where a signal moved, and only there")
        return self

    @property
    def moved(self) -> tuple[str, ...]:
        """The signals that moved."""
        return tuple(name for name, signal in self.signals.items() if signal.alarm is not None)

    def __repr__(self) -> str:
        return f"<Watch over {len(self.data.periods)} periods: {', '.join(self.moved) or self.verdict}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per signal and look.

        Columns: ``signal``; ``first`` and ``last``, the periods of the look; ``value``; ``log10_e``, the evidence for
        a shift, missing in the baseline; ``baseline``; and ``alarm``: whether the first alarm is of this look.
        """
        for name, signal in self.signals.items():
            alarm = None if signal.alarm is None else signal.alarm.period
            for look in signal.looks:
                own = {"signal": name, "baseline": look.log10_e is None, "alarm": look.last == alarm}
                yield {**look.to_dict(), **own}
