"""Text from files, made safe for a terminal: what cannot be printed is written out."""

from __future__ import annotations

__all__ = ["printable"]


def printable(value: object, *, longest: int = 200) -> str:
    r"""Return text without control characters, shortened where it is longer than `longest`.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
