"""What coarse scores cost on the labels at hand: the study ``discretisation``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.results import Count, FrameRow, NonNegative, Positive, Record, Share
from bonwise.studies.requirements.result import RequirementCounts
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import StudySettings

BINS = (100, 20, 10, 5)
"""Of Landesberg (2026), Table 26."""


class BinnedScores(Record):
    """Simulated scores cut in one way, or the judge itself."""

    scale: Literal["continuous", "range", "clipped", "quantile", "own", "judge"]
    """Uncut; equal bins of the range of the scores, or of the labels; bins of equal counts; the judge's values, each
    as often as it gives it; or the judge itself.
    """
    bins: Count | None
    """Bins, or values of the judge; None of uncut scores."""
    metrics: dict[str, EstimateRecord]
    """Means over the simulated judges."""
    sd: dict[str, NonNegative]
    """By metric: standard deviation over these judges; empty of the judge itself."""
    loss: EstimateRecord | None = None
    """Recovery less that of the uncut scores, paired by prompt."""


class DiscretisationJudge(StudyJudge):
    """What cutting costs on the prompts of one judge."""

    data: RequirementCounts
    rho: Share
    noise: Positive
    """Both: quality of the simulated judge, and the standard deviation of its errors, in the unit of the labels."""
    effective_values: NonNegative | None = None
    two_most_frequent: Share | None = None
    """Both absent where the table has no scores: as many equally frequent values as have the entropy of the judge's
    scores, and the share of these that have one of the two most frequent values.
    """
    rows: Annotated[list[BinnedScores], Field(min_length=2)]
    sentences: list[str]


class DiscretisationSettings(StudySettings):
    """What was asked for."""

    bins: list[Count]
    recovery: Share | None
    """Of the uncut scores; None where rho was given."""
    simulated: Count
    """Judges."""


class DiscretisationStudy(StudyDocument):
    """What coarse scores cost on the labels at hand."""

    study: Literal["discretisation"] = "discretisation"
    settings: DiscretisationSettings
    judges: dict[str, DiscretisationJudge]

    about = (
        "Find what coarse scores cost.\n\n"
        "A simulated judge scores your labels with plain noise. Its scores are cut into bins, and into the values "
        "that your judge uses. Labels without scores are enough."
    )
    place = 5

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, way of cutting and metric, of which ``loss`` is one here."""
        for name, judge in self.judges.items():
            for row in judge.rows:
                losses = {} if row.loss is None else {"loss": row.loss}
                for metric, figure in (row.metrics | losses).items():
                    where = {"judge": name, "scale": row.scale, "bins": row.bins, "metric": metric}
                    yield {**where, **figure.to_dict(), "sd": row.sd.get(metric)}


MODEL = DiscretisationStudy
