"""Picks of production: what moved, each signal with its baseline, and its course as a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bonwise.printable import printable, shell_flag
from bonwise.report import answers, samples, table_facts
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table, Value
from bonwise.report.figures.axes import COLOURS, SIZE, legend_below, tell
from bonwise.report.limits import LABELS, limits
from bonwise.report.numbers import NOTHING, count, counted, interval_title, listed_counts, number, percent
from bonwise.table.reading_options import PickKeywords
from bonwise.watching.result import LevelRecord, SettingsChange, Watch, WatchData, WatchedSignal, WatchVerdict
from bonwise.watching.sentences import TITLES, level_ends, level_figure, level_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIMITS = (
    "Why a signal moved: prompts, candidates, the judge or its settings may have changed.",
    "That nothing moved where there is no alarm: a small change takes long to see.",
    "That picks are good while no signal moves: signals without labels say nothing of it.",
    LABELS,
)

_SAMPLED = "Picks of the last period, the lowest label first, or the lowest score where no pick of it is labelled."
_FIGURES = ("label of pick", "label of best", "score of pick")

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
    low: float | None
    high: float | None
    """All three: of the baseline."""
    changed: Sequence[int]
    """Looks from which on settings were others than before."""
    since: int | None
    alarm: int | None
    """Both: looks at which the shift began, and at which the alarm was raised."""

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
                "changed": at in self.changed,
            }


def course_figure(
    name: str, title: str, signal: WatchedSignal, data: WatchData | None = None
) -> list[Drawing[Course]]:
    """Draw a signal over time, with the looks at which settings changed; none where no look has a level."""
    looks, alarm, unit = signal.looks, signal.alarm, signal.unit
    if not any(look.value is not None for look in looks):
        return []
    firsts, lasts = [look.first for look in looks], [look.last for look in looks]
    before = signal.baseline
    changed = {} if data is None else _looks_of_changes(signal, data)
    course = Course(
        looks,
        title if unit in ("share", "number") else f"{title}, {unit}",
        unit == "share",
        None if before is None else before.estimate,
        None if before is None else before.low,
        None if before is None else before.high,
        sorted(set(changed.values())),
        None if alarm is None or alarm.since not in firsts else firsts.index(alarm.since),
        None if alarm is None or alarm.period not in lasts else lasts.index(alarm.period),
    )
    says = f"The {title} of {len(looks)} looks; the baseline is {level_words(before, unit)}"
    if alarm is not None:
        says += (
            f". It {alarm.direction} since {alarm.since}, to {level_words(alarm.level, unit)}; alarm: {alarm.period}"
        )
    if changed:
        says += f". Settings changed in {', '.join(changed)}"
    key = f"course-{name.replace('_', '-')}"
    return [Drawing(_paint, course, key, title[:1].upper() + title[1:], f"{says}.", SIZE)]


def _looks_of_changes(signal: WatchedSignal, data: WatchData) -> Mapping[str, int]:
    """Return the look that holds each period at which settings changed, by the period as it is written."""
    place = {period: at for at, period in enumerate((*data.baseline_periods, *data.periods))}
    return {
        printable(change.period, longest=_NAME): at
        for change in data.changes
        for at, look in enumerate(signal.looks)
        if place[look.first] <= place[change.period] <= place[look.last]
    }


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
            tell(at, look.value, f"{_cut(look.last)}: {number(look.value, 'share' if data.percent else 'number')}")
    before = sum(look.log10_e is None for look in data.looks)
    places = range(count)
    axes.plot(places, values, color=COLOURS["judge"], linewidth=1, alpha=0.6)
    marks = {"markersize": 3, "marker": "o", "linestyle": "none"}
    axes.plot(places[:before], values[:before], color=COLOURS["random"], label="of the baseline", **marks)  # type: ignore[arg-type]
    axes.plot(places[before:], values[before:], color=COLOURS["judge"], label="watched", **marks)  # type: ignore[arg-type]
    for rank, at in enumerate(data.changed):
        name = {"label": "settings changed"} if rank == 0 else {}
        axes.axvline(at - 0.5, color=COLOURS["ink"], linewidth=1, linestyle=":", **name)  # type: ignore[arg-type]
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


_NAME = 40
"""Letters of a period or a file."""

_STATES: Mapping[WatchVerdict, answers.State] = {"moved": "bad", "nothing moved": "good", "too early": "open"}


def describe(document: Watch) -> Part:
    """Describe what moved in the picks of production."""
    data = document.data
    title = f"Watch of {counted(data.picks, 'pick')} in {counted(len(data.periods), 'period')}"
    return Part(title, list(_blocks(document)))


def _blocks(document: Watch) -> Iterator[Block]:
    yield Table.facts(_facts(document))
    yield answers.verdict(answer(document), _further(document))
    courses = [
        drawing
        for name, signal in sorted(document.signals.items(), key=lambda item: item[1].alarm is None)
        for drawing in course_figure(name, TITLES.get(name, name), signal, document.data)
    ]
    if courses:
        yield Part("Over time", courses, "detail", anchor="courses")
    yield Part("Signals", [_table(document), *_notes(document)], anchor="signals")
    yield from samples.part("The latest picks", _SAMPLED, _FIGURES, document.samples)
    yield limits(_LIMITS)


def _facts(document: Watch) -> Iterator[tuple[str, str]]:
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
    ends = " to ".join(dict.fromkeys(printable(period, longest=_NAME) for period in (periods[0], periods[-1])))
    return f"{counted(len(periods), 'period')}, {ends}"


def answer(document: Watch) -> answers.StatedVerdict:
    """Return what moved; picks of other settings than those of the baseline are told first, and are no still log."""
    changes, moved = document.data.changes, [signal for signal in document.signals.values() if signal.alarm]
    word, state = document.verdict, _STATES[document.verdict]
    still = bool(changes) and document.verdict == "nothing moved"
    return answers.StatedVerdict(
        _changed_word(changes[-1].changed) if still else word,
        "open" if still else state,
        document.sentences[0],
        moved[0].alarm.level if moved and moved[0].alarm else None,
        facts=[_change_words(changes)] if changes else [],
        question="Did the picks of production move?",
        then=_next(document),
    )


def _changed_word(changed: Sequence[str]) -> str:
    """Say in short whether the judge or another setting is not as before."""
    return "the judge was changed" if any(key.startswith("judge") for key in changed) else "settings were changed"


def _change_words(changes: Sequence[SettingsChange]) -> str:
    last, word = changes[-1], _changed_word(changes[-1].changed)
    names = ", ".join(printable(key, longest=_NAME) for key in last.changed)
    before = f"; {counted(len(changes) - 1, 'earlier change')}" if len(changes) > 1 else ""
    return (
        f"{word[:1].upper()}{word[1:]} in {printable(last.period, longest=_NAME)} ({names}{before}): the baseline "
        "holds picks from before, so that figures of then and of now are not of the same way of picking."
    )


_KEPT = {name: f"--{name}" for name in ("labels", "by", "time", "first", "year", "confidence", "seed")}
"""Flags of a watch that hold for a new baseline too."""


def _next(document: Watch) -> Sequence[Said]:
    """Return the same watch with a baseline that begins at the last change; nothing where nothing was changed."""
    if not document.data.changes:
        return ()
    since = shell_flag("--baseline-from", document.data.changes[-1].period)
    why = "Watch what is picked now against a baseline of its own, which begins at the change:"
    return answers.steps(why, document.then("watch", since, of=("picks",), takes=PickKeywords, keep=_KEPT))


def _further(document: Watch) -> Sequence[Said]:
    """Return the sentences after the first one: those of further signals that moved lead too."""
    moved = sum(signal.alarm is not None for signal in document.signals.values())
    return [Said("lead" if at < moved else "finding", text) for at, text in enumerate(document.sentences) if at > 0]


def _table(document: Watch) -> Table:
    confidence = interval_title(document.settings.confidence)
    columns = (
        (Column("signal", "metric"), lambda name, _: TITLES.get(name, name)),
        (Column("baseline"), lambda _, signal: level_figure(signal.baseline, signal.unit)),
        (Column(confidence, spare=2), lambda _, signal: level_ends(signal.baseline, signal.unit)),
        (Column("now"), lambda _, signal: level_figure(_now(signal), signal.unit)),
        (Column(f"{confidence} ", spare=1), lambda _, signal: level_ends(_now(signal), signal.unit)),
        (Column("picks", spare=4), lambda _, signal: _picks(_now(signal))),
        (Column("evidence", spare=3), lambda _, signal: _evidence(signal)),
        (Column("outcome", "words"), lambda _, signal: _outcome(signal)),
    )
    title = "Levels of the baseline and now; after an alarm, now is since the shift"
    return Table.listing(columns, document.signals.items(), title)


def _now(signal: WatchedSignal) -> LevelRecord | None:
    return signal.now if signal.alarm is None else signal.alarm.level


def _picks(level: LevelRecord | None) -> str:
    return NOTHING if level is None else count(level.picks)


def _evidence(signal: WatchedSignal) -> str:
    """Write the largest evidence so far as a part of what an alarm takes."""
    evidence = [look.log10_e for look in signal.looks if look.log10_e is not None]
    if not evidence or signal.threshold is None:
        return NOTHING
    return (
        "alarm" if signal.alarm is not None else percent(round(min(10 ** (max(evidence) - signal.threshold), 1), 2))
    )


def _outcome(signal: WatchedSignal) -> str:
    if signal.alarm is not None:
        return f"{signal.alarm.direction} since {printable(signal.alarm.since, longest=_NAME)}"
    return signal.status


def _notes(document: Watch) -> Iterator[Said]:
    yield from _caveats(document.data)
    for name, signal in document.signals.items():
        title = TITLES.get(name, name)
        if signal.reason is not None:
            yield Said("note", f"{title}: {signal.status}, because {printable(signal.reason, longest=200)}")
        elif signal.undefined:
            picks = counted(sum(signal.undefined.values()), "pick")
            yield Said("caveat", f"{title}: {picks} left out: {_without(signal)}")
    sources: dict[str, list[str]] = {}
    for name, signal in document.signals.items():
        if signal.baseline_source is not None:
            sources.setdefault(signal.baseline_source, []).append(TITLES.get(name, name))
    for source, titles in sources.items():
        yield Said("note", f"baseline of {', '.join(titles)}: {printable(source, longest=100)}")
    yield from table_facts.values_read_as(document.settings)
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
    if data.unpicked:
        yield Said("caveat", f"{counted(data.unpicked, 'labelled pool')} without a pick, worth what --unpicked says")
    for change in data.changes:
        names = ", ".join(printable(key, longest=_NAME) for key in change.changed)
        yield Said("caveat", f"settings changed in {printable(change.period, longest=_NAME)}: {names}")
