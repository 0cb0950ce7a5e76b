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
    """The average that a human would give a model."""

    model: str
    estimate: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    se: NonNegative
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    low: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    high: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    human_ratings: Count
    """0 for a model of which only judges have rated answers."""


class FactorPredictionDocument(Document):
    """Predicted average ratings, or win rates, of all models."""

    schema_: Literal["bonwise.factor_prediction/1"] = Field(default="bonwise.factor_prediction/1", alias="schema")
    quantity: Literal["mean_rating", "net_win_rate"]
    prompts: Count
    """Prompts behind each average."""
    models: Annotated[list[PredictedModel], Field(min_length=1)]
    """Best first."""
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
