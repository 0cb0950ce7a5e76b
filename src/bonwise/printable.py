"""Text from files and models, made safe for a terminal or a file, and short in a message of one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path, PurePath

_LONGEST_WHOLE = 1024
"""Bits of a whole number that is written out: any float has no more."""

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Halves of surrogate pairs, and the control characters but for tabs and line ends."""


def printable(value: object, *, longest: int | None = None) -> str:
    r"""Return text without control characters, shortened where it is longer than `longest`."""
    text = str(value)
    if longest is not None and len(text) > longest:
        text = text[: longest - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def all_printable(values: Iterable[object], *, longest: int | None = None) -> list[str]:
    r"""Return texts as `printable` returns each."""
    return [printable(value, longest=longest) for value in values]


def file_name(source: str | Path, *, longest: int | None = None) -> str:
    """Return a file's name without its folders, for a title: what a reader passes on says nothing of the writer's."""
    return printable(PurePath(source).name or source, longest=longest)


def writable(text: str) -> str:
    r"""Escape what no text file holds or no terminal shows: surrogates, controls other than tabs and line ends."""
    return _UNWRITABLE.sub(lambda char: char[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def shell_word(text: str) -> str:
    """Quote one word for a shell."""
    if text.isprintable():
        return shlex.quote(text)
    # The shell's own way of writing what cannot be printed.
    return "$'" + "".join(_escape(c) for c in text) + "'"


def shell_flag(flag: str, value: str) -> str:
    """Write a flag with its value, joined to it where the value would be read as a flag of its own."""
    is_flag = value.startswith("-") and not value[1:2].isdigit()
    return f"{flag}{'=' if is_flag else ' '}{shell_word(value)}"


def shell_path(path: str | Path) -> str:
    """Quote a path; one that looks like a flag is made to look like a path."""
    return shell_word(f"./{path}" if str(path).startswith("-") else str(path))


def _escape(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


_LONGEST = 40
_MOST = 12


def quoted(value: object) -> str:
    """Quote a cell, a name or an identifier."""
    if hasattr(value, "tolist"):
        value = value.tolist()  # a number or an array of numpy's, quoted as the number or the list it is
    if isinstance(value, int) and value.bit_length() > _LONGEST_WHOLE:
        return "a whole number that is too large"  # Python refuses to write more than 4,300 digits
    # A text is cut before it is quoted: a cell may hold megabytes.
    text = printable(repr(value[: _LONGEST + 1] if isinstance(value, str) else value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def listed(names: Iterable[object]) -> str:
    """List names without quotes, the first dozen of them."""
    texts = [printable(str(name)[:60]) for name in names]
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more
