"""Totals over pairs of cells of a prompt, and over cells, from whichever are labelled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.stats.cells.modelled import ModelledBlock
from bonwise.stats.cells.table import Bools
from bonwise.stats.sums import Floats

__all__ = ["PairTotals", "pair_totals"]


class PairTotals(NamedTuple):
    """What each prompt contributes to totals, each of shape (prompts,), labelled cells standing for the others.

    ``eSS``, ``eOO``, ``eSO`` are sums of deviations from the prompt's mean, as ``(1 / K) sum_{i<j} dS dO``; scores
    and labels of ``S`` to ``SO`` are centred at one value for all prompts.
    """

    cells: Floats
    S: Floats
    O: Floats
    SS: Floats
    OO: Floats
    SO: Floats
    eSS: Floats
    eOO: Floats
    eSO: Floats
    pairs: Floats
    apart_O: Floats
    apart_both: Floats
    concordant: Floats


def pair_totals(blocks: list[ModelledBlock], prompts: int, centre: float) -> PairTotals:
    """Add up over labelled cells and over pairs of them.

    A cell weighs 1 / pi and a pair 1 / (pi_i pi_j). At one rate these are the inverse of the labelled share of the
    cells, and of the pairs, of the size: this holds for labels in bunches as well.

    Parameters
    ----------
    blocks : list of ModelledBlock
    prompts : int
    centre : float
        Taken off the scores.
    """
    found = np.zeros((len(PairTotals._fields), prompts))
    for one in blocks:
        found[:, one.block.prompts] = _of_block(one, centre)
    return PairTotals(*found)


def _of_block(one: ModelledBlock, centre: float) -> Floats:
    block = one.block
    K, w = block.K, one.weights
    S, O = np.where(block.L, block.S - centre, 0.0), one.O
    per_cell, per_pair = 1.0, 1.0
    if one.pi is None:
        l = block.labelled
        per_cell = block.L.size / max(int(l.sum()), 1)
        per_pair = len(l) * K * (K - 1) / max(int(np.sum(l * (l - 1))), 1)
    total, first = w.sum(axis=1), (w * S).sum(axis=1)
    of_O, of_SO = (w * O).sum(axis=1), (w * S * O).sum(axis=1)
    of_SS, of_OO = (w * S * S).sum(axis=1), (w * O * O).sum(axis=1)
    cells = per_cell * np.stack((total, first, of_O, of_SS, of_OO, of_SO))
    return np.concatenate((cells, _deviations(one) * per_pair / K, per_pair * _signs(one)))


def _deviations(one: ModelledBlock) -> Floats:
    """Return ``sum_{i<j} w_i w_j`` times dS^2, dO^2 and dS dO; exactly 0 where all values seen are equal."""
    block, w = one.block, one.weights
    total = w.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1.0)
    around = []
    for values in (block.S, block.O):
        seen = np.where(block.L, values, np.nan)
        # Centring at a value of the prompt leaves equal values exactly 0.
        one_of_them = np.take_along_axis(seen, block.L.argmax(axis=1)[:, None], axis=1)
        centred = np.where(block.L, values - np.nan_to_num(one_of_them), 0.0)
        around.append(np.where(block.L, centred - (w * centred).sum(axis=1, keepdims=True) / safe, 0.0))
    dS, dO = around
    weight = w * total
    single = block.labelled < 2
    found = np.stack([(weight * x * y).sum(axis=1) for x, y in ((dS, dS), (dO, dO), (dS, dO))])
    found[:, single] = 0.0
    return found


def _signs(one: ModelledBlock) -> Floats:
    """Return weighted counts of pairs: all, with different labels, with both different, in the same order."""
    block, w = one.block, one.weights
    S, O = block.S, block.O
    found = np.zeros((4, len(S)))
    for step in range(1, block.K):
        weight = w[:, step:] * w[:, :-step]
        right, below = S[:, step:] - S[:, :-step], O[:, step:] - O[:, :-step]
        apart: Bools = below != 0
        both = apart & (right != 0)
        same = both & ((right > 0) == (below > 0))
        for row, some in enumerate((None, apart, both, same)):
            found[row] += (weight if some is None else weight * some).sum(axis=1)
    return found
