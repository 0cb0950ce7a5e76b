"""Candidates as callers hold them: texts, mappings with id and text, chat messages, documents, or any object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bonwise.data.chat import NO_TEXT, NotAnAnswerError, answer_text
from bonwise.data.pool import Candidate, first_repeat, identifier
from bonwise.errors import UsageError

__all__ = ["as_candidates"]


def as_candidates(candidates: Sequence[Any], text: Callable[[Any], str] | None) -> tuple[Candidate, ...]:
    """Give each candidate an id and the text the judge sees.

    Parameters
    ----------
    candidates : sequence
        Strings, mappings with ``text`` and perhaps ``id``, `Candidate` objects, whatever
        `bonwise.data.chat.answer_text` understands, or with `text` anything. None and a message without text and tool
        calls are unscored: ``no text``.
    text : callable, optional
        Candidate to its text.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one in which no text is looked for, or two with the same id.
    """
    if isinstance(candidates, str | bytes | Mapping) or not isinstance(candidates, Sequence):
        raise UsageError("candidates must be a sequence of answers", hint='such as ["answer a", "answer b"]')
    if not candidates:
        raise UsageError("no candidates to choose from", hint="pass at least one")
    found = tuple(_candidate(one, position, text) for position, one in enumerate(candidates))
    repeated = first_repeat(found)
    if repeated is not None:
        raise UsageError(f"two candidates have the id {found[repeated[0]].id[:60]!r}", hint="give each its own id")
    return found


def _candidate(one: Any, position: int, text: Callable[[Any], str] | None) -> Candidate:
    if isinstance(one, str) and text is None:
        return Candidate(f"c{position}", one)
    if isinstance(one, Candidate):
        return Candidate(one.id, _given(one.text if text is None else text(one), one, position), one.missing)
    name: str | None = f"c{position}"
    if isinstance(one, Mapping) and ("text" in one or text is not None) and one.get("id") is not None:
        name = identifier(one["id"])
    if name is None:
        raise UsageError(f"candidate {position} has an id that is none", hint="give a text or a number, or no id")
    if text is not None:
        return Candidate(name, _given(text(one), one, position))
    try:
        words = answer_text(one)
    except NotAnAnswerError:
        raise _without_text(one, position) from None
    return Candidate(name, "", missing=NO_TEXT) if words is None else Candidate(name, words)


def _given(words: object, one: Any, position: int) -> str:
    """Return what the caller's function made of a candidate, provided that it is text."""
    if not isinstance(words, str):
        raise _without_text(one, position)
    return words


def _without_text(one: Any, position: int) -> UsageError:
    return UsageError(
        f"candidate {position} has no text: {type(one).__name__}",
        hint="pass strings, mappings with a text, chat messages, or text=function",
    )
