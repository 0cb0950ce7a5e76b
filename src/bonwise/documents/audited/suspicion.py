"""What keeps a verdict from being settled, as the document of an audit says it."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Share

__all__ = ["AuditSuspicion", "SuspicionKind"]

SuspicionKind = Literal["easy candidate", "few pools", "missing labels"]


class AuditSuspicion(Record):
    """Why no verdict is ``useful`` and no gate is met, whatever the figures are."""

    kind: SuspicionKind
    """What was found."""
    sentence: str
    """In words, with the flags that settle it."""
    candidate: str | None = None
    """The easy candidate."""
    lowest: Share | None = None
    """Share of prompts in which no other candidate has a lower label, or a lower score where no prompt is labelled
    completely.
    """
    metric: str | None = None
    """The metric that the verdict rests on, with and without the candidate."""
    with_candidate: EstimateRecord | None = None
    """Its estimate with the easy candidate."""
    without_candidate: EstimateRecord | None = None
    """Its estimate without, as ``--control`` gives it."""
