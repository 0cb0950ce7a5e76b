"""Why a command ended without a result."""

from __future__ import annotations

from bonwise.documents.error import ErrorDocument
from bonwise.report.blocks import Part, Said

__all__ = ["describe"]


def describe(document: ErrorDocument) -> Part:
    """Describe an error: what is wrong, and what to do about it."""
    hint = [Said("note", document.hint)] if document.hint else []
    return Part("There is no result", [Said("bad", document.error), *hint])
