"""The drawings of an audit: worth of picks, differences within prompts, agreement, kinds of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import correlation
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bonwise.auditing import result, result_exhibits
from bonwise.metric_groups import unit_of
from bonwise.printable import printable
from bonwise.report import numbers
from bonwise.report.blocks import Drawing, Value
from bonwise.report.figures.axes import COLOURS, tell_bar
from bonwise.report.figures.forest import MOST, Forest, ReferenceMark, Row, forest_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Histogram(Protocol):
    """Differences of two values of one prompt, each pair that is not tied counted with both signs."""

    @property
    def edges(self) -> Sequence[float]:
        """Of the bins."""

    @property
    def counts(self) -> Sequence[int]:
        """Of the bins, without ties."""

    @property
    def ties(self) -> int:
        """Pairs, each once."""

    @property
    def pairs(self) -> int:
        """All pairs, each once."""

    @property
    def largest(self) -> float:
        """Of the differences, 0 where all pairs tie."""


class Sides(Protocol):
    """What the judge says of the pairs, and what the oracle says; None without a prompt."""

    @property
    def judge(self) -> Histogram | None:
        """Differences of scores."""

    @property
    def oracle(self) -> Histogram | None:
        """Differences of labels."""


@dataclass(frozen=True, slots=True)
class DifferenceBars:
    """Shares of the pairs by their difference."""

    role: str
    """``judge`` or ``oracle``: who says so, and the colour."""
    edges: Sequence[float]
    shares: Sequence[float]
    """Both: of the bars, without ties."""
    tied: float
    """Share of the pairs that tie."""
    reach: float
    top: float
    """Both: ends of the axes, which drawings that stand side by side share."""
    across: str
    up: str = "share of pairs"
    """Both: what the axes hold."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per bar; the last is that of the ties."""
        for share, (low, high) in zip(self.shares, pairwise(self.edges), strict=True):
            yield {"from": low, "to": high, "share": share, "ties": False}
        yield {"from": 0.0, "to": 0.0, "share": self.tied, "ties": True}

    @property
    def base(self) -> float:
        """Where the ties begin: they stand on top of the bar around 0, which holds none, not in front of it."""
        return _around_zero(self.shares, self.edges)


def difference_figures(
    differences: Sides | None, key: str, *, reference: str | None = None
) -> list[Drawing[DifferenceBars]]:
    """Draw the histograms of differences within prompts, with the same axes; bars and ties add up to all pairs."""
    if differences is None:
        return []
    sides = {"judge": differences.judge, "oracle": differences.oracle}
    there = {role: found for role, found in sides.items() if found is not None and found.pairs}
    reach = max((abs(edge) for found in there.values() for edge in found.edges), default=0.0) or 1.0
    ends = reach, max((_highest(found) for found in there.values()), default=0.0)
    return [_difference_figure(role, found, ends, f"{key}-{role}", reference) for role, found in there.items()]


def _shares_of_pairs(found: Histogram) -> list[float]:
    # Both signs of a pair are counted, and a tie has both of them at 0.
    return [times / (2 * found.pairs) for times in found.counts]


def _around_zero(shares: Sequence[float], edges: Sequence[float]) -> float:
    return sum(share for share, (low, high) in zip(shares, pairwise(edges), strict=True) if low < 0 < high)


def _highest(found: Histogram) -> float:
    shares = _shares_of_pairs(found)
    return max([_around_zero(shares, found.edges) + found.ties / found.pairs, *shares])


def _difference_figure(
    role: str, found: Histogram, ends: tuple[float, float], key: str, reference: str | None
) -> Drawing[DifferenceBars]:
    word, what = numbers.named(role, reference), "score" if role == "judge" else "label"
    data = DifferenceBars(
        role=role,
        edges=found.edges,
        shares=_shares_of_pairs(found),
        tied=found.ties / found.pairs,
        reach=ends[0],
        top=ends[1],
        across=numbers.named(f"difference of two {what}s", reference),
    )
    says = (
        f"Of {numbers.count(found.pairs)} pairs of candidates of one prompt the {word} ties "
        f"{numbers.count(found.ties)}, {numbers.number(data.tied, 'share')}"
    )
    if found.ties < found.pairs:
        says += f"; the others, each counted with both signs, lie within {numbers.brief(found.largest)} of 0"
    if 0 < found.ties < found.pairs:
        on_top = data.base > 0
        says += ". The ties stand on top of the bar around 0, not in it" if on_top else ". The bar at 0 is ties alone"
    return Drawing(_paint_differences, data, key, f"Differences within prompts: {word}", f"{says}.")


