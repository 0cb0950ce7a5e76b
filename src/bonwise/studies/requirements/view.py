"""The study of requirements: the curve with the judge on it, what targets take, and many judges in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.estimates import EstimateRecord
from bonwise.metric_groups import unit_of
from bonwise.printable import file_name, printable
from bonwise.report import answers, limits, numbers
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table, Value
from bonwise.report.figures.axes import COLOURS, tell
from bonwise.report.figures.names import short
from bonwise.studies.description import DescribedStudy
from bonwise.studies.requirements.result import OwnFigures, RequirementsJudge, RequirementsStudy, Target
from bonwise.table.reading_options import PilotKeywords, ReadingKeywords

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LIMITS = (
    "How a judge with errors of another kind does: the curve takes plain noise, alike for all candidates.",
    limits.OTHER_PROMPTS,
    limits.LABELS,
)


_Ends = tuple[float | None, float | None, float | None]
"""Estimate, low end and high end; None where there is none."""

_LINES = (("within_r", "ink"), ("effective agreement", "other"))
"""Name and colour of each line."""


_MOST_NEEDS = 100
"""Wanted recoveries in a drawing."""


@dataclass(frozen=True, slots=True)
class Quality:
    """A point of the curve: what a judge of plain noise has that recovers so much."""

    recovery: float
    within_r: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Needed:
    """What a wanted recovery takes."""

    target: float
    within_r: _Ends
    agreement: _Ends


@dataclass(frozen=True, slots=True)
class Own:
    """Where the judge stands."""

    name: str
    recovery: float
    within_r: float
    expected: float | None
    """Recovery of a judge of plain noise with the same within_r."""


@dataclass(frozen=True, slots=True)
class NeededQuality:
    """The curve, what wanted recoveries take, and the judge."""

    curve: Sequence[Quality]
    needs: Sequence[Needed]
    own: Own | None

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per point of the curve, per wanted recovery, and for the judge."""
        for point in self.curve:
            yield {
                "what": "curve",
                "recovery": point.recovery,
                "within_r": point.within_r,
                "effective_agreement": point.agreement,
            }
        for need in self.needs:
            yield {
                "what": "target",
                "recovery": need.target,
                "within_r": need.within_r[0],
                "effective_agreement": need.agreement[0],
            }
        if self.own is not None:
            yield {"what": self.own.name, "recovery": self.own.recovery, "within_r": self.own.within_r}


def needed_quality_figure(data: NeededQuality, key: str, title: str, says: str) -> list[Drawing[NeededQuality]]:
    """Draw the curve, intervals at wanted recoveries, and a diamond for the judge; empty without a curve."""
    if len(data.needs) > _MOST_NEEDS:
        says += f" The first {_MOST_NEEDS} of {numbers.count(len(data.needs))} wanted recoveries are drawn."
    return [Drawing(_paint, data, key, title, says)] if data.curve else []


