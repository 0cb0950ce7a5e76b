"""What a fitted factor model leaves for leaderboards, comparisons and predictions: ``bonwise.factor_draws/1``."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from bonwise.results import Confidence, Count, Document, Number, Record

__all__ = ["DrawnArray", "FactorDrawsDocument"]


class DrawnArray(Record):
    """Numbers of several dimensions."""

    shape: Annotated[list[Annotated[int, Field(ge=1, le=10_000_000)]], Field(min_length=1, max_length=3)]
    float32: str
    """The numbers in order, little-endian, in base64."""

    @model_validator(mode="after")
    def _numbers_fill_the_shape(self) -> DrawnArray:
        try:
            found = base64.b64decode(self.float32, validate=True)
        except (ValueError, binascii.Error):
            raise ValueError("should hold base64 in float32") from None
        size = 1
        for one in self.shape:
            size *= one
        if len(found) != 4 * size:
            raise ValueError(f"should hold {size} numbers in float32, as its shape says")
        if not np.isfinite(np.frombuffer(found, dtype="<f4")).all():
            raise ValueError("should hold finite numbers")
        return self

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> DrawnArray:
        """Return the record of an array."""
        return cls(shape=list(values.shape), float32=base64.b64encode(values.astype("<f4").tobytes()).decode("ascii"))

    def values(self) -> npt.NDArray[np.float64]:
        """Return the array."""
        found = np.frombuffer(base64.b64decode(self.float32), dtype="<f4")
        return found.reshape(self.shape).astype(np.float64)


class FactorDrawsDocument(Document):
    """Draws from the posterior of a human's capabilities, with the names of what they are about."""

    schema_: Literal["bonwise.factor_draws/1"] = Field(default="bonwise.factor_draws/1", alias="schema")
    human: str
    side_by_side: bool
    """Whether the human compares two models."""
    categories: Annotated[list[str], Field(min_length=2)]
    """The human's categories, lowest first."""
    points: list[Number]
    """What each counts in an average."""
    prompts: Annotated[list[str], Field(min_length=1)]
    models: Annotated[list[str], Field(min_length=2)]
    prompt_categories: list[str]
    """One per prompt, blank for none."""
    human_ratings: list[Count]
    """How many each model has."""
    of_models: DrawnArray
    """Draws, models, skills: the human's weights times the models' skills."""
    of_prompts: DrawnArray
    """Draws, prompts, skills."""
    cutoffs: DrawnArray
    """Draws, cutoffs of the human."""
    confidence: Confidence
    seed: Count
    source: str
    version: str

    @model_validator(mode="after")
    def _sizes_agree(self) -> FactorDrawsDocument:
        draws, skills = self.of_models.shape[0], self.of_models.shape[-1]
        expected = {
            "of_models": (self.of_models.shape, [draws, len(self.models), skills]),
            "of_prompts": (self.of_prompts.shape, [draws, len(self.prompts), skills]),
            "cutoffs": (self.cutoffs.shape, [draws, len(self.categories) - 1]),
            "points": ([len(self.points)], [len(self.categories)]),
            "prompt_categories": ([len(self.prompt_categories)], [len(self.prompts)]),
            "human_ratings": ([len(self.human_ratings)], [len(self.models)]),
        }
        for name, (found, wanted) in expected.items():
            if found != wanted:
                raise ValueError(f"should have {name} of shape {wanted}, not {found}")
        return self
