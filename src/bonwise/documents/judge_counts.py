"""The prompts behind a judge's figures in a study."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.unused_labels import UnusedLabels
from bonwise.documents.values import Count

__all__ = ["JudgeCounts", "StudyCounts"]


class StudyCounts(Record):
    """Counts behind the figures of a judge: plain ones, and mappings of reasons to counts."""

    def plain(self) -> dict[str, int]:
        """Return the counts by key."""
        return {key: value for key, value in self.given_values().items() if isinstance(value, int)}

    def lost(self) -> dict[str, dict[str, int]]:
        """Return, by key, how often something was left out for which reason."""
        return {key: dict(value) for key, value in self.given_values().items() if isinstance(value, dict) and value}


class JudgeCounts(StudyCounts):
    """Counts behind the figures of a judge; a study may add its own."""

    prompts: Count
    """Those that the judge scored completely and that are labelled."""
    rows: Count
    """Those that the judge scored completely and that are labelled."""
    unlabelled_prompts: Count
    """Scored completely, and without all labels."""
    dropped: dict[str, Count]
    """Prompts by the reason for which they are in no figure."""
    method: Literal["complete", "labelled_only"]
    """``labelled_only`` where figures describe the labelled prompts alone."""
    unused_labels: UnusedLabels | None = None
    """Labels of prompts that are labelled in part: in no figure."""
