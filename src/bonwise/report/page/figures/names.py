"""Names from files as labels of a drawing: one line, one length, whatever they hold."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells

from bonwise.printable import printable

__all__ = ["short"]

_LONGEST = 28


def short(name: object) -> str:
    r"""Return a name for a drawing: what cannot be printed written out, then cut to 28 letters' room.

    Wide letters take the room of two. `printable` alone cuts first, and what is then written out may be long.

    Examples
    --------
    >>> short("a\u202eb"), short("x" * 40)
    ('a\\u202eb', 'xxxxxxxxxxxxxxxxxxxxxxxxx...')
    """
    text = printable(printable(name), longest=_LONGEST)
    return text if cell_len(text) <= _LONGEST else chop_cells(text, _LONGEST - 3)[0] + "..."
