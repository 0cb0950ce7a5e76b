"""Lines over an axis: what is reached by share of the prompts, or by number of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.report import blocks, numbers
from bonwise.report.figures.axes import COLOURS, SIZE, legend_below, tell
from bonwise.report.figures.names import LineEnd, names_at_ends, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osv^DXP*"
"""Points of lines of one colour are told apart by these."""

_LEGEND = 19
"""Letters' room of a name in the legend, or at the end of its line."""

_STRONG = ("judge", "oracle")
"""Roles of lines that stand out."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line, points joined by straight ones."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    """None leaves a gap."""
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    """Both: ends of a band; empty for none."""
    role: str = "judge"
    """Of `bonwise.report.figures.axes.COLOURS`."""
    points: bool = False
    """Mark the points: between them nothing was computed."""
    dashed: bool = False
    joined: bool = True
    names: Sequence[str] = ()
    """What the points are called; by the line where empty."""


@dataclass(frozen=True, slots=True)
class Guide:
    """A straight line across the drawing, with a word."""

    word: str
    x: float | None = None
    y: float | None = None
    """Both: where it stands upright, or where it lies; one of them."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines over one axis; the parameters are those of `curves_figure`."""

    curves: Sequence[Curve]
    guides: Sequence[Guide]
    across: str
    up: str
    units: tuple[numbers.Unit, numbers.Unit]
    up_to: float | None
    at_ends: bool
    logarithmic: bool = False

    @property
    def entries(self) -> int:
        """How many entries the legend has."""
        if self.at_ends:
            return 0
        # A single curve is what the axis says.
        lines = len(self.curves) if len(self.curves) > 1 else 0
        return lines + sum(guide.y is not None for guide in self.guides)

    def rows(self) -> Iterator[Mapping[str, blocks.Value]]:
        """Yield a row per point of each line."""
        for curve in self.curves:
            for at, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
                yield {
                    "line": curve.label,
                    **({"name": curve.names[at]} if curve.names else {}),
                    "x": x,
                    "y": y,
                    "low": curve.low[at] if curve.low else None,
                    "high": curve.high[at] if curve.high else None,
                }


def curves_figure(  # noqa: PLR0913 - axes and their units are named
    curves: Sequence[Curve],
    key: str,
    title: str,
    says: str,
    *,
    across: str,
    up: str,
    guides: Sequence[Guide] = (),
    units: tuple[numbers.Unit, numbers.Unit] = ("number", "number"),
    up_to: float | None = None,
    at_ends: bool = False,
    logarithmic: bool = False,
) -> list[blocks.Drawing[Curves]]:
    """Draw lines, with bands where they have intervals, the last on top; `at_ends` names them at their ends.

    With `logarithmic` the upright axis is so.
    """
    there = [curve for curve in curves if any(value is not None for value in curve.y)]
    if not there:
        return []

    data = Curves(there, guides, across, up, units, up_to, at_ends, logarithmic)
    return [blocks.Drawing(_paint, data, key, title, says, (SIZE[0], SIZE[1] + 0.18 * ((data.entries + 1) // 2)))]


def _paint(axes: Axes, data: Curves) -> None:
    from matplotlib.ticker import StrMethodFormatter  # noqa: PLC0415 - drawing loads matplotlib

    from bonwise.report.figures.percent import axis_title, formatter  # noqa: PLC0415

    labels = told_apart((curve.label for curve in data.curves), _LEGEND)
    for at, (curve, label) in enumerate(zip(data.curves, labels, strict=True)):
        _paint_curve(axes, curve, _MARKERS[at % len(_MARKERS)], label if len(labels) > 1 else "_", data.units)
    _paint_guides(axes, data.guides)
    axes.grid(visible=True)
    if data.logarithmic:
        axes.set_yscale("log")
    axes.locator_params(axis="x" if data.logarithmic else "both", nbins=6)
    axes.xaxis.set_major_formatter(formatter(data.units[0]) or StrMethodFormatter("{x:,g}"))
    if (ticks := formatter(data.units[1])) is not None:
        axes.yaxis.set_major_formatter(ticks)
    if data.up_to is not None:
        axes.set_ylim(0, 1.06 * data.up_to)
    axes.set_xlabel(axis_title(data.across, data.units[0]))
    axes.set_ylabel(axis_title(data.up, data.units[1]))
    if data.at_ends:
        names_at_ends(axes, list(_ends(data, labels)))
    elif data.entries:
        legend_below(axes, 2, handle=2.2, between=1.2)


def _ends(data: Curves, labels: Sequence[str]) -> Iterator[LineEnd]:
    """Yield where each line ends that has a name: the guides that lie, then the curves."""
    last = [_last(curve) for curve in data.curves]
    right = max(x for x, _ in last)
    for guide in data.guides:
        if guide.y is not None:
            yield LineEnd(guide.word, right, guide.y, COLOURS["muted"])
    for curve, label, (x, y) in zip(data.curves, labels, last, strict=True):
        yield LineEnd(label, x, y, COLOURS[curve.role], curve.role in _STRONG)


def _last(curve: Curve) -> tuple[float, float]:
    """Return the last point of a curve that has a figure."""
    return [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None][-1]


def _paint_curve(axes: Axes, curve: Curve, marker: str, label: str, units: tuple[numbers.Unit, numbers.Unit]) -> None:
    colour = COLOURS[curve.role]
    y = [float("nan") if value is None else value for value in curve.y]
    ends = [
        (x, low, high)
        for x, low, high in zip(curve.x, curve.low, curve.high, strict=bool(curve.low))
        if low is not None and high is not None
    ]
    if ends:
        x, low, high = zip(*ends, strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(
        curve.x,
        y,
        color=colour,
        linewidth=2 if curve.role in _STRONG else 1.3,
        linestyle="none" if not curve.joined else (0, (5, 3)) if curve.dashed else "-",
        marker=marker if curve.points else None,
        markersize=4.5,
        label=label,
    )
    for at, place in enumerate(curve.x):
        where = f"{numbers.brief(100 * place)}%" if units[0] == "share" else numbers.brief(place)
        name = curve.names[at] if curve.names else curve.label
        tell(place, curve.y[at], f"{name}: {_said(curve, at, units[1])} at {where}")


def _said(curve: Curve, at: int, unit: numbers.Unit) -> str:
    if not curve.low or not curve.high:
        return numbers.number(curve.y[at], unit)
    return numbers.with_interval(numbers.Ends(curve.y[at], curve.low[at], curve.high[at]), unit)


def _paint_guides(axes: Axes, guides: Sequence[Guide]) -> None:
    """Draw the guides; their words stand above the axes and in the legend, where no line runs through them."""
    colour, dashes, above = COLOURS["muted"], (0, (3, 3)), 3
    for guide in guides:
        if guide.y is not None:
            axes.axhline(guide.y, color=colour, linewidth=0.9, linestyle=dashes, label=guide.word)
        if guide.x is not None:
            axes.axvline(guide.x, color=colour, linewidth=0.9, linestyle=dashes)
            axes.annotate(
                guide.word,
                (guide.x, 1),
                (0, above),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
            )
            above += 11
