"""The best of several judges, or of two sets of picks, and intervals that hold after it was chosen."""

from __future__ import annotations

from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Ends, Number

__all__ = ["CHOSEN_BY", "ChoiceConfidences", "ChoiceRecord", "DifferenceFromBest"]

CHOSEN_BY = ("recovery", "gain")
"""Metrics by which a judge is chosen, the first one first."""


class DifferenceFromBest(Record):
    """How far another one lies below the best."""

    estimate: Number | None
    """The best less the other one, on the prompts that both share."""
    interval: Ends | None
    """Holds together with the intervals of all other differences."""


class ChoiceConfidences(Record):
    """Confidences at which single intervals are made, so that they hold after a choice or together."""

    after: Confidence
    """Of the lower end after the choice."""
    simultaneous: Confidence
    """Of intervals that hold together."""
    differences: Confidence
    """Of intervals that hold together."""


class ChoiceRecord(Record):
    """The one with the highest estimate of a metric, among those compared."""

    best: list[str]
    """Whose estimate is the highest: several where estimates are equal."""
    estimate: Number
    """Of the best."""
    before: Ends | None
    """Interval that would hold had nothing been chosen; null where there is none."""
    after: Ends | None
    """Interval that holds although the highest estimate was chosen."""
    simultaneous: dict[str, Ends | None]
    """Intervals of all that were compared, which hold together, whatever is chosen among them."""
    differences: dict[str, DifferenceFromBest]
    """The best less each of the others; of several best ones the first."""
    confidences: ChoiceConfidences | None = None
    """Absent where there is a reason."""
    reason: str | None = None
    """Why intervals are missing."""
