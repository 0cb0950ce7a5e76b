"""Metrics of a stack out of fold, of the judge that is best by labels, and their difference, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats import agreement, recovery, ties, top1, within_prompt
from bonwise.stats.clusters import too_few_clusters
from bonwise.stats.end_laws import EffectiveShare
from bonwise.stats.estimand import Estimand
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule, JudgeSums, estimate, from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import Exact, Law, Student
from bonwise.stats.stacking.folds import Deal
from bonwise.stats.stacking.procedure import Paths, StackPools
from bonwise.stats.stacking.refits import OutOfFold, out_of_fold
from bonwise.stats.sums import Floats, Sums

__all__ = ["METRICS", "StackFigures", "stack_figures"]

METRICS: tuple[Estimand, ...] = tuple(
    one
    for one in (
        *within_prompt.ESTIMANDS,
        *ties.ESTIMANDS,
        *agreement.ESTIMANDS,
        *top1.ESTIMANDS,
        *recovery.ESTIMANDS,
    )
    if one.group != "Over all cells"
)
"""What a stack has of the metrics of a judge: its utilities compare candidates of one prompt only."""

COMPARED = ("gain", "recovery")

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StackFigures:
    """What a stack is worth."""

    metrics: dict[str, Estimate]
    """Of the stack, out of fold."""
    best: dict[str, Estimate]
    """Gain and recovery of picking by the judge that is the best on the other folds."""
    difference: dict[str, Estimate]
    """Of gain and recovery: the stack less that judge."""
    whole: OutOfFold = field(repr=False)
    """With all prompts."""


def stack_figures(pools: StackPools, paths: Paths, deal: Deal, measured: _Mask, rule: IntervalRule) -> StackFigures:
    """Estimate the metrics of the whole procedure, refitted without each fold and without each group.

    The standard error is that of the jackknife over groups of prompts: all folds are repeated without the group, so
    that it counts how the fits, the ridge and the choice of the best judge vary.

    Parameters
    ----------
    pools : StackPools
    paths : Paths
    deal : Deal
    measured : ndarray of bool, shape (prompts,)
        The prompts that count: of which every candidate is labelled.
    rule : IntervalRule
        For these prompts.
    """
    groups = range(int(deal.groups.max()) + 1)
    whole, *left_out = out_of_fold(pools, paths, deal, (-1, *groups))
    kept = [measured, *(measured & (deal.groups[deal.parts] != group) for group in groups)]
    values = np.stack([_values(pools, one, some) for one, some in zip((whole, *left_out), kept, strict=True)], axis=1)
    sample = JudgeSums([whole.sums(pools)[:, measured]], rule)
    rows = dict(zip(_rows(), values, strict=True))
    by_name = {one.name: one for one in METRICS}
    of_labels = estimate([one for one in METRICS if not one.on_scores], sample.matrices[0], rule)
    return StackFigures(
        {one.name: of_labels.get(one.name) or _estimate(one, rows[one.name], sample) for one in METRICS},
        {name: _estimate(by_name[name], rows[f"best {name}"], sample) for name in COMPARED},
        {name: _difference(by_name[name], rows[name] - rows[f"best {name}"], sample) for name in COMPARED},
        whole,
    )


def _rows() -> list[str]:
    return [*(one.name for one in METRICS), *(f"best {name}" for name in COMPARED)]


def _values(pools: StackPools, found: OutOfFold, kept: _Mask) -> Floats:
    """Return the metrics over some of the prompts, each the mean over the partitions."""
    by_partition = []
    for matrix, best in zip(found.by_partition(pools), found.best_gains, strict=True):
        totals = Sums(*matrix[:, kept].sum(axis=1))
        room, gain = float(totals.M - totals.R), float(best[kept].sum())
        share = gain / room if room > 0 else np.nan
        by_partition.append([*(one.of(totals) for one in METRICS), gain / float(totals.prompts), share])
    values: Floats = np.mean(np.array(by_partition, dtype=np.float64), axis=0)
    return values


def _estimate(e: Estimand, values: Floats, sample: JudgeSums) -> Estimate:
    limits, n = sample.limits(e), sample.count(e)
    value = float(values[0])
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    if e.parts is not None and sample.fieller(e.parts, limits).at(sample.rule.confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    bounded = e.average_over is not None and not e.contrast and all(map(math.isfinite, limits))

    def law(scatter: Scatter) -> Law | None:
        inside = bounded and limits[0] < value < limits[1] and scatter.se > 0
        return EffectiveShare(value, scatter.se, scatter.df, limits) if inside else None

    exact = (lambda: sample.exact(e, value)) if e.average_over is not None else None
    return _interval(values, n, limits, sample, law, exact)


def _difference(e: Estimand, values: Floats, sample: JudgeSums) -> Estimate:
    n, value = sample.count(e), float(values[0])
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    return _interval(values, n, (-np.inf, np.inf), sample, lambda _: None)


def _interval(
    values: Floats,
    n: int,
    limits: tuple[float, float],
    sample: JudgeSums,
    law: Callable[[Scatter], Law | None],
    exact: Callable[[], Exact] | None = None,
) -> Estimate:
    value, left_out = float(values[0]), values[1:]
    if reason := too_few_clusters(sample.rule.clusters):
        return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
    found = Scatter.without(left_out)
    # Student's t counts the groups; how heavy their tails are cannot be told from twenty of them.
    scatter = Scatter(found.se, len(left_out) - 1.0)
    chosen = law(scatter) or Student(value, scatter.se, scatter.df, limits)
    return from_jackknife(value, scatter, n, limits, sample.rule.confidence, exact=exact, law=chosen)
