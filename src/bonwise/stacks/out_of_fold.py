"""What is measured of a stack: figures out of fold, calibration, each judge's worth, other rules; its document."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.progress import counting
from bonwise.stacks.procedure import Deal, Paths, StackPools, Trained, train
from bonwise.stats import catalog, clusters, estimation, jackknife, laws
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimand, Estimate
from bonwise.stats.sums import Sums


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Utilities out of fold, by partition of the prompts into folds."""

    utilities: Floats = field(repr=False)
    trained: Trained = field(repr=False)
    """What each fold of each partition was scored by, partitions one after the other."""
    best_gains: Floats = field(repr=False)
    """What picks by the judge are worth that was the best on the other folds."""

    def by_partition(self, pools: StackPools) -> list[Floats]:
        """Return the sums of every prompt in each partition."""
        return [pools.sums(utility) for utility in self.utilities]

    def sums(self, pools: StackPools) -> Floats:
        """Return the sums of every prompt, averaged over the partitions."""
        mean: Floats = np.mean(self.by_partition(pools), axis=0)
        return mean


def out_of_fold(pools: StackPools, paths: Paths, deal: Deal, without: Sequence[int] = (-1,)) -> list[OutOfFold]:
    """Score all prompts by other folds, once without each group (-1: none), whose prompts are not to count."""
    folds = int(deal.folds.max()) + 1
    rest = np.stack([deal.folds[deal_at] != fold for deal_at in range(len(deal.folds)) for fold in range(folds)])
    sets = np.concatenate([rest & (deal.groups != group) for group in without])
    trained = train(pools, paths, deal, sets)
    gains, each = pools.judge_gains, len(rest)
    one_by_one = [trained.some(slice(at * each, (at + 1) * each)) for at in range(len(without))]
    return [_scored(pools, deal, path, gains, folds) for path in one_by_one]


def _scored(pools: StackPools, deal: Deal, trained: Trained, gains: Floats, folds: int) -> OutOfFold:
    utilities = np.empty((len(deal.folds), len(pools.labels)))
    best_gains = np.empty((len(deal.folds), len(pools.sizes)))
    for partition, numbers in enumerate(deal.folds):
        of_prompt = numbers[deal.parts] + partition * folds
        of_cell = np.repeat(of_prompt, pools.sizes)
        best_gains[partition] = np.einsum("pj,pj->p", gains, trained.best[of_prompt])
        for fold in range(partition * folds, (partition + 1) * folds):
            cells = of_cell == fold
            utilities[partition, cells] = pools.features[cells] @ trained.coefficients[fold]
    return OutOfFold(utilities, trained, best_gains)


METRICS: tuple[Estimand, ...] = tuple(metric for metric in catalog.ESTIMANDS if metric.group != "Over all cells")
"""What a stack has of the metrics of a judge: its utilities compare candidates of one prompt only."""

COMPARED = ("gain", "recovery")


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


def stack_figures(
    pools: StackPools, paths: Paths, deal: Deal, measured: Mask, rule: estimation.IntervalRule
) -> StackFigures:
    """Estimate metrics of the whole procedure, errors by the jackknife over groups with all folds repeated."""
    groups = range(int(deal.groups.max()) + 1)
    whole, *left_out = out_of_fold(pools, paths, deal, (-1, *groups))
    kept = [measured, *(measured & (deal.groups[deal.parts] != group) for group in groups)]
    values = np.stack(
        [_values(pools, path, some) for path, some in zip((whole, *left_out), kept, strict=True)], axis=1
    )
    sample = estimation.JudgeSums([whole.sums(pools)[:, measured]], rule)
    rows = dict(zip(_rows(), values, strict=True))
    by_name = {metric.name: metric for metric in METRICS}
    of_labels = estimation.estimate([metric for metric in METRICS if not metric.on_scores], sample.matrices[0], rule)
    return StackFigures(
        {
            metric.name: of_labels.get(metric.name) or _estimate(metric, rows[metric.name], sample)
            for metric in METRICS
        },
        {name: _estimate(by_name[name], rows[f"best {name}"], sample) for name in COMPARED},
        {name: _difference(by_name[name], rows[name] - rows[f"best {name}"], sample) for name in COMPARED},
        whole,
    )


def _rows() -> list[str]:
    return [*(metric.name for metric in METRICS), *(f"best {name}" for name in COMPARED)]


def _values(pools: StackPools, found: OutOfFold, kept: Mask) -> Floats:
    """Return the metrics over some of the prompts, each the mean over the partitions."""
    by_partition = []
    for matrix, best in zip(found.by_partition(pools), found.best_gains, strict=True):
        totals = Sums(*matrix[:, kept].sum(axis=1))
        room, gain = float(totals.M - totals.R), float(best[kept].sum())
        share = gain / room if room > 0 else np.nan
        by_partition.append([*(metric.of(totals) for metric in METRICS), gain / float(totals.prompts), share])
    values: Floats = np.mean(np.array(by_partition, dtype=np.float64), axis=0)
    return values


