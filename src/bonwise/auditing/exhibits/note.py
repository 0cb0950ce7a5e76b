"""A study that could not be made: its place on a page says why."""

from __future__ import annotations

from dataclasses import dataclass

from bonwise.documented import DocumentedResult
from bonwise.documents.note import NoteDocument

__all__ = ["Note"]


@dataclass(frozen=True)
class Note(DocumentedResult):
    """Stands in for a study."""

    title: str
    """What was to be studied."""
    reason: str
    """Why it was not."""

    def document(self) -> NoteDocument:
        """Return the document of schema ``bonwise.note/1``."""
        return NoteDocument(title=self.title, sentences=[f"Not studied: {self.reason}."])
