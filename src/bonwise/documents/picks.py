"""A logged pick: what is read of a line of ``bonwise select``, or of anything else that keeps one candidate."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import ConfigDict, Field, field_validator, model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["PickLine", "PickSettings"]

Name = str | int
"""How a file names a candidate; a number is the text that it is written as."""


class PickSettings(Record):
    """What a line says of the policy that picked; lines of one file have the same settings."""

    model_config = ConfigDict(extra="allow")

    strategy: str | None = None
    """They name the picks."""
    judge: str | None = None
    """They name the picks."""


class PickLine(Record):
    """One line of a file of picks. Further keys are not read."""

    model_config = ConfigDict(extra="ignore")

    prompt_id: str | int | float
    """One line per prompt."""
    ids: Annotated[list[Name], Field(min_length=1)]
    """All candidates of the pool."""
    best: Name | None
    """The one that was kept; null where nothing was picked."""
    level: list[Name] | None = None
    """Candidates among which a seed decided."""
    decided_by: str | None = None
    """What decided, in the words of whoever picked."""
    answers: Count | None = None
    """Answers of a model that were used."""
    from_ledger: Count | None = None
    """Those of them that came from a ledger."""
    input_tokens: Count | None = None
    """Tokens of the answers that were sent for."""
    output_tokens: Count | None = None
    """Tokens of the answers that were sent for."""
    reused_tokens: Count | None = None
    """Tokens of the answers that came from a ledger."""
    settings: PickSettings | None = None
    """The policy."""

    @field_validator("ids", "level")
    @classmethod
    def _check_names(cls, names: list[Name] | None) -> list[Name] | None:
        texts = [str(name) for name in names or ()]
        if not all(map(str.strip, texts)):
            raise ValueError("should not hold a blank name")
        if len(set(texts)) < len(texts):
            twice = next(name for name, times in Counter(texts).items() if times > 1)
            raise ValueError(f"names {twice[:40]!r} twice")
        return names

    @model_validator(mode="after")
    def _check_pick(self) -> PickLine:
        ids, level = {str(one) for one in self.ids}, {str(one) for one in self.level or ()}
        if self.best is not None and str(self.best) not in ids:
            raise ValueError(f"has a best, {str(self.best)[:40]!r}, that is none of its ids")
        if not level <= ids:
            raise ValueError("has a level with a name that is none of its ids")
        if level and (self.best is None or str(self.best) not in level):
            raise ValueError("has a level that its best is not one of")
        if self.answers is not None and self.from_ledger is not None and self.from_ledger > self.answers:
            raise ValueError("has more answers from_ledger than answers")
        return self
