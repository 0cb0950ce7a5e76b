"""The best of several judges, or of two sets of picks, and intervals that hold after it was chosen."""

from __future__ import annotations

from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Ends, Number

__all__ = ["CHOSEN_BY", "ChoiceConfidences", "ChoiceRecord", "DifferenceFromBest"]

CHOSEN_BY = ("recovery", "gain")
"""Metrics by which a judge is chosen, the first one first."""


class DifferenceFromBest(Record):
    """How far another one lies below the best.

    Parameters
    ----------
    estimate : float or None
        The best less the other one, on the prompts that both share.
    interval : Ends or None
        Holds together with the intervals of all other differences.
    """

    estimate: Number | None
    interval: Ends | None


class ChoiceConfidences(Record):
    """Confidences at which single intervals are made, so that they hold after a choice or together.

    Parameters
    ----------
    after : float
        Of the lower end after the choice.
    simultaneous, differences : float
        Of intervals that hold together.
    """

    after: Confidence
    simultaneous: Confidence
    differences: Confidence


class ChoiceRecord(Record):
    """The one with the highest estimate of a metric, among those compared.

    Parameters
    ----------
    best : list of str
        Whose estimate is the highest: several where estimates are equal.
    estimate : float
        Of the best.
    before : Ends or None
        Interval that would hold had nothing been chosen; null where there is none.
    after : Ends or None
        Interval that holds although the highest estimate was chosen.
    simultaneous : dict of str to Ends or None
        Intervals of all that were compared, which hold together, whatever is chosen among them.
    differences : dict of str to DifferenceFromBest
        The best less each of the others; of several best ones the first.
    confidences : ChoiceConfidences, optional
        Absent where there is a reason.
    reason : str, optional
        Why intervals are missing.
    """

    best: list[str]
    estimate: Number
    before: Ends | None
    after: Ends | None
    simultaneous: dict[str, Ends | None]
    differences: dict[str, DifferenceFromBest]
    confidences: ChoiceConfidences | None = None
    reason: str | None = None
