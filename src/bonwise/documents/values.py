"""Types of values that several documents hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, WithJsonSchema

__all__ = ["Confidence", "Count", "Ends", "NonNegative", "NotBlank", "Number", "Positive", "PositiveShare", "Share"]

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A finite number that JSON may hold as an integer: it is written as it was given."""

Count = Annotated[int, Field(ge=0, le=2**53)]
"""How many; every reader of JSON holds so large a whole number exactly."""

NonNegative = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)],
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A finite number that is not negative."""

Positive = Annotated[
    Annotated[int, Field(gt=0)] | Annotated[float, Field(gt=0)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A finite number above 0."""

Share = Annotated[
    Annotated[int, Field(ge=0, le=1)] | Annotated[float, Field(ge=0, le=1)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
"""A part of a whole, in [0, 1]."""

PositiveShare = Annotated[
    Annotated[int, Field(gt=0, le=1)] | Annotated[float, Field(gt=0, le=1)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
]
"""A part of a whole that is not nothing, in (0, 1]."""

Confidence = Annotated[float, Field(ge=0.5, lt=1)]
"""Confidence of two-sided intervals, in [0.5, 1)."""

NotBlank = Annotated[str, Field(pattern=r"\S")]
"""A text that says something."""

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""A lower and an upper end."""
