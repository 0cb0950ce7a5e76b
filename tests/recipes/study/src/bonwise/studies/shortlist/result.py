"""How often a few of a judge's highest scores hold a best candidate: the study ``shortlist``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.results import FrameRow
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudySettings

__all__ = ["MODEL", "ShortlistJudge", "ShortlistSettings", "ShortlistStudy"]


class ShortlistJudge(StudyJudge):
    """What was found of one judge."""

    data: JudgeCounts
    held: EstimateRecord
    """Share of the prompts where a best candidate is on the shortlist."""
    sentences: list[str]


class ShortlistSettings(StudySettings):
    """What was asked for."""

    keep: Annotated[int, Field(ge=1)]
    """Places on the shortlist."""


class ShortlistStudy(StudyDocument):
    """How often the shortlist of each judge holds a best candidate."""

    study: Literal["shortlist"] = "shortlist"
    settings: ShortlistSettings
    judges: dict[str, ShortlistJudge]

    about = "Study how often the highest scores of a judge hold a best candidate."

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge."""
        for name, judge in self.judges.items():
            yield {"judge": name, **judge.held.to_dict()}


MODEL = ShortlistStudy
