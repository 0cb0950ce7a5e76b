"""A prompt that was left out, and why, as several documents list them."""

from __future__ import annotations

from bonwise.documents.record import Record

__all__ = ["DroppedPrompt"]


class DroppedPrompt(Record):
    """A prompt of the table that no figure counts."""

    prompt_id: str
    """The prompt."""
    reason: str
    """Why it was left out."""
