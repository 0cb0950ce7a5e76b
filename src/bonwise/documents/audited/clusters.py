"""The clusters that prompts come in, as the document of an audit tells of them."""

from __future__ import annotations

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["PromptClusters"]


class PromptClusters(Record):
    """How many clusters the prompts come in; each is one unit of every interval.

    Parameters
    ----------
    clusters : int
    largest : int
        Prompts of the largest cluster.
    notes : list of str
        What few or uneven clusters leave uncertain.
    """

    clusters: Count
    largest: Count
    notes: list[str]
