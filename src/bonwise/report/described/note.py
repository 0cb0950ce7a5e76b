"""Why a study could not be made."""

from __future__ import annotations

from bonwise.documents.note import NoteDocument
from bonwise.report.blocks import Part, Said

__all__ = ["describe"]


def describe(document: NoteDocument) -> Part:
    """Describe what is in the place of a study."""
    return Part(document.title, [Said("finding", sentence) for sentence in document.sentences])
