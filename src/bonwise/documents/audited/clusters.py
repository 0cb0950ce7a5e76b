"""The clusters that prompts come in, as the document of an audit tells of them."""

from __future__ import annotations

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["PromptClusters"]


class PromptClusters(Record):
    """How many clusters the prompts come in; each is one unit of every interval."""

    clusters: Count
    largest: Count
    """Prompts of the largest cluster."""
    notes: list[str]
    """What few or uneven clusters leave uncertain."""
