"""The study of requirements: the curve with the judge on it, what targets take, and what others would recover."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.studies.requirements import OwnFigures, RequirementsDocument, RequirementsJudge
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.described.studied.described_study import DescribedStudy
from bonwise.report.described.studied.many_requirements import many_requirements
from bonwise.report.figures.needed_quality import Needed, NeededQuality, Own, Quality, needed_quality_figure
from bonwise.report.numbers import counted, estimate, interval, percent, setting
from bonwise.report.wording import named

__all__ = ["described"]

_YARDSTICK = (
    "The curve is that of a judge whose score is the label plus normal noise, alike for all candidates and not "
    "rounded, on these labels with their spread and ties. A judge with errors of another kind lies above or below it."
)
_HEADING = "What a wanted recovery takes"
_LONGEST = 60


def described(document: RequirementsDocument) -> DescribedStudy:
    """Describe what a wanted recovery takes: one part per judge."""
    settings = document.settings
    judges = {
        name: Part(_title(name, judge), list(_judge(name, judge, settings.reference, f"requirements-{at}")))
        for at, (name, judge) in enumerate(document.judges.items(), start=1)
    }
    return DescribedStudy(
        title=f"{_HEADING} on the labels of {printable(settings.source)}",
        heading=_HEADING,
        anchor="requirements",
        judges=judges,
        notes=[Said("note", f"in brackets {percent(settings.confidence)} intervals, clustered by prompt")],
        instead=many_requirements(document),
    )


def _title(name: str, judge: RequirementsJudge) -> str:
    data = judge.data
    return (
        f"{printable(name, longest=_LONGEST)}: {counted(data.prompts, 'prompt')}, {counted(data.rows, 'candidate')}"
    )


def _judge(name: str, judge: RequirementsJudge, reference: str | None, key: str) -> Iterator[Block]:
    for sentence in judge.sentences:
        yield Said("finding", named(sentence, reference))
    if not judge.curve:
        return
    yield from _figure(name, judge, key)
    yield _targets(judge)
    if judge.inverse:
        yield _inverse(judge)
    yield Part("", [Said("note", named(_YARDSTICK, reference))], "detail")


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
            percent(one.target),
            estimate(one.within_r),
            interval(one.within_r),
            estimate(one.effective_agreement, "share"),
            interval(one.effective_agreement, "share"),
        )
        for one in judge.targets
    ]
    return Table.of(columns, rows, "Needed for a wanted recovery")


def _inverse(judge: RequirementsJudge) -> Table:
    columns = (Column("within_r", "name"), Column("recovers"), Column("interval"))
    rows = [
        (setting(one.within_r), estimate(one.recovery, "share"), interval(one.recovery, "share"))
        for one in judge.inverse
    ]
    return Table.of(columns, rows, "Recovered by a judge of plain noise")


def _figure(name: str, judge: RequirementsJudge, key: str) -> list[Drawing[NeededQuality]]:
    own = _place(name, judge.judge)
    data = NeededQuality(
        [Quality(one.recovery, one.within_r, one.effective_agreement) for one in judge.curve],
        [Needed(one.target, _ends(one.within_r), _ends(one.effective_agreement)) for one in judge.targets],
        own,
    )
    says = "Within_r and effective agreement of a judge of plain noise, by what it recovers; bars are intervals."
    if own is not None:
        says += (
            f" The diamond is {printable(name, longest=_LONGEST)}: within_r {estimate(judge.judge.within_r)}, "
            f"recovery {estimate(judge.judge.recovery, 'share')}."
        )
        if own.expected is not None:
            says += (
                " The dotted line runs from it to the curve at the same within_r, a recovery of "
                f"{estimate(judge.judge.expected_recovery, 'share')}."
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
