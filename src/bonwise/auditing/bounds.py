"""What picks are worth whatever the labels are that some prompts, or some cells, lack: worst-case bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import judge_record
from bonwise.auditing.cell_table import CellTable, PoolBlock
from bonwise.auditing.settings import Settings, label_range
from bonwise.report.numbers import Ends, counted, interval, setting
from bonwise.stats import catalog, estimation, top_of_scores
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.table.panel import Panel

__all__ = ["MissingLabels", "Unlabelled", "cell_bounds", "extreme_corners", "recovery_bounds", "said_of_missing"]

_NAMES = ("value_random", "value_judge", "value_oracle", "gain", "recovery", "hit_rate", "top1_accuracy")

_OF_PICKS = {e.name: e for e in catalog.ESTIMANDS if e.name in _NAMES}
_MEANS = [e for e in _OF_PICKS.values() if e.parts is None]
_GAINS = ("gain", "recovery")


class MissingLabels:
    """Metrics of picks with the missing labels that make each smallest, and greatest; estimated when asked for."""

    def __init__(self, panel: Panel, settings: Settings) -> None:
        partly = panel.labelled_cells < panel.sizes
        self._panel, self._some, self._cells = panel, panel.keep(partly), np.repeat(partly, panel.sizes)
        self._known, self._rule = panel.keep(~partly).sums(), settings.rule(panel.labels, panel.clusters)
        self._corners = corner_labels(self._some, _range(panel))
        some, count = self._some, len(self._corners)
        scores, ranked = np.tile(some.scores, count), np.tile(some.ranked, count)
        sums = prompt_sums(scores, self._corners.ravel(), np.tile(some.sizes, count), ranked)
        self._at_corners = sums.reshape(len(sums), count, len(some.sizes))
        self._estimates: dict[str, tuple[Estimate, Estimate]] = {}

    def __contains__(self, name: str) -> bool:
        return name in _OF_PICKS

    def __getitem__(self, name: str) -> tuple[Estimate, Estimate]:
        if name not in self._estimates:
            e = _OF_PICKS[name]
            low, high = (self._estimate(e, corner) for corner in self._extremes(e))
            self._estimates[name] = low, high
        return self._estimates[name]

    def widened(self, metrics: Mapping[str, Estimate], names: Collection[str] = _NAMES) -> dict[str, Estimate]:
        """Return the metrics with the intervals that span those at both ends."""
        return {**metrics, **{name: spanning(metrics[name], self[name]) for name in names}}

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The smallest and the greatest figure of each metric that is defined at both."""
        ends = {name: self._values(e) for name, e in _OF_PICKS.items()}
        known = all(estimate.estimate is not None for estimate in self["recovery"])
        return {name: both for name, both in ends.items() if known or name != "recovery"}

    @cached_property
    def _means(self) -> Mapping[str, Floats]:
        """Metrics that are means over prompts, (corners, prompts) each."""
        means = catalog.functional_of(_MEANS)(Sums(*self._at_corners))
        return {e.name: mean for e, mean in zip(_MEANS, means, strict=True)}

    def _extremes(self, e: Estimand) -> tuple[Ints, Ints]:
        """Return the corners of the prompts that make a metric smallest, and those that make it greatest."""
        if e.parts is None:
            mean = self._means[e.name]
            return (-mean).argmax(axis=0), mean.argmax(axis=0)
        (gain, possible), (gains, possibles) = e.parts(Sums(*self._known)), e.parts(Sums(*self._at_corners))
        (_, least), (_, most) = extreme_corners(float(gain.sum()), float(possible.sum()), gains, possibles)
        return least, most

    def _values(self, e: Estimand) -> tuple[float, float]:
        prompts = np.arange(len(self._some.sizes))
        filled = [self._at_corners[:, corner, prompts].sum(axis=1) for corner in self._extremes(e)]
        low, high = e.of(Sums(*(self._known.sum(axis=1)[:, None] + np.stack(filled, axis=1))))
        return float(low), float(high)

    def _estimate(self, e: Estimand, corner: Ints) -> Estimate:
        panel, labels, owner = self._panel, self._panel.labels.copy(), np.repeat(corner, self._some.sizes)
        labels[self._cells] = self._corners[owner, np.arange(len(owner))]
        filled = replace(panel, labels=labels)
        sums = prompt_sums(panel.scores, labels, panel.sizes, panel.ranked)
        if e.name not in _GAINS:
            return estimation.estimate([e], sums, self._rule)[e.name]
        gains = estimation.estimate([_OF_PICKS[name] for name in _GAINS], sums, self._rule)
        return {**gains, **judge_record.with_no_gain_tests(gains, filled, Sums(*sums), self._rule)}[e.name]


def spanning(found: Estimate, missing: tuple[Estimate, Estimate]) -> Estimate:
    """Return an estimate with the interval that spans those at both ends; none where one of the three has none."""
    lows, highs = zip(*((one.low, one.high) for one in (found, *missing)), strict=True)
    if found.estimate is None or None in lows:
        return replace(found, low=None, high=None, reason=found.reason or "no interval that holds for all labels")
    return replace(found, low=min(lows), high=max(highs))


