"""Lines over an axis: what is reached by share of the prompts, or by number of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from bonwise.report.page.canvas import COLOURS, SIZE, drawn
from bonwise.report.page.figures.names import told_apart
from bonwise.report.page.figures.percent import Percent
from bonwise.report.page.section import Figure

__all__ = ["Curve", "Guide", "curves_figure"]

_MARKERS = "osv^DXP*"
"""Lines of one colour are told apart by these."""

_LEGEND = 28
"""Letters' room of a name in the legend."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line, points joined by straight ones.

    Parameters
    ----------
    label : str
    x : sequence of float
    y : sequence of float or None
        None leaves a gap.
    low, high : sequence of float or None
        Ends of a band; empty for none.
    role : str
        Of `bonwise.report.page.canvas.COLOURS`.
    points : bool
        Mark the points: between them nothing was computed.
    dashed : bool
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    role: str = "judge"
    points: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Guide:
    """A straight line across the drawing, with a word.

    Parameters
    ----------
    word : str
    x, y : float or None
        Where it stands upright, or where it lies; one of them.
    """

    word: str
    x: float | None = None
    y: float | None = None


def curves_figure(  # noqa: PLR0913 - axes and their units are named
    curves: Sequence[Curve],
    key: str,
    title: str,
    says: str,
    *,
    across: str,
    up: str,
    guides: Sequence[Guide] = (),
    percent: str = "",
    up_to: float | None = None,
) -> list[Figure]:
    """Draw lines, with bands where they have intervals.

    Parameters
    ----------
    curves : sequence of Curve
        In the order of the legend; the last is drawn on top.
    key : str
        Of the drawing.
    title, says : str
        Of the figure.
    across, up : str
        What the axes hold.
    guides : sequence of Guide
    percent : str
        Axes in per cent: ``x``, ``y``, ``xy`` or neither.
    up_to : float, optional
        Upper end of what the upright axis can hold; it then starts at 0.

    Returns
    -------
    list of Figure
        Empty without a curve that has a figure.

    Examples
    --------
    >>> line = Curve("power", [100, 200], [0.7, 0.9], points=True)
    >>> found = curves_figure([line], "p", "Power", "From 0.7 to 0.9.", across="labels", up="power")
    >>> "var(--judge)" in found[0].svg
    True
    """
    there = [curve for curve in curves if any(value is not None for value in curve.y)]
    if not there:
        return []

    names = [curve.label for curve in there]
    # A single curve is what the axis says.
    entries = (len(there) if len(there) > 1 else 0) + sum(guide.y is not None for guide in guides)

    def paint(axes: Axes) -> None:
        for at, (curve, label) in enumerate(zip(there, told_apart(names, _LEGEND), strict=True)):
            _paint(axes, curve, _MARKERS[at % len(_MARKERS)], label if len(names) > 1 else "_")
        _guides(axes, guides)
        axes.grid(visible=True)
        axes.locator_params(axis="both", nbins=6)
        axes.xaxis.set_major_formatter(Percent() if "x" in percent else StrMethodFormatter("{x:,g}"))
        if "y" in percent:
            axes.yaxis.set_major_formatter(Percent())
        if up_to is not None:
            axes.set_ylim(0, 1.06 * up_to)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if entries:
            axes.figure.legend(loc="outside lower center", ncols=2, handlelength=2.2, columnspacing=1.2)

    return [Figure(drawn(paint, key=key, size=(SIZE[0], SIZE[1] + 0.18 * ((entries + 1) // 2))), title, says)]


def _paint(axes: Axes, curve: Curve, marker: str, label: str) -> None:
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
        linewidth=2 if curve.role in {"judge", "oracle"} else 1.3,
        linestyle=(0, (5, 3)) if curve.dashed else "-",
        marker=marker if curve.points else None,
        markersize=4.5,
        label=label,
    )


def _guides(axes: Axes, guides: Sequence[Guide]) -> None:
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
                fontsize=8.5,
            )
            above += 11
