"""Held-out cross-entropy by the share of human ratings and of judges: ``bonwise.factor_study/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Positive, Share

__all__ = [
    "MODEL",
    "FactorStudyDocument",
    "FactorStudySettings",
    "StudiedBaseline",
    "StudiedData",
    "StudiedShareRecord",
]


class StudiedData(Record):
    """What was read."""

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    judges: Count
    dropped: dict[str, Count]
    """Rows left out, by reason."""
    held_out: list[Count]
    """Human ratings that are predicted, per split."""


class FactorStudySettings(Record):
    """What was asked for."""

    human: str
    """The human rater."""
    budgets: Annotated[list[Share], Field(min_length=1)]
    """Shares of the human ratings that are fitted."""
    rater_shares: list[Share]
    """Shares of the judges."""
    rater_budget: Share
    """The budget at which shares of judges are compared."""
    splits: Annotated[int, Field(ge=1)]
    rank: Count | None
    """None where cross-validation chose it."""
    prior: Positive | None
    """Precision of the prior of the factors; None where cross-validation chose it."""
    restarts: Count
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    """What computed stage 1."""
    source: str
    version: str


class StudiedBaseline(Record):
    """A baseline on the same held-out ratings."""

    cross_entropy: EstimateRecord
    """Mean per held-out rating, in nats; clustered by prompt."""
    between_splits: NonNegative | None
    """Standard deviation of the means of the splits; None for one split."""
    difference: EstimateRecord
    """What it loses more than the factor model, per rating; clustered by prompt."""


class StudiedShareRecord(Record):
    """The factor model and its baselines, fitted to a share of the human ratings or of the judges."""

    share: Share
    judges: Count
    """That were fitted."""
    fitted: NonNegative
    """Human ratings that were fitted, on average over the splits."""
    cross_entropy: EstimateRecord
    """Mean of the factor model per held-out rating, in nats; clustered by prompt."""
    between_splits: NonNegative | None
    """Standard deviation of the means of the splits; None for one split."""
    more_than_largest: EstimateRecord
    """What the factor model loses more than at the largest share, per rating."""
    baselines: dict[str, StudiedBaseline]
    splits: list[NonNegative]
    """Mean of the factor model per split."""
    ranks: list[Count]
    """Rank of the factor model per split."""


class FactorStudyDocument(Document):
    """How well human ratings are predicted from fewer of them, and from fewer judges."""

    schema_: Literal["bonwise.factor_study/1"] = Field(default="bonwise.factor_study/1", alias="schema")
    data: StudiedData
    settings: FactorStudySettings
    by_labels: Annotated[list[StudiedShareRecord], Field(min_length=1)]
    """All judges, by share of the human ratings."""
    by_judges: list[StudiedShareRecord]
    """One budget of human ratings, by share of the judges; empty where none was asked for."""
    notes: list[str]
    """What a reader should know."""

    frame_columns = ("part", "share", "fitted", "judges", "method", "estimate", "low", "high", "se", "n")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per share and method."""
        for part, steps in (("labels", self.by_labels), ("judges", self.by_judges)):
            for one in steps:
                found = {"factor_model": one.cross_entropy}
                found |= {name: baseline.cross_entropy for name, baseline in one.baselines.items()}
                for name, loss in found.items():
                    yield {
                        "part": part,
                        "share": one.share,
                        "fitted": one.fitted,
                        "judges": one.judges,
                        "method": name,
                        **{key: getattr(loss, key) for key in ("estimate", "low", "high", "se", "n")},
                    }


MODEL = FactorStudyDocument
