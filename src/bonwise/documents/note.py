"""What is in the place of a study that could not be made: ``bonwise.note/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bonwise.documents.document import Document

__all__ = ["MODEL", "NoteDocument"]


class NoteDocument(Document):
    """Why there is no study."""

    schema_: Literal["bonwise.note/1"] = Field(default="bonwise.note/1", alias="schema")
    title: str
    """What was to be studied."""
    sentences: list[str]
    """Why it was not."""


MODEL = NoteDocument
