"""Where the agreement lies: prompt means against each other, and what is left within prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from bonwise.report.metric_table import named
from bonwise.report.page.canvas import COLOURS, drawn
from bonwise.report.page.section import Figure

__all__ = ["spread_figures"]

_Document = Mapping[str, Any]
_Floats = npt.NDArray[np.float64]

_POINTS = "#7f8fa6"
"""A picture in a picture follows no style sheet: this reads on light and on dark paper."""

_SQUARE = (3.7, 3.6)

_ALIKE = 4.0
"""Ranges of judge and oracle up to so many times each other are drawn to one scale."""


def spread_figures(
    spread: _Document | None, key: str, *, metrics: _Document | None = None, reference: str | None = None
) -> list[Figure]:
    """Draw prompt means, and deviations from them, of the judge against the oracle.

    Parameters
    ----------
    spread : mapping or None
        ``between`` and ``within`` with the points of ``judge`` and ``oracle``, and how many are shown of how many.
    key : str
        Of the drawings.
    metrics : mapping, optional
        The judge's metrics: where points were left out, the correlation within prompts is theirs, of all cells.
    reference : str, optional
        What stands in for the oracle.

    Returns
    -------
    list of Figure
    """
    if spread is None:
        return []
    shown, of = spread["prompts_shown"], spread["prompts"]
    cells, all_cells = spread["cells_shown"], spread["cells"]
    whole = (metrics or {}).get("within_r", {}).get("estimate")
    oracle = named("oracle", reference)
    found = [
        _figure(spread["between"], f"{key}-between", "Between prompts", ("prompt mean", oracle, shown, of), None),
        _figure(
            spread["within"],
            f"{key}-within",
            "Within prompts",
            ("deviation from the prompt mean", oracle, cells, all_cells),
            whole,
        ),
    ]
    return [one for one in found if one is not None]


def _figure(
    points: _Document, key: str, title: str, words: tuple[str, str, int, int], whole: float | None
) -> Figure | None:
    what, oracle, shown, of = words
    x, y = (np.asarray(points[role], dtype=np.float64) for role in ("judge", "oracle"))
    if not len(x):
        return None
    r = _correlation(x, y) if whole is None else whole
    said = "r: none" if r is None else f"r = {r:.3f}"

    def paint(axes: Axes) -> None:
        axes.scatter(x, y, s=9, color=_POINTS, alpha=0.45, linewidths=0, rasterized=True)
        axes.text(0.03, 0.97, said, transform=axes.transAxes, va="top", fontweight="bold", fontsize=11)
        _square(axes, x, y)
        axes.grid(visible=True)
        axes.locator_params(nbins=5)
        axes.set_xlabel(f"judge: {what}")
        axes.set_ylabel(f"{oracle}: {what}")

    noun = "prompts" if title.startswith("Between") else "candidates"
    part = f"{shown:,} of {of:,} {noun}" if shown < of else f"all {of:,} {noun}"
    of_all = " of all of them" if whole is not None and shown < of else ""
    alone = "the correlation cannot be computed" if r is None else f"the correlation{of_all} is {r:.3f}"
    says = f"{what[:1].upper()}{what[1:]} of the judge against the {oracle}'s, {part}: {alone}."
    return Figure(drawn(paint, key=key, size=_SQUARE), title, says)


def _square(axes: Axes, x: _Floats, y: _Floats) -> None:
    """Draw to one scale where judge and oracle have one, and in a square box in any case."""
    spans = np.ptp(x), np.ptp(y)
    if min(spans) > 0 and max(spans) <= _ALIKE * min(spans) and _overlap(x, y):
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        margin = 0.04 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        axes.set_ylim(low - margin, high + margin)
        axes.plot([low, high], [low, high], color=COLOURS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_box_aspect(1)


def _overlap(x: _Floats, y: _Floats) -> bool:
    return bool(x.min() < y.max() and y.min() < x.max())


def _correlation(x: Sequence[float] | _Floats, y: Sequence[float] | _Floats) -> float | None:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])
