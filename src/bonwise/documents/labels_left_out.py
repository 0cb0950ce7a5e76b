"""Labels that were there and not used, as several documents count them."""

from __future__ import annotations

from collections.abc import Mapping

from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["LabelsLeftOut", "labels_left_out"]


class LabelsLeftOut(Record):
    """Labels of prompts that are not in the file."""

    prompts: Count
    """How many prompts, and rows of the file of labels."""
    rows: Count
    """How many prompts, and rows of the file of labels."""


def labels_left_out(counts: Mapping[str, int]) -> LabelsLeftOut | None:
    """Return the counts of a table, None where every label was used."""
    return LabelsLeftOut(prompts=counts["prompts"], rows=counts["rows"]) if counts else None
