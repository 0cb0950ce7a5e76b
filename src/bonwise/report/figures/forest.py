"""Dots with intervals, one row per figure: label and numbers above the line, so that a phone has room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from bonwise.report import blocks, numbers
from bonwise.report.figures.axes import COLOURS, SIZE, TEXT, legend_below, tell
from bonwise.report.figures.names import told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = tuple[str, float | None, float | None, float | None]
"""Label, estimate, low end and high end; None where there is none."""

MOST = 30
"""Rows that one drawing holds."""

_EDGES = 0.62
"""Inches of the axis below all rows."""

_ABOVE, _LINE = 7.0, 13.0
"""Points from a row's line to the words above it, and from one line of words to the next."""

_GAP = 2.0
"""Points between a line that stands upright and the words below it."""

_TOGETHER = 38
"""Letters' room of a label and the numbers beside it; where they need more the numbers stand below the label."""

_REACH = 4.0
"""An interval is drawn out to so many times the usual reach; an arrow says that it goes on."""


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """A place on one row to compare the estimate with."""

    row: int
    at: float
    role: str
    """Of `bonwise.report.figures.axes.COLOURS`."""
    word: str
    """For the legend."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Figures with their intervals, one row each; the parameters are those of `forest_figure`."""

    every: Sequence[Row]
    zero: float | None
    across: str
    roles: Sequence[str]
    marks: Sequence[ReferenceMark]
    said: Sequence[str]
    beside: Sequence[Row]
    unit: numbers.Unit
    bars: bool = False
    gate: float | None = None
    sign: bool = False

    def rows(self) -> Iterator[Mapping[str, blocks.Value]]:
        """Yield a row per figure, those that are not drawn too; each word of a mark is a column."""
        marked = {
            mark.row: {other.word: other.at for other in self.marks if other.row == mark.row} for mark in self.marks
        }
        for at, (label, value, low, high) in enumerate(self.every):
            gate: Mapping[str, blocks.Value] = {} if self.gate is None else {"gate": self.gate}
            yield {"row": label, "estimate": value, "low": low, "high": high, **gate, **marked.get(at, {})}

    @property
    def drawn(self) -> Sequence[Row]:
        """The rows that one drawing holds."""
        return self.every[:MOST]

    @property
    def view(self) -> tuple[float, float]:
        """Ends of the axis: all estimates, all usual intervals, no end of a hopeless one."""
        rows = self.beside or self.drawn
        stands = [place for place in (self.zero, self.gate, *(mark.at for mark in self.marks)) if place is not None]
        reach = [max(high - v, v - low) for _, v, low, high in rows if None not in (v, low, high)]  # type: ignore[operator]
        most = _REACH * median_low(reach) if reach else 0.0
        low = min([*stands, *(v if a is None else max(a, v - most) for _, v, a, _ in rows if v is not None)])
        high = max([*stands, *(v if b is None else min(b, v + most) for _, v, _, b in rows if v is not None)])
        return (low, high) if high > low else (low - 0.5, high + 0.5)


def forest_figure(  # noqa: PLR0913 - two figures differ in what they mark, and marks are named
    rows: Sequence[Row],
    key: str,
    title: str,
    says: str,
    zero: float | None = 0.0,
    *,
    across: str = "",
    roles: Sequence[str] = (),
    marks: Sequence[ReferenceMark] = (),
    said: Sequence[str] = (),
    beside: Sequence[Row] = (),
    unit: numbers.Unit = "number",
    bars: bool = False,
    gate: float | None = None,
    sign: bool = False,
) -> list[blocks.Drawing[Forest]]:
    """Draw one dot with its interval a row.

    Rows are (label, estimate, low, high) in the order to be read; without an estimate in any there is no drawing.
    `says` gets a sentence on rows left out beyond `MOST`, missing or cut. Of a figure in several drawings `beside`
    holds all rows: their range is that of each drawing. `across` says what the axis holds; where the unit is points
    this is added. A vertical line stands at `zero` (None for none), where bars begin, a dashed one at `gate`. `roles`
    are the colours of rows (the judge's where empty), `said` their numbers in words. With `sign`, and in points, a
    plus stands before figures above 0.
    """
    data = Forest(rows, zero, across, roles, marks, said, beside, unit, bars, gate, sign or unit == "points")
    if all(value is None for _, value, _, _ in data.drawn):
        return []
    height = _RowText.of(data).height * len(data.drawn) + _EDGES + (0.22 if marks else 0) + (0.2 if across else 0)
    return [blocks.Drawing(_paint, data, key, title, " ".join([says, *_left_out(data)]), (SIZE[0], height))]


