"""Labels that were there and in no figure, because their prompts are labelled in part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["UnusedLabels", "unused_labels"]


class UnusedLabels(Record):
    """Labels of prompts that are labelled in part."""

    labels: Count
    """Those labels, and all labels."""
    of: Count
    """Those labels, and all labels."""
    prompts: Count
    """The prompts labelled in part."""
    sentence: str
    """How many are not used, and what would use them."""


def unused_labels(told: Mapping[str, Any]) -> UnusedLabels | None:
    """Return the record of what was counted, None where every label was used."""
    return UnusedLabels(**told) if told else None