def _paint_differences(axes: Axes, data: DifferenceBars) -> None:
    from bonwise.report.figures.percent import Percent  # noqa: PLC0415 - drawing loads matplotlib

    wide = [after - before for before, after in pairwise(data.edges)]
    axes.bar(data.edges[:-1], data.shares, wide, align="edge", color=COLOURS[data.role], linewidth=0)
    axes.bar([0], [data.tied], max(wide), bottom=[data.base], color=COLOURS["bad"], linewidth=0, label="ties")
    for share, (low, high) in zip(data.shares, pairwise(data.edges), strict=True):
        tell_bar(
            (low, 0),
            (high, share),
            f"from {numbers.brief(low)} to {numbers.brief(high)}: {numbers.number(share, 'share')} of pairs",
        )
    half = max(wide) / 2
    ties = f"ties: {numbers.number(data.tied, 'share')} of pairs"
    tell_bar((-half, data.base), (half, data.base + data.tied), ties)
    axes.annotate(
        f"{numbers.number(data.tied, 'share')} ties",
        (0, data.base + data.tied),
        (0, 3),
        textcoords="offset points",
        color=COLOURS["bad"],
        fontweight="bold",
        ha="center",
        va="bottom",
    )
    axes.set_xlim(-data.reach, data.reach)
    axes.set_ylim(0, data.top * 1.18)
    axes.yaxis.set_major_formatter(Percent())
    axes.grid(visible=True, axis="y")
    axes.locator_params(axis="both", nbins=6)
    axes.set_xlabel(data.across)
    axes.set_ylabel(data.up)


_METRIC = "recovery"

_DRAWINGS = 2
"""Drawings that show judges by recovery: more judges than these hold stand in the table alone."""

_ROLES = {"useful": "good", "weak": "bad", "harmful": "bad", "random": "bad"}
"""Colours of verdicts; one that is not settled has the judge's."""


def judges_figures(
    judges: Mapping[str, result.JudgeFound], gate: float, reference: str | None = None
) -> list[Drawing[Forest]]:
    """Draw the recovery of judges in their order, 30 to a drawing; none where no judge has a figure."""
    unit, word = unit_of(_METRIC), numbers.named(_METRIC, reference)
    known: list[tuple[Row, str, str]] = []
    for name, judge in judges.items():
        found = judge.metrics.get(_METRIC)
        if found is not None and found.estimate is not None:
            level = judge.verdict.level
            said = f"{level}, {numbers.with_interval(found, unit)}"
            known.append(((name, found.estimate, found.low, found.high), _ROLES.get(level, "judge"), said))
    shown = known[: _DRAWINGS * MOST]
    says = (
        f"{word[0].upper()}{word[1:]} with its interval. The upright line is 0, what random picks recover; the "
        f"dashed one is the gate of {numbers.setting(gate, unit)}."
    )
    if len(shown) < len(judges):
        says += f" {numbers.count(len(shown))} of {numbers.count(len(judges))} judges are drawn."
    every = [row for row, _, _ in shown]
    drawings: list[Drawing[Forest]] = []
    for at, start in enumerate(range(0, len(shown), MOST), start=1):
        rows, roles, words = zip(*shown[start : start + MOST], strict=True)
        drawings += forest_figure(
            rows,
            "recovery-of-judges" if at == 1 else "recovery-of-further-judges",
            f"Judges by {word}" if at == 1 else f"Judges by {word}, continued",
            says,
            across=word,
            roles=roles,
            said=words,
            beside=every,
            unit=unit,
            gate=gate,
        )
    return drawings


def differences_figure(metric: str, choice: result.ChoiceRecord, best: str) -> list[Drawing[Forest]]:
    """Draw the best less each other, the nearest first; at most one drawing, none without a figure."""
    unit = numbers.unit_of_difference(unit_of(metric))
    rows: list[Row] = []
    for name, found in choice.differences.items():
        low, high = found.interval or (None, None)
        rows.append((name, found.estimate, low, high))
    rows.sort(key=lambda row: (row[1] is None, row[1] or 0.0))
    return forest_figure(
        rows,
        f"from-best-{metric.replace('_', '-')}",
        f"{metric} below the best",
        f"{best} minus each other judge, the nearest first. An interval right of 0 shows a worse judge.",
        across=f"{metric} below the best",
        unit=unit,
        sign=True,
    )