def shortened(drawing: blocks.Drawing[Any], tallest: float) -> blocks.Drawing[Any]:
    """Return a drawing, or of a forest that is taller the judge's rows and the largest others."""
    data = drawing.data
    if drawing.size[1] <= tallest or not isinstance(data, Forest):
        return drawing
    height = _RowText.of(data).height
    others = [role != "judge" for role in data.roles] or [False] * len(data.drawn)
    order = sorted(range(len(data.drawn)), key=lambda at: (others[at], -(data.drawn[at][1] or 0.0)))
    kept = sorted(order[: max(1, int((tallest - _EDGES) / height))])
    shown = replace(
        data,
        every=[data.every[at] for at in kept],
        roles=[data.roles[at] for at in kept if at < len(data.roles)],
        marks=[replace(mark, row=kept.index(mark.row)) for mark in data.marks if mark.row in kept],
        said=[data.said[at] for at in kept if at < len(data.said)],
        beside=data.beside or data.drawn,
    )
    says = f"{len(kept)} of {numbers.counted(len(data.every), 'row')}; the drawing of all of them is below."
    size = (drawing.size[0], drawing.size[1] - height * (len(data.drawn) - len(kept)))
    return replace(drawing, data=shown, key=f"{drawing.key}-first", says=says, size=size)


def _paint(axes: Axes, data: Forest) -> None:
    from bonwise.report.figures.percent import axis_title, formatter  # noqa: PLC0415 - drawing loads matplotlib

    words, view, shown, zero = _RowText.of(data), data.view, data.drawn, data.zero
    # A row is one unit high. Lines stop at the words: they would run through them.
    reach = 0.6 * _ABOVE / 72 / words.height
    stands = (reach, words.free)
    for at, (row, role) in enumerate(zip(shown, (data.roles or ["judge"] * len(shown))[: len(shown)], strict=True)):
        words.paint(axes, at)
        if data.bars and row[1] is not None:
            start = 0.0 if zero is None else zero
            axes.barh(-at, row[1] - start, height=1.2 * reach, left=start, color=COLOURS["band"], zorder=0.5)
        _paint_row(axes, -at, row, role, view)
        tell(row[1], -at, f"{row[0]}: {words.numbers[at]}")
        if data.gate is not None:
            _paint_upright(axes, data.gate, at, stands, "gate", dashed=True)
        if zero is not None:
            _paint_upright(axes, zero, at, stands, "muted")
    _paint_marks(axes, data.marks, data.unit)
    axes.set_ylim(0.6 - len(shown) - 0.1 / words.height, 1 - 0.1 / words.height)
    margin = 0.04 * (view[1] - view[0])
    axes.set_xlim(view[0] - margin, view[1] + margin)
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=6)
    if (ticks := formatter(data.unit)) is not None:
        axes.xaxis.set_major_formatter(ticks)
    axes.set_xlabel(axis_title(data.across, data.unit))


