"""A study that could not be made: its place on a page says why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bonwise.shown import Shown

__all__ = ["Note"]


@dataclass(frozen=True)
class Note(Shown):
    """Stands in for a study.

    Parameters
    ----------
    title : str
        What was to be studied.
    reason : str
        Why it was not.
    """

    title: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the document of schema ``bonwise.note/1``."""
        return {"schema": "bonwise.note/1", "title": self.title, "sentences": [f"Not studied: {self.reason}."]}
