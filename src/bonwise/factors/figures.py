"""Prompts as points in two dimensions, in the colour and the shape of their category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from bonwise.estimates import EstimateRecord
from bonwise.factors.human_view import HumanView
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.result import JudgeInformation, MapAxis, PromptMap, PromptPlace
from bonwise.factors.stage_one import CapabilityFactors
from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.axes import COLOURS, legend_below, tell
from bonwise.report.figures.names import short, told_apart
from bonwise.report.numbers import count
from bonwise.stats.ordinal_ratings import slope_and_curvature
from bonwise.stats.sums import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Place",
    "Places",
    "axis_words",
    "gap_variances",
    "information_of_judges",
    "map_of_prompts",
    "principal_places",
    "prompt_map_figure",
]


def gap_variances(
    judges: RatingArrays, found: CapabilityFactors, weights: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return the mean variance of the human's gaps on each prompt, with all judges and without each.

    `judges` has the ratings of the judges alone, and `found` is stage 1. `weights` are the human's of each skill,
    shape (rank,); `prior` is the precision of the prior of the prompts' factors, above 0. The results have shapes
    (prompts,) and (judges, prompts).
    """
    counted, rank = judges.counted(), found.rank
    z = found.raters[counted.rater] * counted.differences(found.models)
    upper, lower = counted.layout.ends(found.cutoffs)
    eta = (z * found.prompts[counted.prompt]).sum(axis=1)
    bend = counted.weight * slope_and_curvature(eta, upper[counted.category], lower[counted.category])[1]
    rows = bend[:, None] * (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    each = np.zeros((counted.raters, counted.prompts, rank, rank))
    for judge in range(counted.raters):
        mine = counted.rater == judge
        each[judge] = (counted.by_prompt[:, mine] @ rows[mine]).reshape(-1, rank, rank)
    precision = each.sum(axis=0) + prior * np.eye(rank)
    heeded = weights * found.models
    off = heeded - heeded.mean(axis=0)
    # The mean of c c' over all pairs of models.
    of_pairs = 2 * off.T @ off / max(len(off) - 1, 1)
    whole = np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision))
    without = np.stack([np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision - one)) for one in each])
    return whole, without


def information_of_judges(
    names: list[str], variances: tuple[Floats, Floats], confidence: float
) -> Iterator[JudgeInformation]:
    """Yield by which share the variance would grow without each judge, most first.

    `variances` are as `gap_variances` returns them, `names` those of the judges in the same order.
    """
    whole, without = variances
    growth = without.sum(axis=1) / whole.sum() - 1
    count = len(whole)
    for at in np.argsort(-growth, kind="stable"):
        off = (without[at] - (1 + growth[at]) * whole) / whole.sum()
        se = float(np.sqrt(count / max(count - 1, 1) * (off**2).sum()))
        half = float(stats.t.ppf((1 + confidence) / 2, max(count - 1, 1))) * se
        yield JudgeInformation(
            rater=names[at],
            growth=EstimateRecord(
                estimate=float(growth[at]),
                low=float(growth[at]) - half,
                high=float(growth[at]) + half,
                se=se,
                n=count,
                interval="cluster_t",
                method="complete",
            ),
        )


_FLAT = 1e-6
"""Share of the variance below which a second axis says nothing: the model has one skill."""


def principal_places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows along the principal axes of their columns.

    Values are (rows, columns). Returned are places, shape (rows, axes); axes, shape (axes, columns), unit vectors of
    which the largest entry is positive, because the sign is otherwise open; and the share of the variance of each
    axis.

    Examples
    --------
    >>> places, axes, shares = principal_places(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]))
    >>> places[:, 0].round(6).tolist(), axes[0].round(6).tolist(), float(shares[0])
    ([1.0, -1.0, 0.0], [1.0, 0.0], 1.0)
    """
    off = values - values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0) + 0.0
    squares = sizes**2
    return off @ axes.T + 0.0, axes, squares / max(float(squares.sum()), 1e-300)


def map_of_prompts(view: HumanView) -> PromptMap | None:
    """Return the map of prompts, None where all of them stand on a line."""
    capabilities = _capabilities(view)
    if min(capabilities.shape) < 2:
        return None
    places, axes, shares = principal_places(capabilities)
    if shares[1] < _FLAT:
        return None
    x, y = (
        MapAxis(
            share=float(min(shares[at], 1.0)),
            high=view.models[int(axes[at].argmax())],
            low=view.models[int(axes[at].argmin())],
        )
        for at in range(2)
    )
    return PromptMap(
        x=x,
        y=y,
        prompts=[
            PromptPlace(prompt_id=name, category=category, x=float(place[0]), y=float(place[1]))
            for name, category, place in zip(view.prompts, view.prompt_categories, places, strict=True)
        ],
    )


def _capabilities(view: HumanView) -> Floats:
    """Return mean capabilities over draws, less their mean on the prompt, shape (prompts, models)."""
    mean = np.zeros((len(view.prompts), len(view.models)))
    for models, prompts in zip(view.draws.by_model, view.draws.by_prompt, strict=True):
        mean += prompts @ models.T
    mean /= len(view.draws)
    return np.asarray(mean - mean.mean(axis=1, keepdims=True))


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
    """What the axes hold."""
    up: str
    """What the axes hold."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
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
        rest = f"{count(len(named) - len(shown))} others" if len(named) > len(shown) else "no category"
        found: dict[str, list[Place]] = {word: [] for word in words.values()}
        for place in self.drawn:
            found.setdefault(words.get(place[1], rest if named else ""), []).append(place)
        return list(found.items())


def prompt_map_figure(data: Places, key: str, title: str, says: str) -> Drawing[Places]:
    """Draw prompts as points; what is not drawn is added to `says`."""
    drawn, every = len(data.drawn), len(data.every)
    cut = f" {count(drawn)} of {count(every)} prompts are drawn." if drawn < every else ""
    lines = -(-len(data.groups) // 2) if len(data.groups) > 1 else 0
    return Drawing(_paint, data, key, title, says + cut, (_SIZE[0], _SIZE[1] + _LINE * lines))


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
