"""Names of lines at their right ends: lines of one colour are told apart without a look at a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LineEnd", "names_at_ends", "spread"]

_BESIDE = 16.0
"""Points from the right end of the axes to the names."""

_APART = 12.5
"""Points from one name to the next."""


@dataclass(frozen=True, slots=True)
class LineEnd:
    """Where a line ends, in the axes' data, with its name."""

    name: str
    x: float
    y: float
    colour: str
    """Of the line."""
    strong: bool = False
    """Whether the name stands out."""


def names_at_ends(axes: Axes, ends: Sequence[LineEnd]) -> None:
    """Write names right of the axes, each at the height of its line or as near to it as the others allow.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With all lines on it: heights are taken from its range.
    ends : sequence of LineEnd
    """
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - drawing loads matplotlib

    low, high = axes.get_ylim()
    inches = axes.get_window_extent().height / axes.figure.dpi
    places = spread([(one.y - low) / (high - low) for one in ends], _APART / 72 / inches)
    beside = axes.transAxes + ScaledTranslation(_BESIDE / 72, 0, axes.figure.dpi_scale_trans)
    for one, place in zip(ends, places, strict=True):
        axes.annotate(
            one.name,
            (one.x, one.y),
            (1.0, place),
            textcoords=beside,
            color=one.colour,
            fontweight="bold" if one.strong else "normal",
            ha="left",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": one.colour,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return places at least a gap apart, in the order of the given ones and as near to them as can be.

    Parameters
    ----------
    places : sequence of float
    gap : float

    Examples
    --------
    >>> spread([0.5, 0.0, 0.5], 0.25)
    [0.375, 0.0, 0.625]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[float, int]] = []
    for at in order:
        first, many = places[at], 1
        while groups and groups[-1][0] + gap * groups[-1][1] > first:
            before, times = groups.pop()
            first = (before * times + (first - gap * times) * many) / (times + many)
            many += times
        groups.append((first, many))
    found = [first + gap * step for first, many in groups for step in range(many)]
    return [place for _, place in sorted(zip(order, found, strict=True))]