_SHARES = (("recovery", "recovery"), ("top1_accuracy", "top-1 accuracy"), ("hit_rate", "hit rate"))
_VALUES = (("value_random", "random pick"), ("value_judge", "judge's pick"), ("value_oracle", "oracle's pick"))
_PICK_COLOURS = ("random", "judge", "oracle")

_Metrics = Mapping[str, numbers.Bounded]


def picks_figures(
    metrics: Mapping[str, numbers.Bounded] | None,
    chance: result_exhibits.Chance | None,
    key: str,
    *,
    reference: str | None = None,
) -> list[Drawing[Forest]]:
    """Draw how far the picks come between random ones (0, or chance) and the oracle's (1), and their values."""
    if metrics is None:
        return []
    return [*_figures_of_shares(metrics, chance, key, reference), *_figures_of_values(metrics, key, reference)]


def _figures_of_shares(
    metrics: _Metrics, chance: result_exhibits.Chance | None, key: str, reference: str | None
) -> list[Drawing[Forest]]:
    there = _there(metrics, _SHARES)
    at_random = {"recovery": 0.0}
    if chance is not None:
        reached = {"top1_accuracy": chance.top1_accuracy, "hit_rate": chance.hit_rate}
        at_random |= {name: value for name, value in reached.items() if value is not None}
    marks, said = [], []
    oracle = numbers.named("oracle", reference)
    for at, (name, word) in enumerate(there):
        against = ""
        if name in at_random:
            marks.append(ReferenceMark(at, at_random[name], "random", "random pick"))
            against = f", {numbers.number(at_random[name], 'share')} at random"
        marks.append(ReferenceMark(at, 1.0, "oracle", oracle))
        said.append(f"{word} {numbers.with_interval(metrics[name], 'share')}{against}")
    says = (
        f"{'; '.join(said)}. The {oracle} has 100%; where its best candidates tie, no pick is sure to be its top one."
    )
    return forest_figure(
        _rows(metrics, there),
        f"{key}-shares",
        "Between random and best",
        _upper(says),
        None,
        across="share",
        marks=marks,
        unit="share",
    )


def _figures_of_values(metrics: _Metrics, key: str, reference: str | None) -> list[Drawing[Forest]]:
    there = [(name, numbers.named(word, reference)) for name, word in _there(metrics, _VALUES)]
    roles = [role for role, (name, _) in zip(_PICK_COLOURS, _VALUES, strict=True) if name in dict(there)]
    said = "; ".join(f"{word} {numbers.with_interval(metrics[name])}" for name, word in there)
    across = numbers.named("mean label", reference)
    says = f"{_upper(across)}: {said}."
    return forest_figure(
        _rows(metrics, there), f"{key}-values", "Value of the picks", says, None, across=across, roles=roles
    )


def _there(metrics: _Metrics, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, word) for name, word in names if name in metrics and metrics[name].estimate is not None]


def _rows(metrics: _Metrics, names: Sequence[tuple[str, str]]) -> list[Row]:
    return [(word, metrics[name].estimate, metrics[name].low, metrics[name].high) for name, word in names]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


_WITHIN_R = "within_r"

_POINTS = "#7f8fa6"
"""A picture in a picture follows no style sheet: this reads on light and on dark paper."""

_SQUARE = (3.7, 3.6)

