"""What is to be said of the clusters that a judge's prompts come in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bonwise.data.panel import Panel
from bonwise.documents.audited.clusters import PromptClusters
from bonwise.stats.clusters import FEWEST, cluster_codes

__all__ = ["prompt_clusters"]

_FEW = 20
_VERY_FEW = 10
_LARGE = 1 / 3


def prompt_clusters(panel: Panel) -> PromptClusters | None:
    """Return the clusters of a panel with what they leave uncertain; None without a column of clusters."""
    if panel.clusters is None:
        return None
    codes, count = cluster_codes(panel.clusters)
    largest = int(np.bincount(codes).max())
    return PromptClusters(clusters=count, largest=largest, notes=list(_notes(count, largest, len(codes))))


def _notes(count: int, largest: int, prompts: int) -> Iterator[str]:
    if count < FEWEST:
        yield f"Too few clusters: an interval needs {FEWEST}, and there are {count}; no gate can be met."
    elif count < _VERY_FEW:
        yield (
            f"Few clusters ({count}): intervals of within_r and of the values hold the truth in about 90% of tables "
            "instead of 95%."
        )
    elif count < _FEW:
        yield f"Few clusters ({count}): intervals rest on how {count} units differ."
    if largest > _LARGE * prompts:
        yield f"One cluster holds {largest:,} of {prompts:,} prompts: what it says weighs that much in every figure."
