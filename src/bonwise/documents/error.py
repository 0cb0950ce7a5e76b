"""Why a command ended without a result: ``bonwise.error/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bonwise.documents.document import Document

__all__ = ["MODEL", "ErrorDocument"]


class ErrorDocument(Document):
    """Why a command ended without a result."""

    schema_: Literal["bonwise.error/1"] = Field(default="bonwise.error/1", alias="schema")
    error: str
    """What is wrong, and where."""
    hint: str
    """What to do about it; empty where nothing is known."""


MODEL = ErrorDocument
