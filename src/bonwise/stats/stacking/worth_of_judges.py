"""What each judge of a stack is worth: recovery without it, and the fewest judges that keep most of the recovery."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats import recovery
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference
from bonwise.stats.stacking.folds import Deal
from bonwise.stats.stacking.procedure import Paths, StackPools
from bonwise.stats.stacking.refits import out_of_fold
from bonwise.stats.sums import Floats, Sums

__all__ = ["KEEPS", "JudgeWorth", "Smaller", "worth_of_judges"]

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
    measured: npt.NDArray[np.bool_],
    rule: IntervalRule,
    owners: tuple[int, ...],
) -> tuple[list[JudgeWorth], list[Smaller]]:
    """Leave each judge out in turn, and then judge after judge: always the one whose weight is the least certain.

    Parameters
    ----------
    pools : StackPools
    paths : Paths
        Of all judges.
    deal : Deal
    whole : ndarray of float64, shape (len(Sums._fields), prompts)
        Sums out of fold of the stack of all judges, of the prompts that count.
    measured : ndarray of bool, shape (prompts,)
        These prompts.
    rule : IntervalRule
    owners : tuple of int
        The judge that each feature is of; -1 for none.

    Returns
    -------
    list of JudgeWorth
        One a judge.
    list of Smaller
        From the stack of all judges to that of one.
    """
    count = pools.judges.shape[1]
    singles = []
    for judge in range(count):
        sums = _sums(pools, paths, deal, [one for one in range(count) if one != judge], owners)[:, measured]
        (lost,) = difference([_RECOVERY], whole, sums, rule).values()
        singles.append(JudgeWorth(lost, _recovery(sums)))
    kept = list(range(count))
    path = [Smaller(tuple(kept), _recovery(whole))]
    while len(kept) > 1:
        kept.remove(_least_certain(paths, kept, owners))
        path.append(Smaller(tuple(kept), _recovery(_sums(pools, paths, deal, kept, owners)[:, measured])))
    return singles, path


_RECOVERY = next(one for one in recovery.ESTIMANDS if one.name == "recovery")


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
        mine = [at for at, column in enumerate(columns) if owners[column] == judge]
        return float(weights[mine] @ np.linalg.solve(inverse[np.ix_(mine, mine)], weights[mine]))

    return min(kept, key=cost)
