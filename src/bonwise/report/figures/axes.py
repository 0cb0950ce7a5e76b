"""What figures share: colours, legends, values on hover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    """Let painters of this thread draw in stand-ins."""
    chosen = _CHOSEN.set(STAND_INS)
    try:
        yield
    finally:
        _CHOSEN.reset(chosen)


_MOST = 400
"""Places of one drawing: more would be as large as the drawing."""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """A place on a drawing that says its value."""

    x: float
    y: float
    """Both: of the axes' data."""
    text: str
    to: tuple[float, float] | None = None
    """The opposite corner of a bar."""


_PLACES: ContextVar[list[ValuePlace] | None] = ContextVar("places of a drawing", default=None)


@contextmanager
def collected_places() -> Iterator[Sequence[ValuePlace]]:
    """Collect the places of the drawing that this thread paints; without this, painters tell them to no one."""
    places: list[ValuePlace] = []
    chosen = _PLACES.set(places)
    try:
        yield places
    finally:
        _PLACES.reset(chosen)


def tell(x: float | None, y: float | None, text: str) -> None:
    """Let a point say what it is; a point without a figure says nothing."""
    _add(None if x is None or y is None else ValuePlace(float(x), float(y), text))


def tell_bar(corner: tuple[float, float], opposite: tuple[float, float], text: str) -> None:
    """Let a bar say what it is."""
    _add(ValuePlace(float(corner[0]), float(corner[1]), text, (float(opposite[0]), float(opposite[1]))))


def _add(place: ValuePlace | None) -> None:
    places = _PLACES.get()
    if place is not None and places is not None and len(places) < _MOST:
        places.append(place)


_BELOW = 34
"""Points from the axis to a legend, past the numbers and the words of the axis."""


def legend_below(
    axes: Axes, columns: int, *, handle: float = 2.0, after_handle: float = 0.8, between: float = 2.0
) -> None:
    """Write the legend of these axes alone below them; widths of lines and gaps are in letters."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415 - drawing loads matplotlib
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415

    figure = axes.figure
    alone = figure.axes == [axes] and isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
    place = (
        {"loc": "outside lower center"}
        if alone
        else {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0.0),
            "bbox_transform": axes.transAxes + ScaledTranslation(0, -_BELOW / 72, figure.dpi_scale_trans),
        }
    )
    (figure if alone else axes).legend(
        ncols=columns, handlelength=handle, handletextpad=after_handle, columnspacing=between, **place
    )
