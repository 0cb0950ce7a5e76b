"""Commands to type, printed so that a shell takes them as they stand."""

from __future__ import annotations

from rich.text import Text

__all__ = ["command"]


def command(text: str, *, style: str = "") -> Text:
    """Return a command on one line of its own, however long: a broken line cannot be copied."""
    return Text(text, style=style, no_wrap=True)
