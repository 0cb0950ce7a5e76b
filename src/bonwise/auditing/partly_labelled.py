"""A few prompts lack some of their labels: what the picks are worth whatever these labels are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import bounds, judge_record
from bonwise.auditing.settings import Settings, label_range
from bonwise.report.numbers import Ends, counted, interval, setting
from bonwise.stats import catalog, estimation, top_of_scores
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.table.panel import Panel

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
        (_, least), (_, most) = bounds.extreme_corners(float(gain.sum()), float(possible.sum()), gains, possibles)
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
