"""Parts of the prompts that are left out together: folds, and groups of the jackknife."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes

__all__ = ["FOLDS", "GROUPS", "INNER", "PARTITIONS", "Deal", "deal"]

FOLDS, INNER, PARTITIONS, GROUPS = 10, 5, 3, 20
_MOST_PARTS = 200

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Deal:
    """How prompts are dealt out. A cluster of prompts is never divided."""

    parts: _Ints
    """The part of each prompt: what folds and groups are made of. There are at most 200."""
    folds: _Ints
    """Number of the fold that is held out with the part."""
    inner: _Ints
    """Number of the inner fold, by which ridge and fallback are chosen."""
    groups: _Ints
    """Number of the group that the jackknife leaves out with the part."""

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.groups)


def deal(prompts: int, clusters: _Ints | None, *, seed: int, partitions: int = PARTITIONS) -> Deal:
    """Deal prompts out by a seeded generator.

    Parameters
    ----------
    prompts : int
    clusters : ndarray of int64, shape (prompts,), or None
    seed : int
    partitions : int
        How often all prompts are dealt into folds.

    Examples
    --------
    >>> found = deal(40, None, seed=0)
    >>> found.folds.shape, int(found.groups.max())
    ((3, 40), 19)
    """
    rng = np.random.default_rng(seed)
    units, count = (np.arange(prompts), prompts) if clusters is None else cluster_codes(clusters)
    parts = min(count, _MOST_PARTS)
    of_unit = rng.permutation(count) % parts

    def numbers(most: int) -> _Ints:
        return (rng.permutation(parts) % min(most, parts)).astype(np.int64)

    folds = np.array([numbers(FOLDS) for _ in range(partitions)])
    inner = np.array([numbers(INNER) for _ in range(partitions)])
    return Deal(of_unit[units].astype(np.int64), folds, inner, numbers(GROUPS))
