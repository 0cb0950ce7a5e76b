"""Candidates as callers hold them: texts, mappings with id and text, or any object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bonwise.data.pool import Candidate
from bonwise.errors import UsageError

__all__ = ["as_candidates"]


def as_candidates(candidates: Sequence[Any], text: Callable[[Any], str] | None) -> tuple[Candidate, ...]:
    """Give each candidate an id and the text the judge sees.

    Parameters
    ----------
    candidates : sequence
        Strings, mappings with ``text`` and perhaps ``id``, `Candidate` objects, or with `text` anything.
    text : callable, optional
        Candidate to its text.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one without a text, or two with the same id.
    """
    if isinstance(candidates, str | bytes | Mapping) or not isinstance(candidates, Sequence):
        raise UsageError("candidates must be a sequence of answers", hint='such as ["answer a", "answer b"]')
    if not candidates:
        raise UsageError("no candidates to choose from", hint="pass at least one")
    found = tuple(_candidate(one, position, text) for position, one in enumerate(candidates))
    ids = [candidate.id for candidate in found]
    for position, name in enumerate(ids):
        if name in ids[:position]:
            raise UsageError(f"two candidates have the id {name[:60]!r}", hint="give each its own id")
    return found


def _candidate(one: Any, position: int, text: Callable[[Any], str] | None) -> Candidate:
    if isinstance(one, Candidate):
        return one
    name = f"c{position}"
    if isinstance(one, Mapping):
        name = name if one.get("id") is None else str(one["id"])
    words = text(one) if text is not None else one.get("text") if isinstance(one, Mapping) else one
    if not isinstance(words, str):
        raise UsageError(
            f"candidate {position} has no text: {type(one).__name__}",
            hint="pass strings, mappings with a text, or text=function",
        )
    return Candidate(name, words)
