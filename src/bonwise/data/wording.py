"""Words from files in one-line messages: printable, and short however long they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["listed", "quoted"]

_LONGEST = 40
_MOST = 12


def quoted(value: object) -> str:
    """Quote a cell, a name or an identifier."""
    if hasattr(value, "item"):
        value = value.item()  # a number of numpy's, quoted as the number it is
    # A text is cut before it is quoted: a cell may hold megabytes.
    text = printable(repr(value[: _LONGEST + 1] if isinstance(value, str) else value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def listed(names: Iterable[object]) -> str:
    """List names without quotes, the first dozen of them."""
    texts = [printable(str(name)[:60]) for name in names]
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more
