"""A factor model of ratings, fitted: ``bonwise.factor/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.factor_pictures import CategoryCohesion, JudgeInformation, PromptMap
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number, Positive, Share

__all__ = [
    "MODEL",
    "BaselineRecord",
    "FactorData",
    "FactorDocument",
    "FactorSettings",
    "HoldoutRecord",
    "ModelCandidateRecord",
    "ModelCapability",
    "RaterRecord",
]

StageOneErrorName = Literal["laplace_gibbs", "propagated", "fixed"]


class RaterRecord(Record):
    """A rater and its categories."""

    rater: str
    ratings: Count
    side_by_side: bool
    """Whether it compares two models."""
    categories: list[str]
    """Lowest first."""
    rule: Literal["numbers", "words", "verdicts", "bins"]
    """What its ratings are: ``numbers``, ``words``, ``verdicts``, or numbers in ``bins``."""
    distinct: Count
    """Distinct numbers before they were binned; otherwise the number of categories."""


class FactorData(Record):
    """What was read."""

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    repeats: Count
    """Ratings that repeat an earlier one without a replicate of their own; each counts as a replicate."""
    dropped: dict[str, Count]
    """Rows left out, by reason."""


class FactorSettings(Record):
    """What was asked for."""

    human: str
    """The human rater."""
    rank: Count | None
    """None where cross-validation chose it."""
    prior: NonNegative | None
    """Precision of the prior of the factors; None where cross-validation chose it."""
    normalize: bool
    """Whether columns were normalised as in the paper, without a prior."""
    restarts: Count
    holdout: Share | None
    """Share of the human ratings that was held out."""
    interval: StageOneErrorName | None
    """How intervals treat the error of stage 1."""
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    """What computed stage 1."""
    source: str
    version: str


class ModelCandidateRecord(Record):
    """A rank, a prior and columns that were compared."""

    rank: Count
    prior: NonNegative
    columns: list[str]
    """``skills``, ``models``, ``verdicts``."""
    ridge: NonNegative
    """The best for these columns."""
    cross_entropy: NonNegative
    """Per human rating, cross-validated, in nats."""
    se: NonNegative
    stage_one_loss: Number
    """It falls with the rank, and chooses nothing."""


class HoldoutRecord(Record):
    """How well held-out human ratings were predicted."""

    cross_entropy: NonNegative
    """Per rating, in nats."""
    se: NonNegative | None
    """Clustered by prompt."""
    n: Count
    """Ratings held out."""
    prompts: Count
    """Prompts they are on."""
    fitted: Count
    """Human ratings that were fitted."""


class BaselineRecord(Record):
    """A baseline on the same held-out ratings."""

    cross_entropy: NonNegative
    difference: EstimateRecord
    """What it loses more than the factor model, per rating; clustered by prompt."""


class ModelCapability(Record):
    """A model's mean capability over prompts, less that of all models."""

    model: str
    capability: EstimateRecord
    human_ratings: Count
    """Ratings that a human gave it, those held out not counted."""


class FactorDocument(Document):
    """A factor model of judges' ratings, aligned with few human ratings."""

    schema_: Literal["bonwise.factor/1"] = Field(default="bonwise.factor/1", alias="schema")
    data: FactorData
    settings: FactorSettings
    raters: Annotated[list[RaterRecord], Field(min_length=1)]
    """The human first."""
    rank: Annotated[int, Field(ge=1)]
    prior: NonNegative
    columns: list[str]
    """What human ratings are regressed on."""
    ridge: Positive
    candidates: list[ModelCandidateRecord]
    holdout: HoldoutRecord | None
    baselines: dict[str, BaselineRecord]
    """Empty where nothing was held out."""
    leaderboard: list[ModelCapability]
    """Best first; empty where no interval was asked for."""
    cohesion: list[CategoryCohesion] | None = None
    """Of every category of prompts, the most cohesive first; where there is an interval."""
    information: list[JudgeInformation] | None = None
    """What each judge adds, the most first; where there are an interval, a prior and two judges at least."""
    prompt_map: PromptMap | None = None
    """Where there are an interval and two skills at least."""
    notes: list[str]
    """What a reader should know."""

    frame_columns = ("model", "estimate", "low", "high", "se", "n", "human_ratings")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per model."""
        for one in self.leaderboard:
            found = one.capability
            ends = {"estimate": found.estimate, "low": found.low, "high": found.high, "se": found.se, "n": found.n}
            yield {"model": one.model, **ends, "human_ratings": one.human_ratings}


MODEL = FactorDocument
