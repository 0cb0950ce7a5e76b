"""Words from files in one-line messages: printable, and short however long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["listed", "plain", "shown"]

_LONGEST = 40
_MOST = 12


def plain(value: object) -> str:
    r"""Write line breaks, terminal escapes and the like as escapes, so that they stay on their line.

    Examples
    --------
    >>> plain("a\nb\x1b[31m.csv")
    'a\\nb\\x1b[31m.csv'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(value: object) -> str:
    """Quote a cell, a name or an identifier."""
    # A text is cut before it is quoted: a cell may hold megabytes.
    text = plain(repr(value[: _LONGEST + 1] if isinstance(value, str) else value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def listed(names: Iterable[object]) -> str:
    """List names without quotes, the first dozen of them."""
    texts = [plain(str(name)[:60]) for name in names]
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more
