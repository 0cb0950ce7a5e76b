"""Delete-a-group jackknife: each group of prompts left out, and all that was learned learned again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["GROUPS", "Refits", "SumsOf", "deal_groups", "group_error", "refits"]

GROUPS = 20

_Ints = npt.NDArray[np.int64]

SumsOf = Callable[[npt.NDArray[np.bool_]], Floats]
"""Takes a mask of the prompts kept; returns per-prompt sums of shape (sums, prompts kept), all learned on them."""


@dataclass(frozen=True, eq=False)
class Refits:
    """Sums learned on all prompts, and their totals when each group was left out."""

    whole: Floats
    rests: Floats
    """Totals over the prompts that remain, learned on them alone."""

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return int(self.rests.shape[1])

    @property
    def totals(self) -> Floats:
        """Return the totals over all prompts, shape (sums,)."""
        totals: Floats = self.whole.sum(axis=1)
        return totals

    def rows(self, some: slice) -> Refits:
        """Return some of the sums."""
        return Refits(self.whole[some], self.rests[some])


def deal_groups(folds: _Ints, seed: int) -> _Ints:
    """Deal prompts to 20 groups, or half as many as there are prompts, spreading each fold over the groups.

    Of a fold of two prompts or more no group holds all, so that leaving one out leaves every fold.

    Parameters
    ----------
    folds : ndarray of int64, shape (prompts,)
        The fold of each prompt; 4 prompts or more.
    seed : int

    Returns
    -------
    ndarray of int64, shape (prompts,)

    Examples
    --------
    >>> groups = deal_groups(np.array([0, 1, 0, 1]), seed=0)
    >>> np.bincount(groups).tolist(), bool(groups[0] != groups[2])
    ([2, 2], True)
    """
    n = len(folds)
    order = np.lexsort((np.random.default_rng([seed, n]).permutation(n), folds))
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.arange(n) % min(GROUPS, n // 2)
    return groups


def refits(sums_of: SumsOf, groups: _Ints) -> Refits:
    """Learn the sums on all prompts, and again without each group.

    Parameters
    ----------
    sums_of : callable
    groups : ndarray of int64, shape (prompts,)
        The group of each prompt, from 0.

    Examples
    --------
    >>> labels = np.array([1.0, 2.0, 3.0, 6.0])
    >>> found = refits(lambda kept: (labels[kept] - labels[kept].mean())[None, :] ** 2, np.array([0, 0, 1, 1]))
    >>> found.totals.tolist(), found.rests.tolist()
    ([14.0], [[4.5, 0.5]])
    """
    whole = sums_of(np.ones(len(groups), dtype=bool))
    rests = [sums_of(groups != group).sum(axis=1) for group in range(int(groups.max()) + 1)]
    return Refits(whole, np.column_stack(rests))


def group_error(values: Floats) -> Floats:
    """Return the standard error from the values without each group.

    ``se^2 = (G - 1) / G * sum_g (theta_(-g) - mean theta_(-g))^2``, with G - 1 degrees of freedom.

    Parameters
    ----------
    values : ndarray of float64, shape (..., groups)
        NaN where the value is undefined without a group; then the error is NaN.

    Examples
    --------
    >>> float(group_error(np.array([1.0, 2.0, 3.0, 2.0])))
    1.224744871391589
    """
    error: Floats = np.sqrt((values.shape[-1] - 1) * values.var(axis=-1))
    return error
