"""Two models compared on every prompt: ``bonwise.factor_comparison/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number, Share

__all__ = ["MODEL", "FactorComparisonDocument", "GapRecord", "PromptDifference"]


class PromptDifference(Record):
    """By how much the model is better than the other on a prompt."""

    prompt_id: str
    category: str
    """Blank for none."""
    estimate: Number
    se: NonNegative
    low: Number
    """Ends of the pointwise interval."""
    high: Number
    """Ends of the pointwise interval."""
    band_low: Number
    """Ends of the simultaneous interval: those of all prompts hold together."""
    band_high: Number
    """Ends of the simultaneous interval: those of all prompts hold together."""
    verdict: Literal["better", "worse", "open"]
    """By the simultaneous interval."""


class GapRecord(Record):
    """The mean difference on the prompts of a category, or on all."""

    category: str
    """Blank for all prompts."""
    prompts: Count
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    explained: Share | None = None
    """Of all prompts: the share of the variance between prompts that categories explain, by least squares."""


class FactorComparisonDocument(Document):
    """A model beside another on every prompt, as the human rater would say."""

    schema_: Literal["bonwise.factor_comparison/1"] = Field(default="bonwise.factor_comparison/1", alias="schema")
    model: str
    other: str
    prompts: Annotated[list[PromptDifference], Field(min_length=1)]
    """Largest difference first."""
    gaps: Annotated[list[GapRecord], Field(min_length=1)]
    """All prompts first, then categories."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("prompt_id", "category", "estimate", "se", "low", "high", "band_low", "band_high", "verdict")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per prompt."""
        for one in self.prompts:
            yield one.to_dict()


MODEL = FactorComparisonDocument
