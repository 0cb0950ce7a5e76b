"""Prompts as points in two dimensions, in the colour and the shape of their category; truth against prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.report import blocks, numbers
from bonwise.report.figures.axes import COLOURS, legend_below, tell
from bonwise.report.figures.names import short, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bonwise.factors.result_models import LeftOutRow

Place = tuple[str, str, float, float]
"""Name of a prompt, its category (blank for none), and where it stands."""

_ROLES = ("judge", "oracle", "other", "strong", "random", "gate")
_SHAPES = ("o", "s", "^", "D", "v", "P")
_MOST_NAMED = 12
"""Categories in the legend; smaller ones are drawn as one."""

_MOST_POINTS = 1500
_LONGEST = 17
_SIZE = (3.9, 3.7)
_LINE = 0.19
"""Inches of a line of the legend."""


@dataclass(frozen=True, slots=True)
class Places:
    """Prompts on a map."""

    every: Sequence[Place]
    across: str
    up: str
    """Both: what the axes hold."""

    def rows(self) -> Iterator[Mapping[str, blocks.Value]]:
        """Yield a row per prompt, those that are not drawn too."""
        for prompt, category, x, y in self.every:
            yield {"prompt_id": prompt, "category": category, "x": x, "y": y}

    @property
    def drawn(self) -> Sequence[Place]:
        """Prompts spread evenly over all, where there are too many to tell apart."""
        step = -(-len(self.every) // _MOST_POINTS)
        return self.every[:: max(step, 1)]

    @property
    def groups(self) -> list[tuple[str, list[Place]]]:
        """Points by their word in the legend, the largest category first."""
        sizes = Counter(category for _, category, _, _ in self.every if category)
        named = [name for name, _ in sorted(sizes.items(), key=lambda one: (-one[1], one[0]))]
        shown = named if len(named) <= _MOST_NAMED else named[: _MOST_NAMED - 1]
        words = dict(zip(shown, told_apart(shown, _LONGEST), strict=True))
        rest = f"{numbers.count(len(named) - len(shown))} others" if len(named) > len(shown) else "no category"
        found: dict[str, list[Place]] = {word: [] for word in words.values()}
        for place in self.drawn:
            found.setdefault(words.get(place[1], rest if named else ""), []).append(place)
        return list(found.items())


def prompt_map_figure(data: Places, key: str, title: str, says: str) -> blocks.Drawing[Places]:
    """Draw prompts as points; what is not drawn is added to `says`."""
    drawn, every = len(data.drawn), len(data.every)
    cut = f" {numbers.count(drawn)} of {numbers.count(every)} prompts are drawn." if drawn < every else ""
    lines = -(-len(data.groups) // 2) if len(data.groups) > 1 else 0
    return blocks.Drawing(_paint, data, key, title, says + cut, (_SIZE[0], _SIZE[1] + _LINE * lines))


def _paint(axes: Axes, data: Places) -> None:
    groups = data.groups
    for at, (word, places) in enumerate(groups):
        colour, shape = COLOURS[_ROLES[at % len(_ROLES)]], _SHAPES[(at + at // len(_ROLES)) % len(_SHAPES)]
        x, y = [place[2] for place in places], [place[3] for place in places]
        axes.scatter(x, y, s=17, marker=shape, color=colour, alpha=0.75, linewidths=0, label=word)
        for prompt, category, across, up in places:
            tell(across, up, f"{prompt}, {category}" if category else prompt)
    axes.grid(visible=True)
    axes.locator_params(nbins=6)
    axes.set_xlabel(data.across)
    axes.set_ylabel(data.up)
    if len(groups) > 1:
        legend_below(axes, 2, handle=1.0, after_handle=0.5)


def axis_words(at: int, share: str, high: str, *, up: bool) -> str:
    """Return what an axis of the map holds, and which model is better towards its high end."""
    return f"axis {at} ({share} of the variance)\n{'up' if up else 'right'}: better for {short(high, _LONGEST)}"


@dataclass(frozen=True, slots=True)
class Predictions:
    """Truths, and what was predicted without them, by name."""

    every: Mapping[str, LeftOutRow]

    def rows(self) -> Iterator[Mapping[str, blocks.Value]]:
        """Yield a row per prediction."""
        columns = ("truth", "truth_se", "predicted", "low", "high")
        return ({"row": name, **{key: getattr(row, key) for key in columns}} for name, row in self.every.items())


def truth_figure(every: Mapping[str, LeftOutRow], what: str, words: str) -> blocks.Drawing[Predictions]:
    """Draw predictions over the truth, with the errors of both, and the line on which they are equal."""
    says = f"{words.capitalize()}: human ratings, and the prediction without them. On the line both are equal."
    title = f"Truth against prediction, each {what} left out"
    return blocks.Drawing(_paint_truths, Predictions(every), f"factor-left-out-{what}", title, says, _SIZE)


def _paint_truths(axes: Axes, data: Predictions) -> None:
    colour = COLOURS["judge"]
    for name, row in data.every.items():
        x, y = row.truth, row.predicted
        ends = [[max(y - row.low, 0)], [max(row.high - y, 0)]]
        axes.errorbar(x, y, ends, 2 * row.truth_se, "o", color=colour, markersize=4)
        tell(x, y, f"{name}: {numbers.number(x)}, {numbers.number(y)} predicted")
    both = [end for row in data.every.values() for end in (row.truth, row.predicted)]
    axes.plot([min(both), max(both)], [min(both), max(both)], color=COLOURS["gate"], linestyle="--", linewidth=1)
    axes.grid(visible=True)
    axes.margins(0.12)
    axes.set(xlabel="truth, with two standard errors", ylabel="predicted, with interval")
