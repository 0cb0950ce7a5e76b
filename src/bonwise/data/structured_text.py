"""The text of a cell that was an object or a list, told apart from text that somebody wrote."""

from __future__ import annotations

__all__ = ["StructuredText"]


class StructuredText(str):
    """Text like any other, except where an identifier is wanted.

    Examples
    --------
    >>> StructuredText('{"id": 1}')
    '{"id": 1}'
    """

    __slots__ = ()
