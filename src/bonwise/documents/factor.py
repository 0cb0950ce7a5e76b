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
    """A rater and its categories.

    Parameters
    ----------
    rater : str
    ratings : int
    side_by_side : bool
        Whether it compares two models.
    categories : list of str
        Lowest first.
    rule : str
        What its ratings are: ``numbers``, ``words``, ``verdicts``, or numbers in ``bins``.
    distinct : int
        Distinct numbers before they were binned; otherwise the number of categories.
    """

    rater: str
    ratings: Count
    side_by_side: bool
    categories: list[str]
    rule: Literal["numbers", "words", "verdicts", "bins"]
    distinct: Count


class FactorData(Record):
    """What was read.

    Parameters
    ----------
    prompts, models, ratings, human_ratings : int
    repeats : int
        Ratings that repeat an earlier one without a replicate of their own; each counts as a replicate.
    dropped : dict of str to int
        Rows left out, by reason.
    """

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    repeats: Count
    dropped: dict[str, Count]


class FactorSettings(Record):
    """What was asked for.

    Parameters
    ----------
    human : str
        The human rater.
    rank : int or None
        None where cross-validation chose it.
    prior : float or None
        Precision of the prior of the factors; None where cross-validation chose it.
    normalize : bool
        Whether columns were normalised as in the paper, without a prior.
    restarts : int
    holdout : float or None
        Share of the human ratings that was held out.
    interval : str or None
        How intervals treat the error of stage 1.
    confidence : float
    seed : int
    backend : str
        What computed stage 1.
    source, version : str
    """

    human: str
    rank: Count | None
    prior: NonNegative | None
    normalize: bool
    restarts: Count
    holdout: Share | None
    interval: StageOneErrorName | None
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    source: str
    version: str


class ModelCandidateRecord(Record):
    """A rank, a prior and columns that were compared.

    Parameters
    ----------
    rank : int
    prior : float
    columns : list of str
        ``skills``, ``models``, ``verdicts``.
    ridge : float
        The best for these columns.
    cross_entropy : float
        Per human rating, cross-validated, in nats.
    se : float
    stage_one_loss : float
        It falls with the rank, and chooses nothing.
    """

    rank: Count
    prior: NonNegative
    columns: list[str]
    ridge: NonNegative
    cross_entropy: NonNegative
    se: NonNegative
    stage_one_loss: Number


class HoldoutRecord(Record):
    """How well held-out human ratings were predicted.

    Parameters
    ----------
    cross_entropy : float
        Per rating, in nats.
    se : float or None
        Clustered by prompt.
    n : int
        Ratings held out.
    prompts : int
        Prompts they are on.
    fitted : int
        Human ratings that were fitted.
    """

    cross_entropy: NonNegative
    se: NonNegative | None
    n: Count
    prompts: Count
    fitted: Count


class BaselineRecord(Record):
    """A baseline on the same held-out ratings.

    Parameters
    ----------
    cross_entropy : float
    difference : EstimateRecord
        What it loses more than the factor model, per rating; clustered by prompt.
    """

    cross_entropy: NonNegative
    difference: EstimateRecord


class ModelCapability(Record):
    """A model's mean capability over prompts, less that of all models.

    Parameters
    ----------
    model : str
    capability : EstimateRecord
    human_ratings : int
        Ratings that a human gave it, those held out not counted.
    """

    model: str
    capability: EstimateRecord
    human_ratings: Count


class FactorDocument(Document):
    """A factor model of judges' ratings, aligned with few human ratings.

    Parameters
    ----------
    data : FactorData
    settings : FactorSettings
    raters : list of RaterRecord
        The human first.
    rank : int
    prior : float
    columns : list of str
        What human ratings are regressed on.
    ridge : float
    candidates : list of ModelCandidateRecord
    holdout : HoldoutRecord or None
    baselines : dict of str to BaselineRecord
        Empty where nothing was held out.
    leaderboard : list of ModelCapability
        Best first; empty where no interval was asked for.
    cohesion : list of CategoryCohesion, optional
        Of every category of prompts, the most cohesive first; where there is an interval.
    information : list of JudgeInformation, optional
        What each judge adds, the most first; where there are an interval, a prior and two judges at least.
    prompt_map : PromptMap, optional
        Where there are an interval and two skills at least.
    notes : list of str
        What a reader should know.
    """

    schema_: Literal["bonwise.factor/1"] = Field(default="bonwise.factor/1", alias="schema")
    data: FactorData
    settings: FactorSettings
    raters: Annotated[list[RaterRecord], Field(min_length=1)]
    rank: Annotated[int, Field(ge=1)]
    prior: NonNegative
    columns: list[str]
    ridge: Positive
    candidates: list[ModelCandidateRecord]
    holdout: HoldoutRecord | None
    baselines: dict[str, BaselineRecord]
    leaderboard: list[ModelCapability]
    cohesion: list[CategoryCohesion] | None = None
    information: list[JudgeInformation] | None = None
    prompt_map: PromptMap | None = None
    notes: list[str]

    frame_columns = ("model", "estimate", "low", "high", "se", "n", "human_ratings")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per model."""
        for one in self.leaderboard:
            found = one.capability
            ends = {"estimate": found.estimate, "low": found.low, "high": found.high, "se": found.se, "n": found.n}
            yield {"model": one.model, **ends, "human_ratings": one.human_ratings}


MODEL = FactorDocument
