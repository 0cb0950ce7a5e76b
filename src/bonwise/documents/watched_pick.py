"""A pick as drift is watched on: what is read of its line beside the pick itself."""

from __future__ import annotations

from pydantic import ConfigDict, model_validator

from bonwise.documents.picks import Name, PickLine
from bonwise.documents.record import Record
from bonwise.documents.values import NonNegative, Number

__all__ = ["ComparedPair", "WatchedLine"]


class ComparedPair(Record):
    """Two candidates that were compared. Further keys are not read."""

    model_config = ConfigDict(extra="ignore")

    order_effect: Number | None = None
    """How much more the first one earned when shown first."""


class WatchedLine(PickLine):
    """One line of a log of picks. Further keys are not read."""

    scores: list[Number | None] | None = None
    """In the order of `ids`, None where a candidate was not scored."""
    tied: list[Name] | None = None
    """Candidates that share the top score."""
    unscored: dict[str, str] | None = None
    """Why candidates were not scored."""
    comparisons: list[ComparedPair] | None = None
    cost: NonNegative | None = None
    """US dollars."""
    text: str | None = None
    """What was picked."""

    @model_validator(mode="after")
    def _check_scores(self) -> WatchedLine:
        if self.scores is not None and len(self.scores) != len(self.ids):
            raise ValueError("should have one score per candidate")
        return self
