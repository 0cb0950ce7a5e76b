"""One way to draw: matplotlib to SVG whose colours are those of the page, light or dark."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from bonwise.printable import printable
from bonwise.report.figures.axes import COLOURS, SIZE, STAND_INS, TEXT, ValuePlace, collected_places, with_stand_ins

if TYPE_CHECKING:
    from bonwise.report.blocks import Drawing

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and follows the page's colours
    "text.parse_math": False,  # a dollar in a name from a file is a dollar
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": TEXT,
    "figure.dpi": 144,
}

_COLOURED = {
    "axes.edgecolor": "muted",
    "axes.labelcolor": "ink",
    "text.color": "ink",
    "xtick.color": "muted",
    "ytick.color": "muted",
    "xtick.labelcolor": "ink",
    "ytick.labelcolor": "ink",
    "grid.color": "grid",
}

# matplotlib keeps its settings in one place for all threads.
_ALONE = threading.Lock()

_NEAR = 7
"""Points around a place within which a reader points at it."""

_LONGEST = 200
"""Characters of what a place says."""

_TAG = re.compile(r"<[^>]*>")
_FAMILY = re.compile(r"font-family: [^;\"]*")
_ADDRESS = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_UNUSED = re.compile(r'(?<=^<g) id="[^"]*"|(?<=\.\d\d)\d+')
"""Names of groups, and decimals that no screen shows."""
_WHOLE_PAGE = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", re.DOTALL)


def drawn(paint: Callable[[Axes], None], *, key: str, size: tuple[float, float] = SIZE) -> str:
    """Draw one pair of axes and return it as markup for the body of a page.

    `paint` draws in the colours of `bonwise.report.figures.axes.COLOURS`; names from files go through
    `bonwise.printable` first. Dense scatters are ``rasterized=True``, in a colour that reads on light and dark paper,
    such as ``#7f8fa6``: no style sheet reaches them. `key`, of lower-case letters, digits and hyphens, is unique on
    the page. `size` is in inches, but the ``<svg>`` fills the width that it is given.
    """
    with _ALONE, with_stand_ins(), mpl.rc_context(cast("Any", _settings(key))), warnings.catch_warnings():
        # Letters that its own font lacks are measured as boxes; the reader's browser has them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        with collected_places() as places:
            paint(axes)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        tips = "".join(_told(place, axes, size) for place in places)
    markup = _for_the_page(stream.getvalue(), key)
    return f"{markup.removesuffix('</svg>')}{tips}</svg>"


def painted(drawing: Drawing[Any], axes: Axes | None = None) -> Axes:
    """Paint a drawing on light paper, on new axes as on a page or on given ones with their own fonts and frames."""
    # Names from files are text on the reader's own axes too.
    settings = {"text.parse_math": False} if axes is not None else _settings(drawing.key)
    with _ALONE, mpl.rc_context(cast("Any", settings)):
        if axes is None:
            axes = Figure(figsize=drawing.size, layout="constrained").add_subplot()
        drawing.painter(axes, drawing.data)
    return axes


def _told(place: ValuePlace, axes: Axes, size: tuple[float, float]) -> str:
    """Return what says a value when a reader points at it: something that is there and cannot be seen."""
    corners = [_points(axes, corner, size) for corner in ((place.x, place.y), place.to) if corner is not None]
    if not all(isfinite(value) for corner in corners for value in corner):
        return ""
    title = f"<title>{escape(printable(place.text, longest=_LONGEST))}</title>"
    if len(corners) == 1:
        [(x, y)] = corners
        return f'<circle class="told" cx="{x:.1f}" cy="{y:.1f}" r="{_NEAR}">{title}</circle>'
    (x, y), (right, bottom) = map(min, *corners), map(max, *corners)
    at = f'x="{x:.1f}" y="{y:.1f}" width="{right - x:.1f}" height="{bottom - y:.1f}"'
    return f'<rect class="told" {at}>{title}</rect>'


def _points(axes: Axes, place: tuple[float, float], size: tuple[float, float]) -> tuple[float, float]:
    """Return where a place of the data is on the drawing, from its upper left corner."""
    figure = cast("Figure", axes.figure)
    across, up = figure.transFigure.inverted().transform(axes.transData.transform(place))
    return 72 * size[0] * float(across), 72 * size[1] * (1 - float(up))


def _settings(key: str) -> dict[str, Any]:
    """Return every setting of a drawing: what the reader's own matplotlib is set to is for other pictures."""
    # Setting the backend would start one that opens windows.
    plain = {str(name): value for name, value in mpl.rcParamsDefault.items() if name != "backend"}
    colours = {setting: COLOURS[name] for setting, name in _COLOURED.items()}
    return {**plain, **_STYLE, **colours, "svg.hashsalt": key}


def _for_the_page(markup: str, key: str) -> str:
    # A style sheet inside a drawing would hold for the whole page.
    markup = _WHOLE_PAGE.sub("", markup[markup.index("<svg") :])
    # What stands between tags may be a name from a file, and stays as it is.
    markup = _TAG.sub(lambda tag: _tag(tag.group(), key), markup)
    head, rest = markup.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'{head} aria-hidden="true" focusable="false">{rest}'.strip()


def _tag(markup: str, key: str) -> str:
    # One page holds several drawings, and an address must mean one thing.
    markup = _ADDRESS.sub(rf"\g<1>{key}-", _UNUSED.sub("", markup))
    markup = _FAMILY.sub("font-family: var(--sans)", markup)
    for name, stand_in in STAND_INS.items():
        markup = markup.replace(stand_in, f"var(--{name})")
    return markup
