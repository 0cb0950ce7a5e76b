"""Two judges of an audit on the same prompts, as its document holds it."""

from __future__ import annotations

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["JudgesCompared"]


class JudgesCompared(Record):
    """Metric differences, first judge minus second, paired by prompt."""

    first: str
    """The judges."""
    second: str
    """The judges."""
    prompts: Count
    """Prompts that both judges scored completely and that are labelled."""
    differences: dict[str, EstimateRecord]
    """By metric; empty without a common prompt."""
