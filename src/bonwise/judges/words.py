"""Which texts have words: the others are not judged."""

from __future__ import annotations

from collections.abc import Sequence

from bonwise.data.verdicts import Unscored

__all__ = ["EMPTY", "candidates_with_words", "has_words"]

EMPTY = Unscored("empty answer")


def has_words(text: str) -> bool:
    r"""Tell whether a text has any visible character.

    Examples
    --------
    >>> has_words("a"), has_words(" \u200b")
    (True, False)
    """
    return any(character.isprintable() and character != " " for character in text)


def candidates_with_words(candidates: Sequence[str]) -> list[int]:
    """Return the positions of the candidates that can be judged at all.

    Examples
    --------
    >>> candidates_with_words(["a", " ", "b"])
    [0, 2]
    """
    return [position for position, text in enumerate(candidates) if has_words(text)]
