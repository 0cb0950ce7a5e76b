"""The legend of a drawing, below its axis, where no line runs through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["legend_below"]

_BELOW = 34
"""Points from the axis to a legend, past the numbers and the words of the axis."""


def legend_below(
    axes: Axes, columns: int, *, handle: float = 2.0, after_handle: float = 0.8, between: float = 2.0
) -> None:
    """Write the legend of axes below them.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Those of a page have a figure to themselves. On others the legend belongs to the axes, because that of the
        figure would name what its other axes hold too.
    columns : int
    handle, after_handle, between : float
        Width of a line, and gaps after it and between columns, in letters.
    """
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
