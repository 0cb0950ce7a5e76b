"""A prompt file taken apart: front matter, the system part, the user part, each with its first line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bonwise.errors import RowError

__all__ = ["Section", "Sections", "problem", "taken_apart"]

_FENCE = "+++"
_HEADINGS = ("[system]", "[user]")
_SHAPE = "a prompt file is front matter between two +++ lines, then [system] and [user] on lines of their own"


def problem(source: str, line: int, what: str, hint: str) -> RowError:
    """Return the error for one line of a prompt file."""
    return RowError(f"{source}, line {line}: {what}", hint=hint)


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive lines of a file."""

    text: str
    line: int
    """Number of its first line in the file, counted from 1."""

    def line_at(self, position: int) -> int:
        """Return the number of the line that holds a position of the text."""
        return self.line + self.text.count("\n", 0, position)

    def line_of(self, key: str, table: str = "") -> int:
        """Return the number of the line where TOML sets a key, the first line where it is not found."""
        heading = re.search(rf"^\s*\[{re.escape(table)}\]", self.text, re.MULTILINE) if table else None
        start = heading.start() if heading else 0
        quoted = rf"""["']?{re.escape(key)}["']?"""
        found = re.compile(rf"^\s*(?:\[{quoted}[\].]|{quoted}\s*[.=])", re.MULTILINE).search(self.text, start)
        # White space before the key may begin on an earlier line.
        return self.line_at(found.end() - 1) if found else self.line_of(table) if table else self.line


@dataclass(frozen=True, slots=True)
class Sections:
    """The three parts of a prompt file."""

    front: Section
    system: Section
    user: Section


def taken_apart(text: str, source: str) -> Sections:
    """Split the text of a prompt file.

    Raises
    ------
    bonwise.errors.RowError
        A part that is missing, empty, repeated or out of place.
    """
    lines = text.split("\n")
    close = _front_matter_end(lines, source)
    system, user = _headings(lines, close, source)
    for at in range(close + 1, system):
        if lines[at].strip():
            raise problem(source, at + 1, "text before [system]", _SHAPE)
    return Sections(
        Section("\n".join(lines[1:close]), 2),
        _part(lines, system, user, source),
        _part(lines, user, len(lines), source),
    )


def _front_matter_end(lines: Sequence[str], source: str) -> int:
    if lines[0].rstrip() != _FENCE:
        raise problem(source, 1, "no front matter: the first line is not +++", _SHAPE)
    for at in range(1, len(lines)):
        if lines[at].rstrip() == _FENCE:
            return at
    raise problem(source, 1, "the front matter has no end", "close it with a line +++")


def _headings(lines: Sequence[str], close: int, source: str) -> tuple[int, int]:
    where = {heading: [at for at in range(close + 1, len(lines)) if lines[at] == heading] for heading in _HEADINGS}
    for heading, found in where.items():
        if not found:
            raise problem(source, len(lines), f"no line {heading}", _SHAPE)
        if len(found) > 1:
            raise problem(source, found[1] + 1, f"{heading} stands here again", f"keep one {heading}")
    system, user = (found[0] for found in where.values())
    if user < system:
        raise problem(source, user + 1, "[user] before [system]", "put [system] first")
    return system, user


def _part(lines: Sequence[str], heading: int, end: int, source: str) -> Section:
    """Return the lines after a heading, without blank ones at either end."""
    filled = [at for at in range(heading + 1, end) if lines[at].strip()]
    if not filled:
        raise problem(source, heading + 1, f"nothing under {lines[heading]}", _SHAPE)
    return Section("\n".join(lines[filled[0] : filled[-1] + 1]), filled[0] + 1)
