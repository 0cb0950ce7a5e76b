"""What the prompts so far add up to, cluster by cluster: cumulative sums of powers of the clusters' sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.sums import Floats

__all__ = ["UnitSums"]

_HIGHEST = 4
_TINY = 1e-12
"""Of the largest denominator: a numerator below that is 0 but for rounding."""


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums over each prompt's cluster, before and after that prompt; without clusters a prompt is its own.

    Examples
    --------
    >>> sums = UnitSums.of(np.array([1.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0]), np.array([7, 4, 7]))
    >>> sums.before.tolist(), sums.after.tolist()
    ([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]], [[1.0, 0.0, 3.0], [2.0, 2.0, 4.0]])
    """

    count: Floats
    """Clusters so far."""
    new: npt.NDArray[np.bool_]
    """Whether the prompt is the first one of its cluster."""
    before: Floats
    """Of numerator and denominator; 0 before the first prompt."""
    after: Floats
    """Of numerator and denominator; 0 before the first prompt."""

    @classmethod
    def of(cls, numerator: Floats, denominator: Floats, clusters: npt.NDArray[np.int64] | None) -> UnitSums:
        """Sum up prompts in the order in which they came."""
        values = np.array([numerator, denominator], dtype=np.float64)
        prompts = values.shape[1]
        if clusters is None:
            return cls(np.arange(1.0, prompts + 1), np.ones(prompts, dtype=bool), np.zeros_like(values), values)
        codes, _ = cluster_codes(clusters)
        together = np.argsort(codes, kind="stable")
        first = np.diff(codes[together], prepend=-1) != 0
        sums = values[:, together].cumsum(axis=1)
        earlier = sums - values[:, together]
        starts = np.flatnonzero(first)
        earlier -= np.repeat(earlier[:, starts], np.diff(np.append(starts, prompts)), axis=1)
        before, new = np.empty_like(values), np.empty(prompts, dtype=bool)
        before[:, together], new[together] = np.where(first, 0.0, earlier), first
        return cls(np.cumsum(new, dtype=np.float64), new, before, before + values)

    def powers(self) -> dict[tuple[int, int], Floats]:
        """Return after each prompt the sums over clusters of u^j v^k, by (j, k), up to the fourth order.

        u and v are the sums of a cluster, both less their last mean: powers of values far from 0 would cancel.
        """
        if not len(self.count):
            middle = np.zeros((2, 1))
        else:
            middle = (self.after - self.before).sum(axis=1, keepdims=True) / self.count[-1]
        after, before = self.after - middle, np.where(self.new, 0.0, self.before - middle)
        found = {}
        for j in range(_HIGHEST + 1):
            for k in range(_HIGHEST + 1 - j):
                added = after[0] ** j * after[1] ** k
                if not self.new.all():
                    added = added - np.where(self.new, 0.0, before[0] ** j * before[1] ** k)
                found[j, k] = np.cumsum(added)
        return found

    def telling(self) -> Floats:
        """Return the clusters so far with a denominator above 0 and a numerator other than 0."""
        least = _TINY * np.max(self.after[1], initial=0.0)
        told = [(sums[1] > least) & (np.abs(sums[0]) > least) for sums in (self.before, self.after)]
        return np.cumsum(told[1].astype(np.float64) - told[0])
