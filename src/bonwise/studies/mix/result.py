"""What easy candidates do to the figures of a judge: the study ``mix``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.results import Count, FrameRow, Record, Share
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudySettings


class CurveAt(Record):
    """A point of the curve."""

    share: Share
    """Share of the prompts whose pool shows its control; 1 on the second leg."""
    towards: Share
    """On the second leg: how far the whole pools have given way to easy pairs alone; 0 on the first."""
    easy_pairs: Share
    """Share of the pairs that compare a control with another candidate."""
    metrics: dict[str, EstimateRecord]


class MixCounts(JudgeCounts):
    """Counts, and the prompts that are mixed."""

    mixed_prompts: Count
    prompts_with_control: Count
    """Both: prompts of the curve, and those of them that hold a control."""
    left_out: Count
    """Prompts where the control lacks a score or a label."""
    only_with_control: Count
    """Prompts that leave no choice without it."""


class MixJudge(StudyJudge):
    """What the controls do to the figures of one judge."""

    data: MixCounts
    points: Annotated[list[CurveAt], Field(min_length=2)]
    """From the pools without the controls to the easy pairs alone."""
    change: dict[str, EstimateRecord]
    """Each metric with the controls in every pool less without, paired by prompt."""
    sentences: list[str]

    @model_validator(mode="after")
    def _has_both_ends(self) -> Self:
        first, whole = self.points[0], self.whole
        lacking = [key for key in self.change if key not in first.metrics or key not in whole.metrics]
        if lacking:
            raise ValueError(f"the points have no {lacking[0]}, whose change is told")
        return self

    @property
    def whole(self) -> CurveAt:
        """The point at which every pool shows its control."""
        found = next((point for point in self.points if point.share == 1 and not point.towards), None)
        if found is None:
            raise ValueError("points has none at which every pool shows its control: share 1, towards 0")
        return found

    @property
    def first_leg(self) -> list[CurveAt]:
        """The points up to `whole`."""
        return [point for point in self.points if not point.towards]


class MixSettings(StudySettings):
    """What was asked for; the controls are among the settings of every study."""

    control: Annotated[list[str], Field(min_length=1)]


class MixStudy(StudyDocument):
    """How figures rise as easy candidates enter the pools."""

    study: Literal["mix"] = "mix"
    settings: MixSettings
    judges: dict[str, MixJudge]

    about = (
        "Find how easy candidates raise every figure.\n\n"
        "The choice among the other candidates stays the same."
        "\n\n"
        "The curve is calculated, not drawn: from the pools without the control to its pairs alone."
    )
    place = 4

    def __repr__(self) -> str:
        return f"<MixStudy of {', '.join(self.judges)} on {self.settings.source}>"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, point of the curve and metric."""
        for name, judge in self.judges.items():
            for point in judge.points:
                at = {"share": point.share, "towards": point.towards, "easy_pairs": point.easy_pairs}
                for metric, found in point.metrics.items():
                    yield {"judge": name, **at, "metric": metric, **found.to_dict()}


MODEL = MixStudy
