"""Candidates as callers hold them: texts, mappings with id and text, chat messages, or any object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bonwise.data.pool import Candidate, first_repeat, identifier
from bonwise.errors import UsageError

__all__ = ["as_candidates"]


def as_candidates(candidates: Sequence[Any], text: Callable[[Any], str] | None) -> tuple[Candidate, ...]:
    """Give each candidate an id and the text the judge sees.

    Parameters
    ----------
    candidates : sequence
        Strings, mappings with ``text`` and perhaps ``id``, `Candidate` objects, chat messages (mappings or objects
        with ``content``: a text, or parts of which those with a ``text`` count), or with `text` anything.
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
    repeated = first_repeat(found)
    if repeated is not None:
        raise UsageError(f"two candidates have the id {found[repeated[0]].id[:60]!r}", hint="give each its own id")
    return found


def _candidate(one: Any, position: int, text: Callable[[Any], str] | None) -> Candidate:
    name: str | None = f"c{position}"
    if isinstance(one, Candidate):
        name = one.id
    elif isinstance(one, Mapping) and ("text" in one or text is not None) and one.get("id") is not None:
        name = identifier(one["id"])
    if name is None:
        raise UsageError(f"candidate {position} has an id that is none", hint="give a text or a number, or no id")
    words = _words(one) if text is None else text(one)
    if not isinstance(words, str):
        raise UsageError(
            f"candidate {position} has no text: {type(one).__name__}",
            hint="pass strings, mappings with a text, or text=function",
        )
    return Candidate(name, words)


def _words(one: Any) -> Any:
    """Return the text of a candidate; something else where it has none."""
    if isinstance(one, str):
        return one
    if isinstance(one, Candidate):
        return one.text
    words = _part(one, "text")
    return words if words is not None else _content(_part(one, "content"))


def _content(content: Any) -> Any:
    """Return the words of a chat message: its parts' texts, one a line."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content
    found = [_part(part, "text") for part in content]
    texts = [words for words in found if isinstance(words, str)]
    return "\n".join(texts) if texts else None


def _part(one: Any, name: str) -> Any:
    return one.get(name) if isinstance(one, Mapping) else getattr(one, name, None)
