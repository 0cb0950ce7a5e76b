"""``bonwise schema``: the JSON documents, and the JSON Schema of each."""

from __future__ import annotations

from typing import Annotated

import typer

from bonwise.cli.arguments import emit

__all__ = ["schema"]


def schema(
    word: Annotated[
        str | None,
        typer.Argument(help="Such as audit or bonwise.audit/1; without it the words are listed.", show_default=False),
    ] = None,
) -> int:
    """Print the JSON Schema (2020-12) of a document, or list them."""
    import json

    from bonwise.documents.record import prose
    from bonwise.documents.schemas import WORDS, document_class, json_schema, word_of

    if word is not None:
        emit(json.dumps(json_schema(word_of(word) or word), indent=2) + "\n")
        return 0
    width = max(map(len, WORDS))
    for one in WORDS:
        model = document_class(one)
        meaning, _, _ = prose(model.__doc__ or "").partition("\n")
        emit(f"{one.ljust(width)}  {meaning}\n")
    return 0
