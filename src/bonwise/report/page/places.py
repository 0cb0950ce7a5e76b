"""What a reader may want to go to on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Entry", "Place", "places"]

_IN_FULL, _SHOWN = 3, 12
"""Parts listed with their sections, and parts listed at all: a list must stay shorter than what it leads to."""

_FEWEST = 3
"""Places worth listing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A heading.

    Parameters
    ----------
    anchor, title : str
    inside : sequence of Place
    """

    anchor: str
    title: str
    inside: Sequence[Place] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the contents.

    Parameters
    ----------
    anchor : str
        Empty for a heading of those inside.
    title : str
    inside : sequence of Place
    folded : bool
        Whether those inside are shown on demand alone.
    """

    anchor: str
    title: str
    inside: Sequence[Place] = ()
    folded: bool = False


def places(headings: Sequence[Place]) -> list[Entry]:
    """Return the contents; many parts that hold sections are folded, and too few headings are not listed.

    Examples
    --------
    >>> [entry.title for entry in places([Place(one, one) for one in ("a", "b", "c")])]
    ['a', 'b', 'c']
    >>> places([Place("a", "a")])
    []
    """
    found = list(_entries(headings))
    return found if len(found) >= _FEWEST else []


def _entries(headings: Sequence[Place]) -> Iterator[Entry]:
    parts = [one for one in headings if one.inside]
    for one in headings:
        if not one.inside:
            yield Entry(one.anchor, one.title)
        elif len(parts) <= _SHOWN:
            yield Entry(one.anchor, one.title, one.inside if len(parts) <= _IN_FULL else ())
        elif one is parts[0]:
            inside = [Place(part.anchor, part.title) for part in parts]
            yield Entry("", f"{len(parts):,} judges", inside, folded=True)
