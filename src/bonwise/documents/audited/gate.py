"""A metric compared with a value, as the document of an audit says it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, Number

__all__ = ["Gate", "GateState"]

GateState = Literal["met", "not met", "inconclusive"]


class Gate(Record):
    """Outcome of ``METRIC=VALUE``.

    Parameters
    ----------
    judge, metric : str
        Of what.
    value : float
        What the metric must exceed.
    state : {"met", "not met", "inconclusive"}
        Met when the one-sided 95 % lower bound exceeds the value, not met when the upper bound lies below it.
    low, high : float or None
        The one-sided bounds.
    more_labels : int or None
        About how many more labels of candidates would decide, where that can be said; 0 for a metric without labels.
    more_prompts : int or None
        About how many more prompts these would be of.
    sentence : str
        What was found, in words.
    """

    judge: str
    metric: str
    value: Number
    state: GateState
    low: Number | None
    high: Number | None
    more_labels: Count | None
    more_prompts: Count | None
    sentence: str
