"""What a reader sees who points at a value of a drawing: places with words, collected while a page is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["ValuePlace", "collected_places", "tell", "tell_bar"]

_MOST = 400
"""Places of one drawing: more would be as large as the drawing."""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """A place on a drawing that says its value."""

    x: float
    """Of the axes' data."""
    y: float
    """Of the axes' data."""
    text: str
    to: tuple[float, float] | None = None
    """The opposite corner of a bar."""


_PLACES: ContextVar[list[ValuePlace] | None] = ContextVar("places of a drawing", default=None)


@contextmanager
def collected_places() -> Iterator[Sequence[ValuePlace]]:
    """Collect the places of the drawing that this thread paints; without this, painters tell them to no one."""
    found: list[ValuePlace] = []
    chosen = _PLACES.set(found)
    try:
        yield found
    finally:
        _PLACES.reset(chosen)


def tell(x: float | None, y: float | None, text: str) -> None:
    """Let a point say what it is; a point without a figure says nothing.

    Examples
    --------
    >>> with collected_places() as places:
    ...     tell(0.5, 0.9, "power 90 %")
    >>> places[0].text
    'power 90 %'
    """
    _add(None if x is None or y is None else ValuePlace(float(x), float(y), text))


def tell_bar(corner: tuple[float, float], opposite: tuple[float, float], text: str) -> None:
    """Let a bar say what it is."""
    _add(ValuePlace(float(corner[0]), float(corner[1]), text, (float(opposite[0]), float(opposite[1]))))


def _add(place: ValuePlace | None) -> None:
    found = _PLACES.get()
    if place is not None and found is not None and len(found) < _MOST:
        found.append(place)
