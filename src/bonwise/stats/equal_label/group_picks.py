"""How often picks fall on a group of candidates, and how often the best label does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_sums
from bonwise.stats.jackknife import Jackknife, from_left_out
from bonwise.stats.sums import Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["GroupPicks", "group_picks"]

_Ints = npt.NDArray[np.int64]


class GroupPicks(NamedTuple):
    """Picks of a group, over the prompts that hold candidates of the group and others."""

    prompts: int
    """Those prompts, and the candidates of the group in them."""
    candidates: int
    """Those prompts, and the candidates of the group in them."""
    chance: float
    """Share of random picks."""
    shares: Jackknife
    """Of the judge's picks, of the best labels, and the first less the second; ties share a pick."""


def group_picks(
    scores: Floats,
    labels: Floats,
    group: npt.NDArray[np.bool_],
    sizes: _Ints,
    clusters: _Ints | None = None,
) -> GroupPicks | None:
    """Count the picks that fall on a group; None where no prompt holds the group and others.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    group : ndarray of bool, shape (cells,)
    sizes : ndarray of int64, shape (prompts,)
    clusters : ndarray of int64, shape (prompts,), optional

    Examples
    --------
    >>> scores, labels = np.array([1.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])
    >>> found = group_picks(scores, labels, np.array([True, False] * 2), np.array([2, 2]))
    >>> found.prompts, found.chance, found.shares.estimate.tolist()
    (2, 0.5, [0.75, 0.0, 0.75])
    """
    starts = np.cumsum(sizes) - sizes
    members = np.add.reduceat(group.astype(np.float64), starts)
    both = (members > 0) & (members < sizes)
    if not both.any():
        return None
    shares = []
    for values in (scores, labels):
        top = at_top(values, sizes)
        shares.append(
            np.add.reduceat((top & group).astype(np.float64), starts) / np.add.reduceat(top.astype(float), starts)
        )
    rows = np.array([*shares, shares[0] - shares[1], np.ones(len(sizes))])[:, both]
    units = cluster_sums(rows, None if clusters is None else clusters[both])
    totals = units.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (totals[:3, None] - units[:3]) / (totals[3] - units[3])
    return GroupPicks(
        int(both.sum()),
        int(members[both].sum()),
        float((members / sizes)[both].mean()),
        from_left_out(totals[:3] / totals[3], left),
    )