def _estimate(e: Estimand, values: Floats, sample: estimation.JudgeSums) -> Estimate:
    limits, n = sample.limits(e), sample.count(e)
    value = float(values[0])
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    if e.parts is not None and sample.fieller(e.parts, limits).at(sample.rule.confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    bounded = e.average_over is not None and not e.contrast and all(map(math.isfinite, limits))

    def law(scatter: jackknife.Scatter) -> laws.Law | None:
        inside = bounded and limits[0] < value < limits[1] and scatter.se > 0
        return laws.EffectiveShare(value, scatter.se, scatter.df, limits) if inside else None

    exact = (lambda: sample.exact(e, value)) if e.average_over is not None else None
    return _interval(values, n, limits, sample, law, exact)


def _difference(e: Estimand, values: Floats, sample: estimation.JudgeSums) -> Estimate:
    n, value = sample.count(e), float(values[0])
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", n)
    return _interval(values, n, (-np.inf, np.inf), sample, lambda _: None)


def _interval(
    values: Floats,
    n: int,
    limits: tuple[float, float],
    sample: estimation.JudgeSums,
    law: Callable[[jackknife.Scatter], laws.Law | None],
    exact: Callable[[], laws.Exact] | None = None,
) -> Estimate:
    value, left_out = float(values[0]), values[1:]
    if reason := clusters.too_few_clusters(sample.rule.clusters):
        return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
    scatter_left = jackknife.Scatter.without(left_out)
    # Student's t counts the groups; how heavy their tails are cannot be told from twenty of them.
    scatter = jackknife.Scatter(scatter_left.se, len(left_out) - 1.0)
    chosen = law(scatter) or laws.Student(value, scatter.se, scatter.df, limits)
    return estimation.from_jackknife(value, scatter, n, limits, sample.rule.confidence, exact=exact, law=chosen)


KEEPS = 0.95
"""Part of the recovery of the whole stack that a smaller one is to keep."""


@dataclass(frozen=True, eq=False)
class JudgeWorth:
    """What a stack loses without a judge."""

    loss: Estimate
    """Recovery of the stack of all judges less that of the stack without this one, paired by prompt."""
    recovery: float
    """Of the stack without it, out of fold."""


@dataclass(frozen=True)
class Smaller:
    """A stack of some of the judges."""

    judges: tuple[int, ...]
    """Positions, in ascending order."""
    recovery: float = field(default=float("nan"))
    """Out of fold; NaN where it is undefined."""


def worth_of_judges(
    pools: StackPools,
    paths: Paths,
    deal: Deal,
    whole: Floats,
    measured: Mask,
    rule: estimation.IntervalRule,
    owners: tuple[int, ...],
) -> tuple[list[JudgeWorth], list[Smaller]]:
    """Leave each judge out in turn, then judge after judge, the least certain first; `owners` by feature."""
    count = pools.judges.shape[1]
    singles = []
    kept = list(range(count))
    path = [Smaller(tuple(kept), _recovery(whole))]
    with counting("smaller stack", 2 * count - 1) as step:
        for judge in range(count):
            sums = _sums(pools, paths, deal, [other for other in range(count) if other != judge], owners)[:, measured]
            (lost,) = estimation.difference([_RECOVERY], whole, sums, rule).values()
            singles.append(JudgeWorth(lost, _recovery(sums)))
            step()
        while len(kept) > 1:
            kept.remove(_least_certain(paths, kept, owners))
            path.append(Smaller(tuple(kept), _recovery(_sums(pools, paths, deal, kept, owners)[:, measured])))
            step()
    return singles, path


_RECOVERY = next(metric for metric in catalog.VALUES if metric.name == "recovery")


def _sums(pools: StackPools, paths: Paths, deal: Deal, judges: list[int], owners: tuple[int, ...]) -> Floats:
    columns = [at for at, owner in enumerate(owners) if owner in judges or owner < 0]
    some = pools.only(judges, columns)
    (found,) = out_of_fold(some, paths.only(judges, columns, deal), deal)
    return found.sums(some)


def _recovery(sums: Floats) -> float:
    return float(_RECOVERY.of(Sums(*sums.sum(axis=1))))


def _least_certain(paths: Paths, kept: list[int], owners: tuple[int, ...]) -> int:
    """Return the judge whose removal costs the least likelihood, given the others."""
    columns = [at for at, owner in enumerate(owners) if owner in kept or owner < 0]
    middle = len(paths.stack.ridges) // 2
    curved = paths.stack.information[middle].sum(0) + paths.stack.ridges[middle] * np.eye(len(owners))
    slope = curved @ paths.stack.coefficients[middle]
    inverse = np.linalg.inv(curved[np.ix_(columns, columns)])
    # The fit to the kept columns, to the second order from the fit to all of them.
    weights = inverse @ slope[columns]

    def cost(judge: int) -> float:
        held = [at for at, column in enumerate(columns) if owners[column] == judge]
        return float(weights[held] @ np.linalg.solve(inverse[np.ix_(held, held)], weights[held]))

    return min(kept, key=cost)
