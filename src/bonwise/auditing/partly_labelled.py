"""A few prompts lack some of their labels: what the picks are worth whatever these labels are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from bonwise.auditing.bounds import extreme_corners
from bonwise.auditing.cell_table import Ints
from bonwise.auditing.judge_record import Missing, with_no_gain_tests
from bonwise.auditing.settings import Settings, label_range
from bonwise.report.numbers import Ends, counted, interval, setting
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.stats.top_of_scores import at_top
from bonwise.table.panel import Panel

__all__ = ["corner_labels", "missing_bounds", "said_of_missing", "spanning", "with_missing_labels"]

_NAMES = ("value_random", "value_judge", "value_oracle", "gain", "recovery", "hit_rate", "top1_accuracy")

_OF_PICKS = [e for e in ESTIMANDS if e.name in _NAMES]
_GAINS = [e for e in _OF_PICKS if e.name in ("gain", "recovery")]


def with_missing_labels(panel: Panel, settings: Settings) -> Missing:
    """Estimate metrics of picks with the missing labels that make each of them smallest, and greatest."""
    partly = panel.labelled_cells < panel.sizes
    some, cells = panel.keep(partly), np.repeat(partly, panel.sizes)
    rule, corners = settings.rule(panel.labels, panel.clusters), corner_labels(some, _range(panel))
    sums_at = np.stack([prompt_sums(some.scores, one, some.sizes, some.ranked) for one in corners], axis=1)
    known = panel.keep(~partly).sums()

    def at(e: Estimand, sign: float) -> Estimate:
        labels, corner = panel.labels.copy(), np.repeat(_extreme(e, known, sums_at, sign), some.sizes)
        labels[cells] = corners[corner, np.arange(len(corner))]
        filled = replace(panel, labels=labels)
        sums = filled.sums()
        found = estimate(_GAINS if e in _GAINS else [e], sums, rule)
        tested = with_no_gain_tests(found, filled, Sums(*sums), rule) if e in _GAINS else {}
        return tested.get(e.name, found[e.name])

    return {e.name: (at(e, -1.0), at(e, 1.0)) for e in _OF_PICKS}


def missing_bounds(missing: Missing) -> dict[str, tuple[float, float]]:
    """Return the smallest and the greatest figure of each metric that is defined at both."""
    ends = {name: (low.estimate, high.estimate) for name, (low, high) in missing.items()}
    return {name: (low, high) for name, (low, high) in ends.items() if low is not None and high is not None}


def spanning(found: Estimate, missing: tuple[Estimate, Estimate]) -> Estimate:
    """Return an estimate with the interval that spans those at both ends; none where one of the three has none."""
    lows, highs = zip(*((one.low, one.high) for one in (found, *missing)), strict=True)
    if found.estimate is None or None in lows:
        return replace(found, low=None, high=None, reason=found.reason or "no interval that holds for all labels")
    return replace(found, low=min(lows), high=max(highs))


def said_of_missing(panel: Panel, recovery: Estimate, missing: tuple[Estimate, Estimate]) -> str:
    """Say how many prompts are left out because they lack some labels, and what these could change."""
    prompts, span = int((panel.labelled_cells < panel.sizes).sum()), spanning(recovery, missing)
    lack = "lacks some labels and is" if prompts == 1 else "lack some labels and are"
    low, high = map(setting, _range(panel))
    ends = missing_bounds({"recovery": missing}).get("recovery")
    figure = "undefined" if ends is None else f"within {interval(Ends(None, *ends), 'share')}"
    its = "has none" if span.low is None else f"lies within {interval(span, 'share')}"
    return (
        f"{counted(prompts, 'prompt')} {lack} left out of the estimates: whatever these labels are from {low} to "
        f"{high}, recovery of all is {figure} and its interval {its}."
    )


def corner_labels(panel: Panel, ends: tuple[float, float]) -> Floats:
    """Return labels of all cells, shape (corners, cells), some of which make any metric of picks extreme in a prompt.

    What is missing at the judge's top, and what is missing below, stands at the low end, at the largest label seen or
    at the high end; or all of it at the low end but for one candidate at the top or below.
    """
    low, high = ends
    starts, owner = np.cumsum(panel.sizes) - panel.sizes, np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    missing, top = np.isnan(panel.labels), at_top(panel.ranked, panel.sizes)
    seen = np.fmax.reduceat(panel.labels, starts)[owner]

    def labels() -> Iterator[Floats]:
        levels = (np.full(len(seen), low), seen, np.full(len(seen), high))
        for at_the_top, below in product(levels, repeat=2):
            yield np.where(top, at_the_top, below)
        for side in (np.flatnonzero(missing & top), np.flatnonzero(missing & ~top)):
            raised = np.full(len(missing), low)
            raised[side[np.unique(owner[side], return_index=True)[1]]] = high
            yield raised

    return np.stack([np.where(missing, one, panel.labels) for one in labels()])


def _range(panel: Panel) -> tuple[float, float]:
    """Return the range of the labels: 0 to 1 where all lie in it or a scale is declared, else of those there are."""
    ends = label_range(panel.labels)
    return ends if np.isfinite(ends).all() else (float(np.nanmin(panel.labels)), float(np.nanmax(panel.labels)))


def _extreme(e: Estimand, known: Floats, sums: Floats, sign: float) -> Ints:
    """Return the corner of each prompt that makes a metric smallest, or greatest."""
    if e.parts is None:
        corner: Ints = (sign * e.of(Sums(*sums))).argmax(axis=0)
        return corner
    (gain, possible), (gains, possibles) = e.parts(Sums(*known)), e.parts(Sums(*sums))
    return extreme_corners(float(gain.sum()), float(possible.sum()), gains, possibles, sign=sign)[1]
