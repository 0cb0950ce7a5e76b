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
    """What was read.

    Parameters
    ----------
    prompts, models, ratings, human_ratings, judges : int
    dropped : dict of str to int
        Rows left out, by reason.
    held_out : list of int
        Human ratings that are predicted, per split.
    """

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    judges: Count
    dropped: dict[str, Count]
    held_out: list[Count]


class FactorStudySettings(Record):
    """What was asked for.

    Parameters
    ----------
    human : str
        The human rater.
    budgets : list of float
        Shares of the human ratings that are fitted.
    rater_shares : list of float
        Shares of the judges.
    rater_budget : float
        The budget at which shares of judges are compared.
    splits : int
    rank : int or None
        None where cross-validation chose it.
    prior : float or None
        Precision of the prior of the factors; None where cross-validation chose it.
    restarts : int
    confidence : float
    seed : int
    backend : str
        What computed stage 1.
    source, version : str
    """

    human: str
    budgets: Annotated[list[Share], Field(min_length=1)]
    rater_shares: list[Share]
    rater_budget: Share
    splits: Annotated[int, Field(ge=1)]
    rank: Count | None
    prior: Positive | None
    restarts: Count
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    source: str
    version: str


class StudiedBaseline(Record):
    """A baseline on the same held-out ratings.

    Parameters
    ----------
    cross_entropy : EstimateRecord
        Mean per held-out rating, in nats; clustered by prompt.
    between_splits : float or None
        Standard deviation of the means of the splits; None for one split.
    difference : EstimateRecord
        What it loses more than the factor model, per rating; clustered by prompt.
    """

    cross_entropy: EstimateRecord
    between_splits: NonNegative | None
    difference: EstimateRecord


class StudiedShareRecord(Record):
    """The factor model and its baselines, fitted to a share of the human ratings or of the judges.

    Parameters
    ----------
    share : float
    judges : int
        That were fitted.
    fitted : float
        Human ratings that were fitted, on average over the splits.
    cross_entropy : EstimateRecord
        Mean of the factor model per held-out rating, in nats; clustered by prompt.
    between_splits : float or None
        Standard deviation of the means of the splits; None for one split.
    more_than_largest : EstimateRecord
        What the factor model loses more than at the largest share, per rating.
    baselines : dict of str to StudiedBaseline
    splits : list of float
        Mean of the factor model per split.
    ranks : list of int
        Rank of the factor model per split.
    """

    share: Share
    judges: Count
    fitted: NonNegative
    cross_entropy: EstimateRecord
    between_splits: NonNegative | None
    more_than_largest: EstimateRecord
    baselines: dict[str, StudiedBaseline]
    splits: list[NonNegative]
    ranks: list[Count]


class FactorStudyDocument(Document):
    """How well human ratings are predicted from fewer of them, and from fewer judges.

    Parameters
    ----------
    data : StudiedData
    settings : FactorStudySettings
    by_labels : list of StudiedShareRecord
        All judges, by share of the human ratings.
    by_judges : list of StudiedShareRecord
        One budget of human ratings, by share of the judges; empty where none was asked for.
    notes : list of str
        What a reader should know.
    """

    schema_: Literal["bonwise.factor_study/1"] = Field(default="bonwise.factor_study/1", alias="schema")
    data: StudiedData
    settings: FactorStudySettings
    by_labels: Annotated[list[StudiedShareRecord], Field(min_length=1)]
    by_judges: list[StudiedShareRecord]
    notes: list[str]

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
