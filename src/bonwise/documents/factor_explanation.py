"""Gaps between two models explained by tags of the prompts: ``bonwise.factor_explanation/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Number, Share

__all__ = ["MODEL", "FactorExplanationDocument", "GapCoefficient"]


class GapCoefficient(Record):
    """What a property of a prompt adds to the gap between two models."""

    column: str
    """Of the table of prompts; blank for the constant."""
    level: str
    """Of a category; blank otherwise."""
    kind: Literal["constant", "tag", "category", "number", "length"]
    unit: str
    """What the coefficient is per."""
    prompts: Count
    """With the tag or in the category; all prompts of a number."""
    estimate: Number
    se: NonNegative
    low: Number
    """Ends of the pointwise interval."""
    high: Number
    """Ends of the pointwise interval."""
    band_low: Number
    """Ends of the simultaneous interval: those of all coefficients hold together."""
    band_high: Number
    """Ends of the simultaneous interval: those of all coefficients hold together."""


class FactorExplanationDocument(Document):
    """Gaps between two models, regressed on properties of the prompts by least squares."""

    schema_: Literal["bonwise.factor_explanation/1"] = Field(default="bonwise.factor_explanation/1", alias="schema")
    model: str
    other: str
    prompts: Count
    """Prompts that count."""
    left_out: dict[str, Count]
    """Prompts that do not count, by reason."""
    constant: GapCoefficient
    coefficients: Annotated[list[GapCoefficient], Field(min_length=1)]
    """In the order of the columns."""
    explained: Share
    """Adjusted share of the variance of the gaps between prompts."""
    explained_low: Share
    explained_high: Share
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = (
        *("column", "level", "kind", "unit", "prompts", "estimate"),
        *("se", "low", "high", "band_low", "band_high"),
    )

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per coefficient, the constant first."""
        for one in (self.constant, *self.coefficients):
            yield one.to_dict()


MODEL = FactorExplanationDocument