_ONE_SCALE = 4.0
"""Ranges of judge and oracle up to so many times each other are drawn to one scale."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points of judge and oracle."""

    judge: Sequence[float]
    oracle: Sequence[float]
    across: str
    up: str
    """Both: what the axes hold."""
    r: float | None
    """Correlation, as it is in the drawing."""

    def rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield a row per point."""
        for judge, oracle in zip(self.judge, self.oracle, strict=True):
            yield {"judge": judge, "oracle": oracle}


def spread_figures(
    spread: result_exhibits.Spread | None,
    key: str,
    *,
    metrics: Mapping[str, numbers.Bounded] | None = None,
    reference: str | None = None,
    labelled: bool = False,
) -> list[Drawing[Cloud]]:
    """Draw prompt means and deviations from them; where points lack, within_r is that of `metrics`, of all cells."""
    if spread is None:
        return []
    whole = metrics[_WITHIN_R].estimate if metrics is not None and _WITHIN_R in metrics else None
    oracle, which = numbers.named("oracle", reference), "labelled " if labelled else ""
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
        *_spread_figure(spread.between, f"{key}-between", between, None),
        *_spread_figure(spread.within, f"{key}-within", within, whole),
    ]


@dataclass(frozen=True, slots=True)
class _Caption:
    title: str
    what: str
    oracle: str
    noun: str
    shown: int
    of: int


def _spread_figure(
    points: result_exhibits.Points, key: str, words: _Caption, whole: float | None
) -> Iterator[Drawing[Cloud]]:
    if not points.judge:
        return
    r = _correlation(points.judge, points.oracle) if whole is None else whole
    what, oracle = words.what, words.oracle
    cut = words.shown < words.of
    part = f"{numbers.count(words.shown)} of {numbers.count(words.of)}" if cut else f"all {numbers.count(words.of)}"
    of_all = " of all of them" if whole is not None and cut else ""
    alone = "the correlation cannot be computed" if r is None else f"the correlation{of_all} is {numbers.number(r)}"
    says = f"{what[:1].upper()}{what[1:]} of the judge against the {oracle}'s, {part} {words.noun}: {alone}."
    data = Cloud(points.judge, points.oracle, f"judge: {what}", f"{oracle}: {what}", r)
    yield Drawing(_paint_spread, data, key, words.title, says, _SQUARE)


def _paint_spread(axes: Axes, data: Cloud) -> None:
    judge, oracle = (np.asarray(values, dtype=float) for values in (data.judge, data.oracle))
    axes.scatter(judge, oracle, s=9, color=_POINTS, alpha=0.45, linewidths=0, rasterized=True)
    said = "r: none" if data.r is None else f"r = {numbers.number(data.r)}"
    axes.text(0.03, 0.97, said, transform=axes.transAxes, va="top", fontweight="bold", fontsize=11)
    _square(axes, judge, oracle)
    axes.grid(visible=True)
    axes.locator_params(nbins=5)
    axes.set_xlabel(data.across)
    axes.set_ylabel(data.up)


def _square(axes: Axes, x: np.typing.NDArray[np.float64], y: np.typing.NDArray[np.float64]) -> None:
    """Draw to one scale where judge and oracle have one, and in a square box in any case."""
    least, most = (float(x.min()), float(y.min())), (float(x.max()), float(y.max()))
    spans = most[0] - least[0], most[1] - least[1]
    if min(spans) > 0 and max(spans) <= _ONE_SCALE * min(spans) and least[0] < most[1] and least[1] < most[0]:
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


_MOST_ALIKE = 4
"""Values with the same figure that a caption names."""

_METRICS: tuple[tuple[str, numbers.Unit], ...] = (("recovery", "share"), ("within_r", "number"))


def strata_figures(
    strata: Sequence[result_exhibits.Stratum] | None, key: str, *, labelled: bool = False
) -> list[Drawing[Forest]]:
    """Draw recovery and correlation within prompts by column; with `labelled` unlabelled prompts are left out."""
    return [
        figure
        for at, column in enumerate(strata or ())
        for metric, unit in _METRICS
        for figure in _figures(column, metric, unit, f"{key}-{at}-{metric.replace('_', '-')}", labelled)
    ]


def _figures(
    column: result_exhibits.Stratum, metric: str, unit: numbers.Unit, key: str, labelled: bool
) -> list[Drawing[Forest]]:
    rows: list[Row] = []
    known: list[tuple[float, str]] = []
    for row in column.rows:
        label = f"{row.value} ({numbers.count(row.prompts)})"
        if metric not in row.metrics:
            rows.append((label, None, None, None))
            continue
        found = row.metrics[metric]
        rows.append((label, found.estimate, found.low, found.high))
        if found.estimate is not None:
            said = f"{numbers.with_interval(found, unit)} for {printable(row.value, longest=40)}"
            known.append((found.estimate, said))
    if not known:
        return []
    title = f"{metric} by {printable(column.column, longest=40)}"
    prompts = "labelled prompts" if labelled else "prompts"
    says = f"{title}, with the number of {prompts}: {_reach(known)}"
    return forest_figure(rows, key, title, says, across=metric, unit=unit)


def _reach(known: Sequence[tuple[float, str]]) -> str:
    """Name the lowest and the highest; where all are alike, what each is, for none of them is the highest."""
    lowest, highest = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    if lowest[0] < highest[0]:
        return f"from {lowest[1]} to {highest[1]}."
    more = f" and {numbers.count(len(known) - _MOST_ALIKE)} more" if len(known) > _MOST_ALIKE else ""
    return f"{', '.join(said for _, said in known[:_MOST_ALIKE])}{more}."
