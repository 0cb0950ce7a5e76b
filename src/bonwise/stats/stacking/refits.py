"""What the procedure is worth on prompts that it was not fitted to, with intervals that count its refits.

A fold is scored by a fit to all other folds. The jackknife leaves out a group of prompts, repeats all folds without
it under the same fold numbers, and compares what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.stacking.folds import Deal
from bonwise.stats.stacking.procedure import Paths, StackPools, Trained, train
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["OutOfFold", "out_of_fold"]

_Ints = npt.NDArray[np.int64]


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
        return [prompt_sums(one, pools.labels, pools.sizes) for one in self.utilities]

    def sums(self, pools: StackPools) -> Floats:
        """Return the sums of every prompt, averaged over the partitions."""
        found: Floats = np.mean(self.by_partition(pools), axis=0)
        return found


def out_of_fold(pools: StackPools, paths: Paths, deal: Deal, without: Sequence[int] = (-1,)) -> list[OutOfFold]:
    """Score every prompt by fits to the other folds, once for each group that is left out.

    Parameters
    ----------
    pools : StackPools
    paths : Paths
    deal : Deal
    without : sequence of int
        Numbers of the groups that are left out; -1 leaves none out. Prompts of a group that is left out are scored
        too, and are not to be counted.
    """
    folds = int(deal.folds.max()) + 1
    rest = np.stack([deal.folds[one] != fold for one in range(len(deal.folds)) for fold in range(folds)])
    sets = np.concatenate([rest & (deal.groups != group) for group in without])
    trained = train(pools, paths, deal, sets)
    gains, each = pools.judge_gains, len(rest)
    one_by_one = [trained.some(slice(at * each, (at + 1) * each)) for at in range(len(without))]
    return [_scored(pools, deal, one, gains, folds) for one in one_by_one]


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