@dataclass(frozen=True, slots=True)
class _RowText:
    """What stands above the lines: labels, numbers, and whether a row takes two lines of words."""

    labels: Sequence[str]
    numbers: Sequence[str]
    two: bool

    @classmethod
    def of(cls, data: Forest) -> _RowText:
        labels = told_apart(name for name, *_ in data.drawn)
        numbers = list(data.said[: len(data.drawn)]) or [_said(row, data.unit, sign=data.sign) for row in data.drawn]
        lengths = (cell_len(label) + cell_len(text) for label, text in zip(labels, numbers, strict=True))
        return cls(labels, numbers, max(lengths) > _TOGETHER)

    @property
    def height(self) -> float:
        """Inches of a row."""
        return 0.68 if self.two else 0.5

    @property
    def free(self) -> float:
        """How far below its line a row is free of the words of the next, in rows."""
        taken = _ABOVE + (_LINE if self.two else 0.0) + _LINE
        return 1 - (taken + _GAP) / 72 / self.height

    def paint(self, axes: Axes, at: int) -> None:
        label, numbers = self.labels[at], self.numbers[at]
        _above(axes, at, label, _ABOVE + (_LINE if self.two else 0.0))
        # Below a long label the numbers start where it does, and are read after it.
        _above(axes, at, numbers, _ABOVE, right=not self.two)


def _above(axes: Axes, at: int, text: str, points: float, *, right: bool = False) -> None:
    """Write above a row's line, from its left end or up to its right end."""
    axes.annotate(
        text,
        (1.0 if right else 0.0, -at),
        (0, points),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha="right" if right else "left",
        va="bottom",
        fontsize=TEXT,
    )


def _said(row: Row, unit: numbers.Unit, *, sign: bool) -> str:
    _, value, low, high = row
    if value is None:
        return "no figure"
    return numbers.with_interval(numbers.Ends(value, low, high), unit, sign=sign)


def _paint_upright(
    axes: Axes, x: float, at: int, stands: tuple[float, float], role: str, *, dashed: bool = False
) -> None:
    """Draw the part of an upright line that belongs to a row: so far above the row's line, and so far below it."""
    above, below = stands
    axes.plot(
        [x, x],
        [-at - below, -at + above],
        color=COLOURS[role],
        linewidth=1.4 if dashed else 1.2,
        linestyle=(0, (3, 2)) if dashed else "-",
        zorder=1,
    )


def _paint_row(axes: Axes, y: float, row: Row, role: str, view: tuple[float, float]) -> None:
    _, value, low, high = row
    colour = COLOURS[role]
    axes.axhline(y, color=COLOURS["grid"], linewidth=0.7, zorder=0)
    if value is None:
        return
    if low is not None and high is not None:
        axes.plot([max(low, view[0]), min(high, view[1])], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
        for end, edge, arrow, beyond in ((low, view[0], "<", low < view[0]), (high, view[1], ">", high > view[1])):
            axes.plot([edge if beyond else end], [y], marker=arrow if beyond else "|", color=colour, markersize=6)
    filled = low is not None and high is not None
    axes.plot([value], [y], "o", markersize=6.5, color=colour, markerfacecolor=colour if filled else "none")


def _paint_marks(axes: Axes, marks: Sequence[ReferenceMark], unit: numbers.Unit) -> None:
    """Draw the places to compare the estimates with, and one entry of the legend a word."""
    words: set[str] = set()
    for mark in marks:
        axes.plot(
            [mark.at],
            [-mark.row],
            marker="d" if mark.role == "random" else "D",
            linestyle="none",
            markersize=6,
            color=COLOURS[mark.role],
            label=f"_{mark.word}" if mark.word in words else mark.word,
        )
        tell(mark.at, -mark.row, f"{mark.word}: {numbers.number(mark.at, unit)}")
        words.add(mark.word)
    if marks:
        legend_below(axes, 3, after_handle=0.3)


def _left_out(data: Forest) -> list[str]:
    shown, view = data.drawn, data.view
    sentences = []
    if len(data.every) > len(shown):
        sentences.append(f"The first {len(shown)} of {numbers.count(len(data.every))} rows are drawn.")
    if any(v is not None and (low is None or high is None) for _, v, low, high in shown):
        sentences.append("An open dot has no interval.")
    if any(v is None for _, v, _, _ in shown):
        sentences.append("A row without a dot has no figure.")
    if any((low is not None and low < view[0]) or (high is not None and high > view[1]) for _, _, low, high in shown):
        sentences.append("An arrow says that the interval goes on beyond the drawing.")
    return sentences
