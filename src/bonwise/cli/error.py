"""What a command that failed says with ``--json``, and how it is shown."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bonwise.report.blocks import Part, Said
from bonwise.results import Document

__all__ = ["ErrorDocument", "describe"]


class ErrorDocument(Document):
    """Why a command ended without a result."""

    schema_: Literal["bonwise.error/1"] = Field(default="bonwise.error/1", alias="schema")
    error: str
    """What is wrong, and where."""
    hint: str
    """What to do about it; empty where nothing is known."""


def describe(document: ErrorDocument) -> Part:
    """Describe an error: what is wrong, and what to do about it."""
    hint = [Said("note", document.hint)] if document.hint else []
    return Part("There is no result", [Said("bad", document.error), *hint])
