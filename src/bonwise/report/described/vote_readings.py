"""How files of votes were read, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.printable import printable
from bonwise.report.blocks import Said

__all__ = ["vote_readings"]

_LONGEST = 400


def vote_readings(readings: Mapping[str, str] | None) -> Iterator[Said]:
    """Yield which columns play which role, then what each column of verdicts was taken for."""
    for column, reading in (readings or {}).items():
        place, _, name = column.rpartition(": ")
        start = f"{printable(place)}: " if place else ""
        said = reading if name == "columns" else f"{printable(name)} read as {printable(reading, longest=_LONGEST)}"
        yield Said("note", f"{start}{printable(said, longest=_LONGEST)}")
