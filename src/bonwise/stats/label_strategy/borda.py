"""From verdicts on pairs to a score a candidate: Borda's count as a share, over all pairs or some of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["Pairs", "borda", "connected_edges", "every_pair"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class Pairs(NamedTuple):
    """Pairs of candidates, each of shape (pairs,), sorted by prompt."""

    prompt: _Ints  # position of the prompt
    i: _Ints  # position of the cell of one candidate
    j: _Ints  # of the other, i < j

    def some(self, kept: _Mask | _Ints) -> Pairs:
        """Return some of the pairs, by a mask or by position."""
        return Pairs(self.prompt[kept], self.i[kept], self.j[kept])


def every_pair(sizes: _Ints) -> Pairs:
    """List every pair of every prompt.

    Parameters
    ----------
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt; cells are counted through.

    Examples
    --------
    >>> [part.tolist() for part in every_pair(np.array([2, 3]))]
    [[0, 1, 1, 1], [0, 2, 2, 3], [1, 3, 4, 4]]
    """
    starts = np.cumsum(sizes) - sizes
    corners = {size: np.triu_indices(size, 1) for size in np.unique(sizes).tolist()}
    many = [(x, *corners[size]) for x, size in enumerate(sizes.tolist())]
    if not many:
        none = np.zeros(0, dtype=np.int64)
        return Pairs(none, none, none)
    return Pairs(
        np.repeat(np.arange(len(sizes)), sizes * (sizes - 1) // 2),
        np.concatenate([starts[x] + i for x, i, _ in many]),
        np.concatenate([starts[x] + j for x, _, j in many]),
    )


def borda(pairs: Pairs, values: Floats, cells: int) -> Floats:
    """Return what each candidate earned on average over its pairs.

    Parameters
    ----------
    pairs : Pairs
    values : ndarray of float64, shape (pairs,)
        What candidate `i` earned, from 0 to 1; `j` earned the rest.
    cells : int
        Candidates of all prompts.

    Returns
    -------
    ndarray of float64, shape (cells,)
        From 0 to 1. A candidate that is in no pair gets 1/2, as one that wins as often as it loses.

    Examples
    --------
    >>> pairs = Pairs(np.zeros(2, int), np.array([0, 0]), np.array([1, 2]))
    >>> borda(pairs, np.array([.5, 1.]), 4).tolist()
    [0.75, 0.5, 0.0, 0.5]
    """
    both = np.concatenate([pairs.i, pairs.j])
    earned = np.bincount(both, weights=np.concatenate([values, 1 - values]), minlength=cells)
    count = np.bincount(both, minlength=cells)
    shares: Floats = np.divide(earned, count, out=np.full(cells, 0.5), where=count > 0)
    return np.round(shares, TIE_DECIMALS)


def connected_edges(pairs: Pairs, edges: _Ints, seed: int) -> _Mask:
    """Draw some pairs of each prompt so that they tie together as many of its candidates as they can.

    Pairs come in random order; those that join two groups of candidates not yet tied together are taken first, the
    others fill up.

    Parameters
    ----------
    pairs : Pairs
    edges : ndarray of int64, shape (prompts,)
        Pairs to draw of each prompt; all where there are no more.
    seed : int

    Returns
    -------
    ndarray of bool, shape (pairs,)

    Examples
    --------
    >>> pairs = every_pair(np.array([4]))
    >>> chosen = connected_edges(pairs, np.array([3]), seed=0)
    >>> int(chosen.sum()), sorted(set(pairs.i[chosen]) | set(pairs.j[chosen])) == [0, 1, 2, 3]
    (3, True)
    """
    chosen = np.zeros(len(pairs.prompt), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(chosen))
    order = order[np.argsort(pairs.prompt[order], kind="stable")]
    prompts, first = np.unique(pairs.prompt[order], return_index=True)
    for x, its in zip(prompts.tolist(), np.split(order, first[1:]), strict=True):
        chosen[_tree_first(pairs, its, int(edges[x]))] = True
    return chosen


def _tree_first(pairs: Pairs, order: _Ints, edges: int) -> list[int]:
    """Take the pairs that join two groups, in this order, then the others."""
    group: dict[int, int] = {}
    joining: list[int] = []
    others: list[int] = []
    for at in order.tolist():
        one, other = (_root(group, int(end)) for end in (pairs.i[at], pairs.j[at]))
        group[one] = other
        (others if one == other else joining).append(at)
    return [*joining, *others][:edges]


def _root(group: dict[int, int], cell: int) -> int:
    while group.setdefault(cell, cell) != cell:
        cell = group[cell]
    return cell
