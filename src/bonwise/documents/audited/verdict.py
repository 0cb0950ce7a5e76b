"""What the figures of an audit mean, as its document holds it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["Check", "CheckState", "Level", "Target", "Verdict"]

Target = Literal["best-of-n", "system"]
"""The decision that a verdict is about."""

Level = Literal["useful", "weak", "harmful", "random", "inconclusive"]

Check = Literal["correlation", "level", "directional", "decision"]

CheckState = Literal["pass", "fail", "inconclusive", "undefined"]


class Verdict(Record):
    """What the figures mean for the decision at hand.

    Parameters
    ----------
    target : {"best-of-n", "system"}
        The decision.
    level : str
        ``useful``, ``weak``, ``harmful``, ``random`` or ``inconclusive``, for the target.
    checks : dict of str to str
        ``correlation``, ``level``, ``directional``, ``decision`` to ``pass``, ``fail``, ``inconclusive`` or
        ``undefined``.
    sentences : list of str
        The verdict in words; the first names the target.
    deciding : int
        Which of the sentences, counted from 0, holds the figures that the level rests on; never the first, which
        names the target.
    """

    target: Target
    level: Level
    checks: dict[Check, CheckState]
    sentences: Annotated[list[str], Field(min_length=2)]
    deciding: Count

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not 1 <= self.deciding < len(self.sentences):
            raise ValueError(f"deciding must be one of 1 to {len(self.sentences) - 1}, the sentences but the first")
        return self
