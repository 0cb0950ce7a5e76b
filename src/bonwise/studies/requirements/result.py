"""What judge a wanted recovery takes on the labels at hand: the study ``requirements``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted
from bonwise.results import Count, FrameRow, NonNegative, Number, Record, Share
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudySettings

TARGETS = (0.25, 0.5, 0.75, 0.9)
"""Recoveries of Landesberg (2026), Table 25."""

Correlation = Annotated[int, Field(ge=-1, le=1)] | Annotated[float, Field(ge=-1, le=1)]


class CurvePoint(Record):
    """A judge of plain noise on the labels at hand."""

    noise: NonNegative
    """Standard deviation of its errors, in the unit of the labels."""
    recovery: Number
    within_r: Correlation
    effective_agreement: Share


class Target(Record):
    """What a judge of plain noise must have to recover a wanted share of the possible gain."""

    target: Share
    within_r: EstimateRecord
    effective_agreement: EstimateRecord


class Inverse(Record):
    """What a judge of plain noise with a given within_r recovers."""

    within_r: Correlation
    recovery: EstimateRecord


class OwnFigures(Record):
    """A judge beside one of plain noise with the same within_r."""

    within_r: EstimateRecord
    effective_agreement: EstimateRecord
    recovery: EstimateRecord
    """All three: of the judge."""
    expected_recovery: EstimateRecord
    """Of the judge of plain noise."""
    difference: EstimateRecord
    """Recovery of the judge less that."""
    gaussian_gap: EstimateRecord | None = None
    """Recovery less within_r: 0 where scores and labels are normal (Landesberg 2026, appendix N)."""


class RequirementCounts(JudgeCounts):
    """Counts, and which of the prompts the figures are computed from."""

    studied_prompts: Count
    """Drawn where there are too many."""
    too_large_prompts: Count
    """Set aside, with more candidates than can be computed with."""


class RequirementsJudge(StudyJudge):
    """What was found of one judge."""

    data: RequirementCounts
    curve: list[CurvePoint]
    """Empty where the labels leave nothing to recover."""
    targets: list[Target]
    inverse: list[Inverse]
    """Of each within_r that was asked for."""
    judge: OwnFigures
    sentences: list[str]


class RequirementsSettings(StudySettings):
    """What was asked for."""

    targets: list[Share]
    within_r: list[Correlation]
    most_cells: Count
    most_pairs: Count
    """Both: candidates, and pairs of them, from which on prompts are drawn."""


class RequirementsStudy(StudyDocument):
    """What judge quality a wanted recovery takes."""

    study: Literal["requirements"] = "requirements"
    settings: RequirementsSettings
    judges: dict[str, RequirementsJudge]

    about = (
        "Find the judge quality that a wanted recovery needs.\n\n"
        "Quality is within_r and effective agreement, on your labels. The study also says what a judge with a given "
        "within_r recovers, and how each judge of the table differs from that."
    )
    place = 1

    def __repr__(self) -> str:
        judges, targets = counted(len(self.judges), "judge"), counted(len(self.settings.targets), "target")
        return f"<RequirementsStudy of {judges}, {targets}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per estimate: ``judge``, ``part``, ``at``, ``metric`` and the estimate's fields.

        ``part`` is ``targets``, ``inverse`` or ``judge``; ``at`` the target or the within_r asked for.
        """
        for name, judge in self.judges.items():
            for need in judge.targets:
                figures = {"within_r": need.within_r, "effective_agreement": need.effective_agreement}
                yield from _rows(name, "targets", need.target, figures)
            for one in judge.inverse:
                yield from _rows(name, "inverse", one.within_r, {"recovery": one.recovery})
            own = dict(judge.judge.given_values())
            yield from _rows(name, "judge", None, own)


def _rows(judge: str, part: str, at: float | None, figures: dict[str, EstimateRecord]) -> Iterator[FrameRow]:
    for metric, found in figures.items():
        yield {"judge": judge, "part": part, "at": at, "metric": metric, **found.to_dict()}


MODEL = RequirementsStudy
