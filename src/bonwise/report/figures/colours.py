"""The colours of drawings by what is drawn: those of the light style sheet, or stand-ins that a page replaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

__all__ = ["COLOURS", "LIGHT", "SIZE", "STAND_INS", "TEXT", "with_stand_ins"]

SIZE = (3.9, 2.75)
"""Inches; no drawing is wider."""

TEXT = 9.8
"""Points of the smallest letters: 12 pixels where a drawing of `SIZE` is as wide as a phone of 390 pixels."""

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "ink": "#1b1e23",
        "muted": "#59606a",
        "grid": "#dedfdb",
        "judge": "#1f5fbf",
        "oracle": "#8f3f00",
        "random": "#5c636e",
        "other": "#520a6e",
        "strong": "#0e8454",
        "gate": "#1b1e23",
        "good": "#17703a",
        "bad": "#b3261e",
        "band": "#d8e4f6",
    }
)
"""What ``page/templates/light.css`` says, by what is drawn: the judge, the oracle or what is best, a random pick, the
stronger judge, a gate, and whatever else is compared. Readers who see few colours tell these apart too."""

STAND_INS: Mapping[str, str] = MappingProxyType(
    {name: f"#{at:02x}{at:02x}{at:02x}" for at, name in enumerate(LIGHT, 1)}
)
"""In the page each becomes the variable ``--NAME`` of its style sheet."""

_CHOSEN: ContextVar[Mapping[str, str]] = ContextVar("colours of drawings", default=LIGHT)


class _Colours(Mapping[str, str]):
    """The colours in which this thread draws at the moment."""

    def __getitem__(self, name: str) -> str:
        return _CHOSEN.get()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(LIGHT)

    def __len__(self) -> int:
        return len(LIGHT)


COLOURS: Mapping[str, str] = _Colours()
"""What painters take their colours from: `LIGHT`, and `STAND_INS` while a page is drawn."""


@contextmanager
def with_stand_ins() -> Iterator[None]:
    """Let painters of this thread draw in stand-ins.

    Examples
    --------
    >>> with with_stand_ins():
    ...     COLOURS["judge"]
    '#040404'
    >>> COLOURS["judge"]
    '#1f5fbf'
    """
    chosen = _CHOSEN.set(STAND_INS)
    try:
        yield
    finally:
        _CHOSEN.reset(chosen)