def _paint(axes: Axes, data: NeededQuality) -> None:
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - drawing loads matplotlib

    recoveries = [one.recovery for one in data.curve]
    (within, first), (agreement, second) = _LINES
    axes.plot(recoveries, [one.within_r for one in data.curve], color=COLOURS[first], label=within)
    axes.plot(
        recoveries,
        [one.agreement for one in data.curve],
        color=COLOURS[second],
        linestyle=(0, (6, 2)),
        label=agreement,
    )
    for need in data.needs[:_MOST_NEEDS]:
        _paint_need(axes, need.target, need.within_r, within, COLOURS[first])
        _paint_need(axes, need.target, need.agreement, agreement, COLOURS[second])
    axes.plot([0, 1], [0, 1], color=COLOURS["random"], linestyle=":", linewidth=1.2, label="normal: equal")
    left = lowest = 0.0
    if data.own is not None:
        _paint_own(axes, data.own)
        lowest, left = min(data.own.within_r - 0.05, 0.0), min(data.own.recovery - 0.05, 0.0)
    axes.set_xlim(left, 1.0)
    axes.set_ylim(lowest, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("recovery")
    axes.set_ylabel("quality needed")
    axes.grid(visible=True)
    axes.legend(loc="lower right")


def _paint_need(axes: Axes, target: float, found: _Ends, name: str, colour: str) -> None:
    value, low, high = found
    if value is None:
        return
    axes.plot([target], [value], "o", color=colour, markersize=4)
    tell(
        target,
        value,
        f"{name} for recovery {numbers.number(target, 'share')}: {numbers.with_interval(numbers.Ends(*found))}",
    )
    if low is not None and high is not None:
        axes.plot([target] * 2, [low, high], color=colour, linewidth=3, alpha=0.45)


def _paint_own(axes: Axes, own: Own) -> None:
    if own.expected is not None:
        axes.plot(
            [own.recovery, own.expected], [own.within_r] * 2, color=COLOURS["judge"], linestyle=":", linewidth=1.6
        )
    name = short(own.name)
    # A legend leaves out what starts with an underscore.
    label = f" {name}" if name.startswith("_") else name
    axes.plot([own.recovery], [own.within_r], "D", color=COLOURS["judge"], markersize=6, label=label)
    where = f"recovery {numbers.number(own.recovery, 'share')}, within_r {numbers.number(own.within_r)}"
    tell(own.recovery, own.within_r, f"{own.name}: {where}")


_EXAMPLES = 8
"""Names of judges in a sentence."""

_MEANT = (
    "Plain noise: what a judge with the same within_r would recover on these labels if its errors were plain noise. "
    "Needed: the within_r at which such a judge recovers that share of the possible gain."
)


def many_requirements(document: RequirementsStudy) -> Part:
    """Return one part over all judges."""
    reference = document.settings.reference
    return Part(
        "What a wanted recovery takes",
        [
            *(Said("finding", numbers.named(sentence, reference)) for sentence in _sentences(document.judges)),
            Part("", [_table(document)], folded=f"A table of the {numbers.counted(len(document.judges), 'judge')}"),
            Said("note", numbers.named(_MEANT, reference)),
        ],
        anchor="requirements",
    )


def _sentences(judges: Mapping[str, RequirementsJudge]) -> Iterator[str]:
    differences = [one.judge.difference for one in judges.values()]
    below = sum(difference.high is not None and difference.high < 0 for difference in differences)
    above = sum(difference.low is not None and difference.low > 0 for difference in differences)
    yield (
        f"Of {numbers.counted(len(judges), 'judge')} {numbers.count(below)} recover less than a judge of plain noise "
        f"with the same within_r would, and {numbers.count(above)} more; "
        f"{numbers.count(len(judges) - below - above)} are undecided."
    )
    without: dict[str, list[str]] = {}
    for name, judge in judges.items():
        found = judge.judge.expected_recovery
        if found.estimate is None:
            without.setdefault(found.reason or "", []).append(printable(name, longest=60))
    for reason, names in without.items():
        told = ", ".join(names[:_EXAMPLES]) + (", ..." if len(names) > _EXAMPLES else "")
        yield f"No figure of plain noise for {numbers.counted(len(names), 'judge')} ({told}): {reason}."


def _table(document: RequirementsStudy) -> Table:
    judges, width = document.judges, numbers.interval_title(document.settings.confidence)
    targets = list(dict.fromkeys(one.target for judge in judges.values() for one in judge.targets))
    columns = (
        Column("judge", "name"),
        Column("within_r"),
        *(column for title in ("recovers", "plain noise", "difference") for column in (Column(title), Column(width))),
        *(Column(f"{numbers.percent(target)} needs") for target in targets),
    )
    rows = [(printable(name), *_own(judge.judge), *_needed(judge, targets)) for name, judge in judges.items()]
    return Table.of(columns, rows, "Judges and plain noise")


def _own(own: OwnFigures) -> Iterator[str]:
    yield numbers.estimate(own.within_r)
    for found in (own.recovery, own.expected_recovery, own.difference):
        yield numbers.estimate(found, "share")
        yield numbers.interval(found, "share")


def _needed(judge: RequirementsJudge, targets: Sequence[float]) -> Iterator[str]:
    found = {one.target: one.within_r for one in judge.targets}
    yield from (numbers.estimate(found.get(target)) for target in targets)


_YARDSTICK = (
    "The curve is that of a judge whose score is the label plus normal noise, alike for all candidates and not "
    "rounded, on these labels with their spread and ties. A judge with errors of another kind lies above or below it."
)
_HEADING = "What a wanted recovery takes"
_LONGEST = 60

_AS_A_GATE = 0.9
"""Confidence of two-sided intervals whose lower end is that of a gate."""

_NARROWEST = 0.02
"""Half-width that is planned for where the estimate is as wanted."""


def described(document: RequirementsStudy) -> DescribedStudy:
    """Describe what a wanted recovery takes: one part per judge."""
    settings = document.settings
    stated = {name: _reached(judge) for name, judge in document.judges.items() if judge.targets}
    judges = {
        name: Part(_title(name, judge), list(_judge(name, judge, settings.reference, f"requirements-{at}")))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    return DescribedStudy(
        title=f"{_HEADING} on the labels of {file_name(settings.source)}",
        heading=_HEADING,
        anchor="requirements",
        limits=_LIMITS,
        judges=judges,
        notes=[Said("note", f"in brackets {numbers.percent(settings.confidence)} intervals, clustered by prompt")],
        instead=many_requirements(document),
        answers=stated,
        question="What does the judge recover, and what would a better one need?",
        then=_then(document, stated),
    )


def _then(document: RequirementsStudy, stated: Mapping[str, answers.StatedVerdict]) -> Sequence[Said]:
    """Return what follows: which prompts to send on, and of one judge the gate that it reaches, or more labels."""
    if {answer.state for answer in stated.values()} == {"bad"}:
        why = "For a better judge try another prompt, or see which prompts to send to a stronger one:"
        return answers.steps(why, document.then("route", takes=ReadingKeywords))
    judges = [judge for judge in document.judges.values() if judge.targets]
    own = judges[0].judge.recovery if len(judges) == 1 else None
    if own is None or own.estimate is None:
        return answers.steps("See what keeps each verdict open:", document.then("audit", takes=ReadingKeywords))
    wanted = sorted(target.target for target in judges[0].targets)
    reached = [target for target in wanted if answers.outcome_of(own, target) == "above"]
    if reached:
        # A gate is one-sided at 95%, which an interval of less than 90% does not promise.
        gate = (
            [f"--fail-under recovery={numbers.setting(reached[-1])}"]
            if document.settings.confidence >= _AS_A_GATE
            else []
        )
        audit = document.then("audit", *gate, takes=ReadingKeywords)
        return answers.steps("Audit it with the gate that it reaches:", audit)
    width = max(round(abs(own.estimate - wanted[0]), 2), _NARROWEST)
    plan = document.then(
        f"plan --question recovery --half-width {numbers.setting(width)} --pilot", of=("source",), takes=PilotKeywords
    )
    return answers.steps("More labels would settle it; see how many:", plan)


def _reached(judge: RequirementsJudge) -> answers.StatedVerdict:
    """Return the largest wanted recovery that the judge is shown to reach, or that it misses the smallest."""
    own, targets = judge.judge.recovery, sorted(judge.targets, key=lambda one: one.target)
    if own.estimate is None:
        return answers.StatedVerdict("undefined", "open", "The recovery of this judge is undefined.")
    has = f"it recovers {_with_ends(own)}"
    reached = [target for target in targets if answers.outcome_of(own, target.target) == "above"]
    if reached:
        most = reached[-1]
        wanted = f"a wanted recovery of {numbers.percent(most.target)}"
        return answers.StatedVerdict(
            f"reaches {numbers.percent(most.target)}", "good", f"The judge reaches {wanted}: {has}.", own
        )
    least = targets[0]
    wanted, why = numbers.percent(least.target), _why_not(judge.judge, least)
    if answers.outcome_of(own, least.target) == "below":
        says = f"The judge recovers less than {wanted} of the possible gain: {_with_ends(own)}. {why}"
        return answers.StatedVerdict(f"recovers less than {wanted}", "bad", says, own)
    return answers.StatedVerdict(
        "not settled", "open", f"The judge is not shown to recover {wanted}: {has}. {why}", own
    )


def _why_not(own: OwnFigures, least: Target) -> str:
    """Say whether a judge lacks within_r for a wanted recovery, or errs otherwise than plain noise would."""
    needed, has, wanted = least.within_r, own.within_r, numbers.percent(least.target)
    if needed.estimate is None or has.estimate is None:
        return f"The within_r that {wanted} takes is undefined here, or this judge's is."
    takes = f"{numbers.with_interval(needed)} is enough for {wanted} where errors are plain noise"
    sentence = f"Its within_r is {numbers.with_interval(has)}; {takes}."
    if answers.outcome_of(has, needed.estimate) == "below":
        sentence = (
            f"Its within_r of {numbers.with_interval(has)} is too low: {wanted} takes "
            f"{numbers.with_interval(needed)}."
        )
    elif answers.outcome_of(has, needed.estimate) == "above":
        sentence = f"Its within_r of {numbers.with_interval(has)} is not what it lacks: {takes}."
    if own.difference.high is not None and own.difference.high < 0:
        sentence += " Its errors cost more than plain noise would, as ties, coarse scores and uneven errors can."
    return sentence


def _with_ends(recovery: EstimateRecord) -> str:
    return numbers.with_any_interval(recovery, unit_of("recovery"))


def _title(name: str, judge: RequirementsJudge) -> str:
    data = judge.data
    return (
        f"{printable(name, longest=_LONGEST)}: {numbers.counted(data.prompts, 'prompt')}, "
        f"{numbers.counted(data.rows, 'candidate')}"
    )


def _judge(name: str, judge: RequirementsJudge, reference: str | None, key: str) -> Iterator[Block]:
    for sentence in judge.sentences:
        yield Said("finding", numbers.named(sentence, reference))
    if not judge.curve:
        return
    yield from _figure(name, judge, key)
    yield _targets(judge)
    if judge.inverse:
        yield _inverse(judge)
    yield Part("", [Said("note", numbers.named(_YARDSTICK, reference))], "detail")


def _targets(judge: RequirementsJudge) -> Table:
    columns = (
        Column("recovery", "name"),
        Column("needs within_r"),
        Column("[within_r]", spare=2),
        Column("needs agreement"),
        Column("[agreement]", spare=1),
    )
    rows = [
        (
            numbers.percent(target.target),
            numbers.estimate(target.within_r),
            numbers.interval(target.within_r),
            numbers.estimate(target.effective_agreement, "share"),
            numbers.interval(target.effective_agreement, "share"),
        )
        for target in judge.targets
    ]
    return Table.of(columns, rows, "Needed for a wanted recovery")


def _inverse(judge: RequirementsJudge) -> Table:
    columns = (Column("within_r", "name"), Column("recovers"), Column("interval"))
    rows = [
        (
            numbers.setting(one.within_r),
            numbers.estimate(one.recovery, "share"),
            numbers.interval(one.recovery, "share"),
        )
        for one in judge.inverse
    ]
    return Table.of(columns, rows, "Recovered by a judge of plain noise")


def _figure(name: str, judge: RequirementsJudge, key: str) -> list[Drawing[NeededQuality]]:
    own = _place(name, judge.judge)
    data = NeededQuality(
        [Quality(one.recovery, one.within_r, one.effective_agreement) for one in judge.curve],
        [
            Needed(target.target, _ends(target.within_r), _ends(target.effective_agreement))
            for target in judge.targets
        ],
        own,
    )
    says = "Within_r and effective agreement of a judge of plain noise, by what it recovers; bars are intervals."
    says += " With normal scores and labels within_r would lie on the straight dotted line."
    if own is not None:
        says += (
            f" The diamond is {printable(name, longest=_LONGEST)}: within_r "
            f"{numbers.estimate(judge.judge.within_r)}, recovery {numbers.estimate(judge.judge.recovery, 'share')}."
        )
        if own.expected is not None:
            says += (
                " The dotted line runs from it to the curve at the same within_r, a recovery of "
                f"{numbers.estimate(judge.judge.expected_recovery, 'share')}."
            )
    return needed_quality_figure(data, key, "Quality needed for a wanted recovery", says)


def _place(name: str, own: OwnFigures) -> Own | None:
    """Return where the judge stands, None where a figure of it is undefined."""
    recovery, within_r = own.recovery.estimate, own.within_r.estimate
    if recovery is None or within_r is None:
        return None
    return Own(name, recovery, within_r, own.expected_recovery.estimate)


def _ends(found: EstimateRecord) -> tuple[float | None, float | None, float | None]:
    return found.estimate, found.low, found.high
