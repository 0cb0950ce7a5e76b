"""Every schema of bonwise by the word that names it, and its JSON Schema."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from bonwise.documents.document import Document
from bonwise.errors import UsageError
from bonwise.printable import printable

__all__ = ["WORDS", "document_class", "json_schema", "word_of"]

WORDS: tuple[str, ...] = (
    "audit",
    "compare",
    "confidence",
    "convert",
    "doctor",
    "draw_model",
    "error",
    "exhibits",
    "factor",
    "factor_comparison",
    "factor_draws",
    "factor_explanation",
    "factor_leaderboard",
    "factor_prediction",
    "factor_strengths",
    "factor_study",
    "label_designs",
    "label_sheet",
    "labels",
    "learn",
    "ledger",
    "monitor",
    "note",
    "plan",
    "preferences",
    "route",
    "router",
    "selections",
    "stack",
    "study",
    "votes",
    "watch",
)
"""The word between ``bonwise.`` and ``/1``; each is the name of a module here, which holds the model as ``MODEL``."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCHEMA = re.compile(r"bonwise\.([a-z_]+)/1")


def word_of(schema: str) -> str | None:
    """Return the word of a schema that this version knows, None for another one.

    Examples
    --------
    >>> word_of("bonwise.confidence/1"), word_of("confidence")
    ('confidence', None)
    """
    found = _SCHEMA.fullmatch(schema)
    return found[1] if found is not None and found[1] in WORDS else None


def document_class(word: str) -> type[Document]:
    """Return the model of a schema; of a schema with several classes their base, whose `class_for` tells them apart.

    Raises
    ------
    bonwise.errors.UsageError
        No schema has this word.

    Examples
    --------
    >>> document_class("confidence").schema_name()
    'bonwise.confidence/1'
    """
    if word not in WORDS:
        raise UsageError(f"there is no schema {printable(word, longest=60)!r}", hint=f"one of {', '.join(WORDS)}")
    model: type[Document] = import_module(f"bonwise.documents.{word}").MODEL
    return model


def json_schema(word: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document.

    Examples
    --------
    >>> json_schema("confidence")["properties"]["schema"]["const"]
    'bonwise.confidence/1'
    """
    return {"$schema": _DIALECT, **document_class(word).json_schema()}
