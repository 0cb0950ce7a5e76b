"""A pick as drift is watched on: what is read of its line beside the pick itself."""

from __future__ import annotations

from pydantic import ConfigDict, model_validator

from bonwise.documents.picks import Name, PickLine
from bonwise.documents.record import Record
from bonwise.documents.values import NonNegative, Number

__all__ = ["ComparedPair", "WatchedLine"]


class ComparedPair(Record):
    """Two candidates that were compared. Further keys are not read.

    Parameters
    ----------
    order_effect : float or None, optional
        How much more the first one earned when shown first.
    """

    model_config = ConfigDict(extra="ignore")

    order_effect: Number | None = None


class WatchedLine(PickLine):
    """One line of a log of picks. Further keys are not read.

    Parameters
    ----------
    scores : list of float or None, optional
        In the order of `ids`, None where a candidate was not scored.
    tied : list of str, optional
        Candidates that share the top score.
    unscored : dict of str to str, optional
        Why candidates were not scored.
    comparisons : list of ComparedPair, optional
    cost : float or None, optional
        US dollars.
    text : str or None, optional
        What was picked.
    """

    scores: list[Number | None] | None = None
    tied: list[Name] | None = None
    unscored: dict[str, str] | None = None
    comparisons: list[ComparedPair] | None = None
    cost: NonNegative | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _check_scores(self) -> WatchedLine:
        if self.scores is not None and len(self.scores) != len(self.ids):
            raise ValueError("should have one score per candidate")
        return self
