"""Draw for real, and read back what stands where."""

from __future__ import annotations

import matplotlib.figure
import pytest
from matplotlib.colors import to_hex

from bonwise.report.page import canvas

__all__ = ["painted", "points", "role_of"]


def painted(draw):
    """Call what makes figures, and return the axes of each drawing as they were saved."""
    kept = []

    class Kept(matplotlib.figure.Figure):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            kept.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "Figure", Kept)
        draw()
    return [axes for figure in kept for axes in figure.axes]


def role_of(colour):
    """Return what a colour stands for."""
    return next(name for name, one in canvas.COLOURS.items() if one == to_hex(colour))


def points(axes):
    """Return the marker, the place and the role of every point that stands alone."""
    alone = [line for line in axes.lines if len(line.get_xdata()) == 1 and line.get_marker() != "None"]
    return [(one.get_marker(), one.get_xdata()[0], one.get_ydata()[0], role_of(one.get_color())) for one in alone]