def said_of_missing(panel: Panel, recovery: Estimate, missing: MissingLabels) -> str:
    """Say how many prompts are left out because they lack some labels, and what these could change."""
    prompts, span = int((panel.labelled_cells < panel.sizes).sum()), spanning(recovery, missing["recovery"])
    lack = "lacks some labels and is" if prompts == 1 else "lack some labels and are"
    low, high = map(setting, _range(panel))
    ends = missing.bounds.get("recovery")
    figure = "undefined" if ends is None else f"within {interval(Ends(None, *ends), 'share')}"
    its = "has none" if span.low is None else f"lies within {interval(span, 'share')}"
    return (
        f"{counted(prompts, 'prompt')} {lack} left out of the estimates: whatever these labels are from {low} to "
        f"{high}, recovery of all is {figure} and its interval {its}."
    )


def corner_labels(panel: Panel, ends: tuple[float, float]) -> Floats:
    """Return labels of all cells, (corners, cells), some of which make any metric of picks extreme in a prompt."""
    low, high = ends
    starts, owner = np.cumsum(panel.sizes) - panel.sizes, np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    missing, top = np.isnan(panel.labels), top_of_scores.at_top(panel.ranked, panel.sizes)
    seen = np.fmax.reduceat(panel.labels, starts)[owner]

    def labels() -> Iterator[Floats]:
        levels = (np.full(len(seen), low), seen, np.full(len(seen), high))
        for at_the_top, below in product(levels, repeat=2):
            yield np.where(top, at_the_top, below)
        for side in (np.flatnonzero(missing & top), np.flatnonzero(missing & ~top)):
            raised = np.full(len(missing), low)
            raised[side[np.unique(owner[side], return_index=True)[1]]] = high
            yield raised

    return np.stack([np.where(missing, label, panel.labels) for label in labels()])


def _range(panel: Panel) -> tuple[float, float]:
    """Return the range of the labels: 0 to 1 where all lie in it or a scale is declared, else of those there are."""
    ends = label_range(panel.labels)
    return ends if np.isfinite(ends).all() else (float(np.nanmin(panel.labels)), float(np.nanmax(panel.labels)))


class Unlabelled(NamedTuple):
    """Prompts without labels: how many candidates, how many of them the judge ties at the top."""

    sizes: Floats  # K, shape (prompts,)
    tied: Floats  # |A|, shape (prompts,)


def recovery_bounds(
    gain: float, possible: float, missing: Unlabelled, label_range: tuple[float, float]
) -> tuple[float, float]:
    """Bound recovery over all prompts from labelled sums: linear in how many stand high, so corners count."""
    vertices = _vertices(missing, label_range[1] - label_range[0])
    (least, _), (most, _) = extreme_corners(gain, possible, *vertices)
    return least, most


