"""What a human would say of each model on average: ``bonwise.factor_prediction/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number

__all__ = ["MODEL", "FactorPredictionDocument", "PredictedModel"]


class PredictedModel(Record):
    """The average that a human would give a model.

    Parameters
    ----------
    model : str
    estimate, se, low, high : float
        Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model.
    human_ratings : int
        0 for a model of which only judges have rated answers.
    """

    model: str
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    human_ratings: Count


class FactorPredictionDocument(Document):
    """Predicted average ratings, or win rates, of all models.

    Parameters
    ----------
    quantity : {"mean_rating", "net_win_rate"}
    prompts : int
        Prompts behind each average.
    models : list of PredictedModel
        Best first.
    confidence : float
    notes : list of str
    human, source, version : str
    """

    schema_: Literal["bonwise.factor_prediction/1"] = Field(default="bonwise.factor_prediction/1", alias="schema")
    quantity: Literal["mean_rating", "net_win_rate"]
    prompts: Count
    models: Annotated[list[PredictedModel], Field(min_length=1)]
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("model", "estimate", "se", "low", "high", "human_ratings")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per model."""
        for one in self.models:
            yield one.to_dict()


MODEL = FactorPredictionDocument
