"""Patterns of labels that a pool could have had, and how likely each was."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from bonwise.stats.cells.modelled import ModelledBlock
from bonwise.stats.cells.table import Bools
from bonwise.stats.sums import Floats

__all__ = ["complete_chance", "incomplete_patterns"]

_ALL_OF = 6  # candidates up to which every pattern is gone through; beyond, some are drawn
_DRAWN = 64


def complete_chance(one: ModelledBlock) -> Floats:
    """Return the probability that a prompt is labelled whole, shape (n,).

    At one rate it is the share of such prompts among those of the size, which holds for labels in bunches as well.
    """
    if one.pi is None:
        return np.full(len(one.block.prompts), float(one.block.complete.mean()))
    found: Floats = one.pi.prod(axis=1)
    return found


def incomplete_patterns(one: ModelledBlock, rng: np.random.Generator) -> Iterator[tuple[Bools, Floats]]:
    """Go through patterns that leave a label out, for the complete pools of a block.

    Parameters
    ----------
    one : ModelledBlock
    rng : Generator
        Draws 64 patterns a pool where there are more than 6 candidates.

    Yields
    ------
    pattern : ndarray of bool, shape (m, K)
        Of each complete pool.
    chance : ndarray of float64, shape (m,)
        Of the pattern; over drawn patterns its sum estimates the chance to be incomplete.
    """
    return _every(one) if one.block.K <= _ALL_OF else _drawn(one, rng)


def _by_count(one: ModelledBlock) -> Floats:
    """Return the share of prompts with 0, 1, ..., K labels."""
    found: Floats = np.bincount(one.block.labelled, minlength=one.block.K + 1) / len(one.block.prompts)
    return found


def _every(one: ModelledBlock) -> Iterator[tuple[Bools, Floats]]:
    K, m = one.block.K, int(one.block.complete.sum())
    shares = _by_count(one)
    pi = None if one.pi is None else one.pi[one.block.complete]
    for count in range(K):
        for some in combinations(range(K), count):
            pattern = np.zeros(K, dtype=bool)
            pattern[list(some)] = True
            if pi is not None:
                chance = np.where(pattern, pi, 1 - pi).prod(axis=1)
            elif shares[count] > 0:
                chance = np.full(m, shares[count] / comb(K, count))
            else:
                continue
            yield np.broadcast_to(pattern, (m, K)), chance


def _drawn(one: ModelledBlock, rng: np.random.Generator) -> Iterator[tuple[Bools, Floats]]:
    K, m = one.block.K, int(one.block.complete.sum())
    ends = np.cumsum(_by_count(one))
    pi = None if one.pi is None else one.pi[one.block.complete]
    for draw in range(_DRAWN):
        if pi is not None:
            pattern = rng.random((m, K)) < pi
        else:
            # Numbers of labels are drawn evenly over their law, which cells have them at random.
            at = (draw + rng.random(m)) / _DRAWN
            counts = np.minimum(np.searchsorted(ends, at, side="right"), K)
            pattern = rng.random((m, K)).argsort(axis=1).argsort(axis=1) < counts[:, None]
        yield pattern, np.where(pattern.all(axis=1), 0.0, 1 / _DRAWN)
