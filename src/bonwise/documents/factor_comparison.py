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
    """By how much the model is better than the other on a prompt.

    Parameters
    ----------
    prompt_id : str
    category : str
        Blank for none.
    estimate, se : float
    low, high : float
        Ends of the pointwise interval.
    band_low, band_high : float
        Ends of the simultaneous interval: those of all prompts hold together.
    verdict : {"better", "worse", "open"}
        By the simultaneous interval.
    """

    prompt_id: str
    category: str
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    band_low: Number
    band_high: Number
    verdict: Literal["better", "worse", "open"]


class GapRecord(Record):
    """The mean difference on the prompts of a category, or on all.

    Parameters
    ----------
    category : str
        Blank for all prompts.
    prompts : int
    estimate, se, low, high : float
    explained : float or None
        Of all prompts: the share of the variance between prompts that categories explain, by least squares.
    """

    category: str
    prompts: Count
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    explained: Share | None = None


class FactorComparisonDocument(Document):
    """A model beside another on every prompt, as the human rater would say.

    Parameters
    ----------
    model, other : str
    prompts : list of PromptDifference
        Largest difference first.
    gaps : list of GapRecord
        All prompts first, then categories.
    confidence : float
    notes : list of str
    human, source, version : str
    """

    schema_: Literal["bonwise.factor_comparison/1"] = Field(default="bonwise.factor_comparison/1", alias="schema")
    model: str
    other: str
    prompts: Annotated[list[PromptDifference], Field(min_length=1)]
    gaps: Annotated[list[GapRecord], Field(min_length=1)]
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
