"""What each kind of judge prompt is given, and what its answer must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["MODES", "Field", "Mode"]

FieldType = Literal["string", "integer", "number", "boolean"]


@dataclass(frozen=True, slots=True)
class Field:
    """What a mode demands of one property of the answer."""

    types: tuple[FieldType, ...]
    """JSON types, any of which will do."""
    values: tuple[str | int, ...] = ()
    """The values that the property must list as its ``enum``; empty where it need not list any."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One kind of judge prompt.

    Attributes
    ----------
    variables : tuple of str
        The variables of a template, each of which it must use.

    Examples
    --------
    >>> MODES["pairwise"].variables
    ('prompt', 'candidate_a', 'candidate_b')
    """

    candidates: Literal[1, 2]
    """How many candidates one call shows."""
    fields: Mapping[str, Field] = field(default_factory=dict)
    """Properties that the answer must have; a prompt file may add others. Empty: the answer is plain text."""
    variables: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        shown = ("candidate",) if self.candidates == 1 else ("candidate_a", "candidate_b")
        object.__setattr__(self, "variables", ("prompt", *shown))


_SCORE = Field(("integer", "number"))

MODES: Mapping[str, Mode] = {
    "pointwise": Mode(1, {"score": _SCORE}),
    "pairwise": Mode(
        2, {"choice": Field(("string",), ("A", "B", "TIE")), "confidence": Field(("integer",), (1, 2, 3, 4, 5))}
    ),
    "probability": Mode(2, {"probability": Field(("number",))}),
    "interval": Mode(1, {"score": _SCORE, "low": _SCORE, "high": _SCORE}),
    "logprob": Mode(1),
    "logprob-pairwise": Mode(2),
}
