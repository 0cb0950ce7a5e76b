"""Models ranked on a prompt, on a category, or on all prompts: ``bonwise.factor_leaderboard/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number, Share

__all__ = ["MODEL", "CohesionRecord", "FactorLeaderboardDocument", "LeaderboardRow"]


class LeaderboardRow(Record):
    """A model's capability, less the mean of all models."""

    model: str
    estimate: Number
    se: NonNegative
    low: Number
    """Ends of the pointwise interval."""
    high: Number
    """Ends of the pointwise interval."""
    band_low: Number
    """Ends of the simultaneous interval: those of all models hold together."""
    band_high: Number
    """Ends of the simultaneous interval: those of all models hold together."""
    human_ratings: Count
    """Ratings that a human gave the model."""


class CohesionRecord(Record):
    """How far one skill drives the prompts of a category."""

    share: Share
    """Largest eigenvalue of the sum of ``P_p P_p'`` over all eigenvalues, mean over draws."""
    low: Share
    high: Share
    p: Share
    """Share of random sets of as many prompts that are as cohesive, this one counted."""
    permutations: Count


class FactorLeaderboardDocument(Document):
    """Models ranked by what the human rater would say."""

    schema_: Literal["bonwise.factor_leaderboard/1"] = Field(default="bonwise.factor_leaderboard/1", alias="schema")
    scope: Literal["all", "category", "prompt"]
    name: str | None
    """Of the category or the prompt."""
    prompts: Count
    """Prompts behind the ranking."""
    models: Annotated[list[LeaderboardRow], Field(min_length=2)]
    """Best first."""
    cohesion: CohesionRecord | None = None
    """Of a category."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("model", "estimate", "se", "low", "high", "band_low", "band_high", "human_ratings")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per model."""
        for one in self.models:
            yield one.to_dict()


MODEL = FactorLeaderboardDocument
