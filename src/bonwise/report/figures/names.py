"""Names in figures: folded beside rows, placed at the ends of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from bonwise.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEGEND = 28

ROW = 46
"""Letters' room of a label that has the width of a drawing to itself."""

_BETWEEN = " - "

_KEPT = 4
"""Letters shown before the first that differs."""

_MARKS = 4
"""Marks on one letter; no script needs more, and thousands of them are as high as a page."""


def short(name: str, longest: int = _LEGEND) -> str:
    """Return a printable name cut in the middle, as names often end unlike; wide letters take the room of two."""
    text, tail = str(name), (longest - 3) // 2
    if len(text) <= 2 * longest:
        first = last = _thinned(printable(text))
        if cell_len(first) <= longest:
            return first
    else:  # what lies in the middle of a long text is not written out to be cut away
        first, last = (_thinned(printable(part)) for part in (text[:longest], text[-longest:]))
    start = next(iter(chop_cells(first, longest - 3 - tail)), "")
    end = next(iter(chop_cells(last[::-1], tail)), "")[::-1]
    return f"{start}...{end}"


def _thinned(text: str) -> str:
    """Return text with no more than `_MARKS` marks on a letter; they have no width that could be counted."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for letter in text:
        marks = 0 if cell_len(letter) else marks + 1
        if marks <= _MARKS:
            kept.append(letter)
    return "".join(kept)


def pair(first: str, second: str) -> str:
    """Return the label of one thing less another, cut in the middle, or at the start if only that tells apart."""
    sides = [str(first), str(second)]
    cut = _both(sides)
    if cut[0] == cut[1] and sides[0] != sides[1]:
        same = (letter == other for letter, other in zip(*sides, strict=False))
        start = max(sum(takewhile(bool, same)) - _KEPT, 0)
        cut = _both([f"...{side[start:]}" for side in sides])
    return _BETWEEN.join(cut)


def _both(sides: Sequence[str]) -> list[str]:
    room = ROW - len(_BETWEEN)
    taken = [cell_len(short(side, room)) for side in sides]
    # What one name leaves free the other may take.
    return [short(side, max(room // 2, room - other)) for side, other in zip(sides, reversed(taken), strict=True)]


def told_apart(names: Iterable[str], longest: int = ROW) -> list[str]:
    """Return labels of one drawing, cut to `longest` letters; those then alike are numbered in their order."""
    labels = [short(name, longest) for name in names]
    alike = {label for label, times in Counter(labels).items() if times > 1}
    seen: Counter[str] = Counter()
    for at, label in enumerate(labels):
        if label in alike:
            seen[label] += 1
            labels[at] = f"({seen[label]}) {label}"
    return labels


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
    """Write names right of axes that hold all lines, each at its line's height or as near as the others allow."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - drawing loads matplotlib

    low, high = axes.get_ylim()
    inches = axes.get_window_extent().height / axes.figure.dpi
    places = spread([(end.y - low) / (high - low) for end in ends], _APART / 72 / inches)
    beside = axes.transAxes + ScaledTranslation(_BESIDE / 72, 0, axes.figure.dpi_scale_trans)
    for end, place in zip(ends, places, strict=True):
        axes.annotate(
            end.name,
            (end.x, end.y),
            (1.0, place),
            textcoords=beside,
            color=end.colour,
            fontweight="bold" if end.strong else "normal",
            ha="left",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return places at least a gap apart, in the order of the given ones and as near to them as can be."""
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[float, int]] = []
    for at in order:
        first, many = places[at], 1
        while groups and groups[-1][0] + gap * groups[-1][1] > first:
            before, times = groups.pop()
            first = (before * times + (first - gap * times) * many) / (times + many)
            many += times
        groups.append((first, many))
    spread_places = [first + gap * step for first, many in groups for step in range(many)]
    return [place for _, place in sorted(zip(order, spread_places, strict=True))]
