"""Draw for real, and read back what stands where."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.figure
import pytest
from matplotlib.colors import to_hex

from bonwise.report.blocks import Part
from bonwise.report.figures.axes import STAND_INS
from bonwise.report.page import canvas
from bonwise.report.page.view import page_view

__all__ = ["painted", "points", "role_of", "svg", "typed"]


def typed(found):
    """Return what a document holds with its keys as attributes; mappings of metrics stay mappings."""
    if isinstance(found, list):
        return [typed(one) for one in found]
    if not isinstance(found, dict):
        return found
    made = {key: typed(value) for key, value in found.items()}
    return (
        made
        if all(isinstance(one, dict) and "estimate" in one for one in found.values())
        else SimpleNamespace(**made)
    )


def svg(drawing):
    """Return a drawing as the markup of a page."""
    (figure,) = _figures([drawing])
    return figure.svg


def _figures(drawings):
    """Return drawings as a page shows them."""
    sections = page_view(Part("Drawings", drawings)).sections
    return [figure for section in sections for piece in section.pieces for figure in piece.figures]


def painted(draw):
    """Call what makes drawings, and return the axes of each as they were saved."""
    kept = []

    class Kept(matplotlib.figure.Figure):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            kept.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "Figure", Kept)
        _figures(draw())
    return [axes for figure in kept for axes in figure.axes]


def role_of(colour):
    """Return what a colour stands for."""
    return next(name for name, one in STAND_INS.items() if one == to_hex(colour))


def points(axes):
    """Return the marker, the place and the role of every point that stands alone."""
    alone = [line for line in axes.lines if len(line.get_xdata()) == 1 and line.get_marker() != "None"]
    return [(one.get_marker(), one.get_xdata()[0], one.get_ydata()[0], role_of(one.get_color())) for one in alone]
