"""Two judges on the same labelled cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.cells.cell_intervals import ContributedIntervals, limits_of
from bonwise.stats.cells.results import LabelledCellFigures
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference
from bonwise.stats.level_bias import level_bias_difference

__all__ = ["compare_cells"]


def compare_cells(first: LabelledCellFigures, second: LabelledCellFigures, rule: IntervalRule) -> dict[str, Estimate]:
    """Estimate metric differences, first judge minus second, paired by prompt.

    Parameters
    ----------
    first, second : LabelledCellFigures
        Of the same prompts in the same order, with the same labels.
    rule : IntervalRule
        Its confidence and label range.

    Returns
    -------
    dict of str to Estimate
        In the order of the catalogue. Two recoveries share their denominator, for which the mean of what the two
        estimates of it hold of a prompt stands; values of the judges differ as their gains do, and figures of the
        labels alone not at all.

    Examples
    --------
    >>> from bonwise.stats.cells.figures import cell_figures
    >>> from bonwise.stats.cells.table import CellTable
    >>> rng = np.random.default_rng(1)
    >>> labels = np.where(rng.random(800) < .8, rng.random(800), np.nan)
    >>> judges = [CellTable(np.full(200, 4), rng.random(800), labels) for _ in range(2)]
    >>> one, other = (cell_figures(judge, IntervalRule()) for judge in judges)
    >>> found = compare_cells(one, other, IntervalRule())["gain"]
    >>> round(found.estimate - one.metrics["gain"].estimate + other.metrics["gain"].estimate, 12) + 0.0
    0.0
    """
    clustered = int(first.units.max()) + 1 < len(first.units)
    rule = replace(rule, kind="default", clusters=first.units if clustered else None)
    on_scores = [e for e in ESTIMANDS if not e.on_labels]
    found = difference(on_scores, first.score_sums, second.score_sums, rule)
    intervals = ContributedIntervals(first.units, rule)
    out = {}
    for e in ESTIMANDS:
        one = found[e.name] if e.name in found else _difference(e, first, second, intervals).with_method("cells")
        out[e.name] = one
    level = level_bias_difference(first.metrics["level_bias"], second.metrics["level_bias"], rule.confidence)
    return {**out, "level_bias": level.with_method("cells")}


def _difference(
    e: Estimand, first: LabelledCellFigures, second: LabelledCellFigures, intervals: ContributedIntervals
) -> Estimate:
    one, other = first.metrics[e.name], second.metrics[e.name]
    n = min(one.n, other.n)
    if one.estimate is None or other.estimate is None:
        return Estimate.undefined((one if one.estimate is None else other).reason or "undefined", n)
    if e.name == "recovery":
        above = first.contributions["gain"] - second.contributions["gain"]
        below = (first.contributions["oracle_gain"] + second.contributions["oracle_gain"]) / 2
        return intervals.ratio(above, below, n, recovery=False)
    if e.name == "inflation":
        parts = _inflation(first) - _inflation(second)
        return intervals.mean(parts, n, (-np.inf, np.inf), alike=False)
    low, high = limits_of(e, intervals.rule)
    if not e.on_scores:
        parts = np.zeros(len(first.units))
    else:
        name = "gain" if e.name == "value_judge" else e.name
        parts = first.contributions[name] - second.contributions[name]
    return intervals.mean(parts, n, (low - high, high - low), alike=e.average_over is not None)


def _inflation(figures: LabelledCellFigures) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Linearise 1 - within_r / global_r in what prompts contribute."""
    within, overall = figures.contributions["within_r"], figures.contributions["global_r"]
    r, g = float(within.mean()), float(overall.mean())
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = 1 - r / g - (within - r) / g + r * (overall - g) / g**2
    return found
