"""Where a model is strong and weak: ``bonwise.factor_strengths/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number

__all__ = ["MODEL", "AdvantageRecord", "FactorStrengthsDocument", "GroupAdvantage", "PromptAdvantage"]

_Verdict = Literal["strength", "weakness", "open"]


class AdvantageRecord(Record):
    """A model's capability less the mean of the other models, averaged over prompts."""

    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    prompts: Count


class GroupAdvantage(Record):
    """A model's advantage on a group of prompts."""

    column: str
    """The tag, or the column of the category."""
    level: str
    """The category; blank for a tag."""
    prompts: Count
    estimate: Number
    """Mean advantage on the group."""
    se: NonNegative
    """Mean advantage on the group."""
    low: Number
    """Ends of its pointwise interval."""
    high: Number
    """Ends of its pointwise interval."""
    difference: Number
    """By how much that is more than the mean of all prompts of which it is known whether they are in the group."""
    band_low: Number
    """Ends of the simultaneous interval of the difference: those of all groups hold together."""
    band_high: Number
    """Ends of the simultaneous interval of the difference: those of all groups hold together."""
    verdict: _Verdict
    """By the simultaneous interval."""


class PromptAdvantage(Record):
    """A model's advantage on a prompt."""

    prompt_id: str
    category: str
    """Blank for none."""
    estimate: Number
    se: NonNegative
    low: Number
    """Ends of the pointwise interval."""
    high: Number
    """Ends of the pointwise interval."""
    difference: Number
    """By how much that is more than the mean of all prompts."""
    band_low: Number
    """Ends of the simultaneous interval of the difference: those of all prompts hold together."""
    band_high: Number
    """Ends of the simultaneous interval of the difference: those of all prompts hold together."""
    verdict: _Verdict
    """By the simultaneous interval."""


class FactorStrengthsDocument(Document):
    """The groups of prompts, and the prompts, on which a model's advantage is largest and smallest."""

    schema_: Literal["bonwise.factor_strengths/1"] = Field(default="bonwise.factor_strengths/1", alias="schema")
    model: str
    models: Annotated[int, Field(ge=2)]
    """All models, this one too."""
    advantage: AdvantageRecord
    """On all prompts."""
    groups: list[GroupAdvantage]
    """Largest difference first; empty where nothing groups the prompts."""
    prompts: Annotated[list[PromptAdvantage], Field(min_length=1)]
    """Largest difference first."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = (
        *("prompt_id", "category", "estimate", "se", "low", "high"),
        *("difference", "band_low", "band_high", "verdict"),
    )

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per prompt."""
        for one in self.prompts:
            yield one.to_dict()


MODEL = FactorStrengthsDocument
