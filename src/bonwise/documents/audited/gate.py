"""A metric compared with a value, as the document of an audit says it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, Number

__all__ = ["Gate", "GateState"]

GateState = Literal["met", "not met", "inconclusive"]


class Gate(Record):
    """Outcome of ``METRIC=VALUE``."""

    judge: str
    """Of what."""
    metric: str
    """Of what."""
    value: Number
    """What the metric must exceed."""
    state: GateState
    """Met when the one-sided 95 % lower bound exceeds the value, not met when the upper bound lies below it."""
    low: Number | None
    """The one-sided bounds."""
    high: Number | None
    """The one-sided bounds."""
    more_labels: Count | None
    """About how many more labels of candidates would decide, where that can be said; 0 for a metric without labels.

    """
    more_prompts: Count | None
    """About how many more prompts these would be of."""
    sentence: str
    """What was found, in words."""