def _vertices(missing: Unlabelled, width: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt at each corner, shapes (corners, prompts)."""
    K, a = missing
    none, one = np.zeros_like(K), np.ones_like(K)
    corners = ((one, none), (a, none), (none, np.minimum(K - a, 1)), (none, K - a), (none, none))
    gains = [t / a - (t + m) / K for t, m in corners]
    possibles = [((t + m) > 0) - (t + m) / K for t, m in corners]
    return width * np.array(gains), width * np.array(possibles)


def extreme_corners(
    gain: float, possible: float, gains: Floats, possibles: Floats
) -> tuple[tuple[float, Ints], tuple[float, Ints]]:
    """Minimise and maximise a ratio of sums over corners of each prompt by Dinkelbach's iteration, corners too."""
    least, most = (_extreme_corner(gain, possible, gains, possibles, sign) for sign in (-1.0, 1.0))
    return least, most


def _extreme_corner(
    gain: float, possible: float, gains: Floats, possibles: Floats, sign: float
) -> tuple[float, Ints]:
    prompts = np.arange(gains.shape[1])
    choice = possibles.argmax(axis=0)
    if possible + float(possibles[choice, prompts].sum()) <= 0:
        return 0.0, choice
    rho = (gain + float(gains[choice, prompts].sum())) / (possible + float(possibles[choice, prompts].sum()))
    while True:
        better = (sign * (gains - rho * possibles)).argmax(axis=0)
        numerator = gain + float(gains[better, prompts].sum())
        denominator = possible + float(possibles[better, prompts].sum())
        # Each step improves until the optimum is reached; from there on only rounding moves.
        if denominator <= 0 or sign * (numerator / denominator - rho) <= 1e-12 * max(1.0, abs(rho)):
            return rho, choice
        rho, choice = numerator / denominator, better


_STEPS = 200  # Dinkelbach's iteration ends within a dozen; this only guards against rounding


def cell_bounds(table: CellTable, label_range: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Bound figures of the table over all that its missing labels could be.

    Infinite ends of `label_range` leave infinite bounds wherever a label is missing, and leave ``recovery`` out.

    For a given ratio r of recovery, which Dinkelbach's iteration finds, a prompt contributes
    ``sum c_i O_i - r max O`` with ``c_i = w_i - (1 - r) / K``, w_i the judge's weights. Given the largest label M,
    missing labels with c_i > 0 stand at M and others at lo, linear in M: M is the largest label seen, or hi.
    """
    low, high = label_range
    n = table.prompts
    random = [_linear(block, np.full(block.S.shape, 1 / block.K), label_range) for block in table.blocks]
    judge = [_linear(block, block.contrast + 1 / block.K, label_range) for block in table.blocks]
    gain = [_linear(block, block.contrast, label_range) for block in table.blocks]
    oracle = [_largest(block, label_range) for block in table.blocks]
    found = {
        name: (sum(part[0] for part in parts) / n, sum(part[1] for part in parts) / n)
        for name, parts in (
            ("value_random", random),
            ("value_judge", judge),
            ("value_oracle", oracle),
            ("gain", gain),
        )
    }
    complete = bool(table.labelled.all())
    if complete or np.isfinite([low, high]).all():
        ends = _recovery(table.blocks, *((0.0, 0.0) if complete else (low, high)))
        if ends is not None:
            found["recovery"] = ends
    return found


def _linear(block: PoolBlock, c: Floats, label_range: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the greatest sum over prompts of ``sum c_i O_i``."""
    seen = float(np.sum(c * block.O))
    c = c[~block.L]
    up, down = float(c[c > 0].sum()), float(c[c < 0].sum())
    low, high = label_range

    def at(end: float, other: float) -> float:
        return seen + (up * end if up else 0.0) + (down * other if down else 0.0)

    return at(low, high), at(high, low)


def _largest(block: PoolBlock, label_range: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the greatest sum over prompts of the largest label."""
    low, high = label_range
    seen = np.where(block.L, block.O, -np.inf).max(axis=1)
    at_most = np.where(block.complete, seen, np.maximum(seen, high))
    at_least = np.where(block.complete, seen, np.maximum(seen, low))
    return float(at_least.sum()), float(at_most.sum())


def _recovery(blocks: tuple[PoolBlock, ...], low: float, high: float) -> tuple[float, float] | None:
    least = _extreme_of_blocks(blocks, low, high, sign=-1.0)
    most = _extreme_of_blocks(blocks, low, high, sign=1.0)
    return None if least is None or most is None else (least, most)


def _extreme_of_blocks(blocks: tuple[PoolBlock, ...], low: float, high: float, *, sign: float) -> float | None:
    """Minimise or maximise the sum of J - R over that of M - R; None where the latter can only be 0."""
    gain = possible = 0.0
    for block in blocks:
        parts = _start(block, low, high)
        gain, possible = gain + parts[0].sum(), possible + parts[1].sum()
    scale = sum(float(np.abs(block.O).sum()) for block in blocks) + abs(low) + abs(high)
    if not possible > 1e-12 * scale:
        return None
    r = gain / possible
    for _ in range(_STEPS):
        gain = possible = 0.0
        for block in blocks:
            parts = _best(block, r, low, high, sign)
            gain, possible = gain + parts[0].sum(), possible + parts[1].sum()
        # Each step improves until the optimum is reached; from there on only rounding moves.
        if possible <= 1e-12 * scale or sign * (gain / possible - r) <= 1e-13 * max(1.0, abs(r)):
            break
        r = gain / possible
    return float(r)


def _start(block: PoolBlock, low: float, high: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt under labels that differ if they can: the ratio is defined there."""
    O = np.where(block.L, block.O, low)
    gains, possibles = _parts(block, O)
    some = np.flatnonzero(~block.complete)
    O[some, (~block.L).argmax(axis=1)[some]] = high
    raised = _parts(block, O)
    apart = raised[1] > possibles
    return np.where(apart, raised[0], gains), np.where(apart, raised[1], possibles)


def _best(block: PoolBlock, r: float, low: float, high: float, sign: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt under the labels that make ``sign (J - R - r (M - R))`` greatest."""
    c = sign * (block.contrast + 1 / block.K - (1 - r) / block.K)
    missing = ~block.L
    seen = np.maximum(np.where(block.L, block.O, -np.inf).max(axis=1, keepdims=True), low)
    helping = missing & (c > 0)
    at_low = np.where(block.L, block.O, low)
    at_seen, at_high = np.where(helping, seen, at_low), np.where(helping, high, at_low)
    raised = at_high.copy()
    cheapest = np.where(missing, c, -np.inf).argmax(axis=1)
    some = np.flatnonzero(~block.complete)
    raised[some, cheapest[some]] = high
    gains, possibles = _parts(block, at_seen)
    for labels in (at_high, raised):
        others = _parts(block, labels)
        better = sign * (others[0] - r * others[1]) > sign * (gains - r * possibles)
        gains, possibles = np.where(better, others[0], gains), np.where(better, others[1], possibles)
    return gains, possibles


def _parts(block: PoolBlock, O: Floats) -> tuple[Floats, Floats]:
    gains: Floats = np.einsum("xi,xi->x", block.contrast, O)
    return gains, O.max(axis=1) - O.mean(axis=1)
