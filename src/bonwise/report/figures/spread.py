"""Where the agreement lies: prompt means against each other, and what is left within prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import correlation
from typing import TYPE_CHECKING

import numpy as np

from bonwise.documents.exhibits import Points, Spread
from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.colours import COLOURS
from bonwise.report.numbers import Bounded, count, number
from bonwise.report.wording import named

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = ["Cloud", "spread_figures"]

_WITHIN_R = "within_r"

_POINTS = "#7f8fa6"
"""A picture in a picture follows no style sheet: this reads on light and on dark paper."""

_SQUARE = (3.7, 3.6)

_ALIKE = 4.0
"""Ranges of judge and oracle up to so many times each other are drawn to one scale."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points of judge and oracle."""

    judge: Sequence[float]
    oracle: Sequence[float]
    across: str
    """What the axes hold."""
    up: str
    """What the axes hold."""
    r: float | None
    """Correlation, as it is in the drawing."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per point."""
        for judge, oracle in zip(self.judge, self.oracle, strict=True):
            yield {"judge": judge, "oracle": oracle}


def spread_figures(
    spread: Spread | None,
    key: str,
    *,
    metrics: Mapping[str, Bounded] | None = None,
    reference: str | None = None,
    labelled: bool = False,
) -> list[Drawing[Cloud]]:
    """Draw prompt means, and deviations from them, of the judge against the oracle.

    Parameters
    ----------
    spread : Spread or None
    key : str
        Of the drawings.
    metrics : mapping of str to Bounded, optional
        The judge's metrics: where points were left out, the correlation within prompts is theirs, of all cells.
    reference : str, optional
        What stands in for the oracle.
    labelled : bool
        Whether prompts without labels are left out, and the caption says so.

    Returns
    -------
    list of Drawing
    """
    if spread is None:
        return []
    whole = metrics[_WITHIN_R].estimate if metrics is not None and _WITHIN_R in metrics else None
    oracle, which = named("oracle", reference), "labelled " if labelled else ""
    between = _Caption(
        "Between prompts", "prompt mean", oracle, f"{which}prompts", spread.prompts_shown, spread.prompts
    )
    within = _Caption(
        "Within prompts",
        "deviation from the prompt mean",
        oracle,
        f"{which}candidates",
        spread.cells_shown,
        spread.cells,
    )
    return [
        *_figure(spread.between, f"{key}-between", between, None),
        *_figure(spread.within, f"{key}-within", within, whole),
    ]


@dataclass(frozen=True, slots=True)
class _Caption:
    title: str
    what: str
    oracle: str
    noun: str
    shown: int
    of: int


def _figure(points: Points, key: str, words: _Caption, whole: float | None) -> Iterator[Drawing[Cloud]]:
    if not points.judge:
        return
    r = _correlation(points.judge, points.oracle) if whole is None else whole
    what, oracle = words.what, words.oracle
    cut = words.shown < words.of
    part = f"{count(words.shown)} of {count(words.of)}" if cut else f"all {count(words.of)}"
    of_all = " of all of them" if whole is not None and cut else ""
    alone = "the correlation cannot be computed" if r is None else f"the correlation{of_all} is {number(r)}"
    says = f"{what[:1].upper()}{what[1:]} of the judge against the {oracle}'s, {part} {words.noun}: {alone}."
    data = Cloud(points.judge, points.oracle, f"judge: {what}", f"{oracle}: {what}", r)
    yield Drawing(_paint, data, key, words.title, says, _SQUARE)


def _paint(axes: Axes, data: Cloud) -> None:
    judge, oracle = (np.asarray(values, dtype=float) for values in (data.judge, data.oracle))
    axes.scatter(judge, oracle, s=9, color=_POINTS, alpha=0.45, linewidths=0, rasterized=True)
    said = "r: none" if data.r is None else f"r = {number(data.r)}"
    axes.text(0.03, 0.97, said, transform=axes.transAxes, va="top", fontweight="bold", fontsize=11)
    _square(axes, judge, oracle)
    axes.grid(visible=True)
    axes.locator_params(nbins=5)
    axes.set_xlabel(data.across)
    axes.set_ylabel(data.up)


def _square(axes: Axes, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
    """Draw to one scale where judge and oracle have one, and in a square box in any case."""
    least, most = (float(x.min()), float(y.min())), (float(x.max()), float(y.max()))
    spans = most[0] - least[0], most[1] - least[1]
    if min(spans) > 0 and max(spans) <= _ALIKE * min(spans) and least[0] < most[1] and least[1] < most[0]:
        low, high = min(least), max(most)
        margin = 0.04 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        axes.set_ylim(low - margin, high + margin)
        axes.plot([low, high], [low, high], color=COLOURS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_box_aspect(1)


def _correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    if min(x) == max(x) or min(y) == max(y):
        return None
    return correlation(x, y)
