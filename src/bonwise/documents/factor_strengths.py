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
    """A model's capability less the mean of the other models, averaged over prompts.

    Parameters
    ----------
    estimate, se, low, high : float
    prompts : int
    """

    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    prompts: Count


class GroupAdvantage(Record):
    """A model's advantage on a group of prompts.

    Parameters
    ----------
    column : str
        The tag, or the column of the category.
    level : str
        The category; blank for a tag.
    prompts : int
    estimate, se : float
        Mean advantage on the group.
    low, high : float
        Ends of its pointwise interval.
    difference : float
        By how much that is more than the mean of all prompts of which it is known whether they are in the group.
    band_low, band_high : float
        Ends of the simultaneous interval of the difference: those of all groups hold together.
    verdict : {"strength", "weakness", "open"}
        By the simultaneous interval.
    """

    column: str
    level: str
    prompts: Count
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    difference: Number
    band_low: Number
    band_high: Number
    verdict: _Verdict


class PromptAdvantage(Record):
    """A model's advantage on a prompt.

    Parameters
    ----------
    prompt_id : str
    category : str
        Blank for none.
    estimate, se : float
    low, high : float
        Ends of the pointwise interval.
    difference : float
        By how much that is more than the mean of all prompts.
    band_low, band_high : float
        Ends of the simultaneous interval of the difference: those of all prompts hold together.
    verdict : {"strength", "weakness", "open"}
        By the simultaneous interval.
    """

    prompt_id: str
    category: str
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    difference: Number
    band_low: Number
    band_high: Number
    verdict: _Verdict


class FactorStrengthsDocument(Document):
    """The groups of prompts, and the prompts, on which a model's advantage is largest and smallest.

    Parameters
    ----------
    model : str
    models : int
        All models, this one too.
    advantage : AdvantageRecord
        On all prompts.
    groups : list of GroupAdvantage
        Largest difference first; empty where nothing groups the prompts.
    prompts : list of PromptAdvantage
        Largest difference first.
    confidence : float
    notes : list of str
    human, source, version : str
    """

    schema_: Literal["bonwise.factor_strengths/1"] = Field(default="bonwise.factor_strengths/1", alias="schema")
    model: str
    models: Annotated[int, Field(ge=2)]
    advantage: AdvantageRecord
    groups: list[GroupAdvantage]
    prompts: Annotated[list[PromptAdvantage], Field(min_length=1)]
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
