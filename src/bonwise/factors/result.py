"""The documents of a factor model: the fit with what its page draws, and the study of label budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.factors.result_models import CohesionRecord
from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Number, Positive, Record, Share

__all__ = [
    "BaselineRecord",
    "CategoryCohesion",
    "FactorData",
    "FactorDocument",
    "FactorSettings",
    "FactorStudyDocument",
    "FactorStudySettings",
    "HoldoutRecord",
    "JudgeInformation",
    "MapAxis",
    "ModelCandidateRecord",
    "ModelCapability",
    "PromptMap",
    "PromptPlace",
    "RaterRecord",
    "StudiedBaseline",
    "StudiedData",
    "StudiedShareRecord",
]


class CategoryCohesion(Record):
    """How far one skill drives the prompts of a category."""

    category: str
    prompts: Count
    cohesion: CohesionRecord
    random: Share
    """Mean cohesion of the random sets of as many prompts."""


class JudgeInformation(Record):
    """What a judge adds to what is known of a prompt."""

    rater: str
    growth: EstimateRecord
    """By which share the variance of the human's gaps between models on a prompt would grow without the judge's
    ratings: 0.1 is 10 % more. As the fitted model sees it; clustered by prompt.
    """


class MapAxis(Record):
    """An axis of the map of prompts."""

    share: Share
    """Of the variance of the models' capabilities between prompts."""
    high: str
    """Models that gain most, and lose most, towards the high end."""
    low: str
    """Models that gain most, and lose most, towards the high end."""


class PromptPlace(Record):
    """A prompt on the map."""

    prompt_id: str
    category: str
    """Blank for none."""
    x: Number
    y: Number


class PromptMap(Record):
    """Prompts by what they ask of the models: near each other where the same models are better."""

    x: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    y: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    prompts: list[PromptPlace]


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
