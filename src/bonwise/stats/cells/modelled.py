"""Predictions of labels from scores, cell by cell, and what is left of the labels beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bonwise.stats.cells.folded_ridge import FoldedRidge
from bonwise.stats.cells.label_rates import name_columns
from bonwise.stats.cells.table import CellTable, Ints, PoolBlock
from bonwise.stats.sums import Floats

__all__ = ["FREQUENT", "ModelledBlock", "SizeGroup", "modelled"]

FREQUENT = 0.05
"""A number of candidates that at least this share of the prompts has is treated on its own."""

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ModelledBlock:
    """Prompts of one size with predictions of their labels."""

    block: PoolBlock
    O: Floats
    """Labels, 0 where there is none, and their predictions by a model that never saw the prompt; both less the mean
    label of the table.
    """
    f: Floats
    """Labels, 0 where there is none, and their predictions by a model that never saw the prompt; both less the mean
    label of the table.
    """
    pi: Floats | None
    """Probability of a label; None where it is one for all."""
    folds: Ints

    @cached_property
    def e(self) -> Floats:
        """Label less prediction, 0 where there is no label."""
        return np.where(self.block.L, self.O - self.f, 0.0)

    @cached_property
    def weights(self) -> Floats:
        """1 / pi of a labelled cell, 0 of another; 1 and 0 at one rate."""
        return self.block.L.astype(float) if self.pi is None else self.block.L / self.pi


@dataclass(frozen=True, eq=False)
class SizeGroup:
    """Prompts that are estimated together: those of one frequent size, with the rare sizes next to it."""

    blocks: tuple[ModelledBlock, ...]
    within: float
    """Variance of what is left of the labels within prompts, and of its mean between prompts."""
    between: float
    """Variance of what is left of the labels within prompts, and of its mean between prompts."""

    @cached_property
    def prompts(self) -> Ints:
        """Positions of the prompts in the table, block after block."""
        return np.concatenate([one.block.prompts for one in self.blocks])


def modelled(table: CellTable, rates: Floats | None, folds: Ints, origin: float) -> tuple[SizeGroup, ...]:
    """Predict every label from scores, size by size.

    Parameters
    ----------
    table : CellTable
        With at least one label.
    rates : ndarray of float64, shape (cells,), or None
    folds : ndarray of int64, shape (prompts,)
    origin : float
        Taken off the labels.
    """
    columns = _columns(table)
    found = []
    for blocks in _together(table):
        ridge = FoldedRidge(columns.shape[1], 1)
        for block in blocks:
            cells, owners = block.cells[block.L], np.broadcast_to(block.prompts[:, None], block.L.shape)[block.L]
            weights = np.ones(len(cells)) if rates is None else 1 / rates[cells]
            ridge.add(columns[cells], (block.O[block.L] - origin)[:, None], weights, folds[owners])
        found.append(_group([_predicted(block, columns, ridge, rates, folds, origin) for block in blocks]))
    return tuple(found)


def _together(table: CellTable) -> list[list[PoolBlock]]:
    """Put each rare size beside the frequent size next to it, the larger of two equally near."""
    frequent = [block.K for block in table.blocks if len(block.prompts) >= FREQUENT * table.prompts]
    if not frequent:
        return [list(table.blocks)]
    groups: dict[int, list[PoolBlock]] = {size: [] for size in frequent}
    for block in table.blocks:
        groups[min(frequent, key=lambda size: (abs(size - block.K), -size))].append(block)
    return list(groups.values())


def _columns(table: CellTable) -> Floats:
    """Return score, score less the prompt's mean, that mean, the prompt's spread; the first two of other judges."""
    own = _standard(table.scores)
    columns = np.empty((4 + 2 * len(table.others), len(own)))
    others = [_standard(scores) for scores in table.others]
    for block in table.blocks:
        S = own[block.cells]
        mean = S.mean(axis=1, keepdims=True)
        spread = S.std(axis=1, keepdims=True)
        spread[block.tops == block.K] = 0.0
        columns[:4, block.cells] = S, S - mean, np.broadcast_to(mean, S.shape), np.broadcast_to(spread, S.shape)
        for j, other in enumerate(others):
            T = other[block.cells]
            columns[4 + 2 * j : 6 + 2 * j, block.cells] = T, T - T.mean(axis=1, keepdims=True)
    # Standardised scores have size 1: what is next to 0 is rounding, and would be blown up where nothing else varies.
    columns[np.abs(columns) < _TINY] = 0.0
    return np.column_stack((columns.T, name_columns(table)))


def _standard(values: Floats) -> Floats:
    """Standardise over the cells that have a value; one that has none stands at the mean."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros(len(values))
    around: Floats = np.where(known, values - values[known].mean(), 0.0)
    sd = around[known].std()
    return around / sd if sd > 0 else around


def _predicted(
    block: PoolBlock, columns: Floats, ridge: FoldedRidge, rates: Floats | None, folds: Ints, origin: float
) -> ModelledBlock:
    mine = folds[block.prompts]
    f = ridge.predict(columns[block.cells.ravel()], np.repeat(mine, block.K))[:, 0].reshape(block.S.shape)
    pi = None if rates is None else rates[block.cells]
    return ModelledBlock(block, np.where(block.L, block.O - origin, 0.0), f, pi, mine)


def _group(blocks: Sequence[ModelledBlock]) -> SizeGroup:
    """Split the variance of what the predictions leave into within and between prompts."""
    squares, degrees, means, inverse = 0.0, 0, [], []
    for one in blocks:
        l = one.block.labelled
        some = l > 0
        mean = one.e[some].sum(axis=1) / l[some]
        around = np.where(one.block.L[some], one.e[some] - mean[:, None], 0.0)
        squares += float(np.sum(around * around))
        degrees += int(np.sum(l[some] - 1))
        means.append(mean)
        inverse.append(1 / l[some])
    every = np.concatenate(means)
    size = max((float(np.abs(one.e).max()) for one in blocks), default=1.0)
    within = squares / max(degrees, 1) + _TINY * size * size + 1e-100
    between = float(every.var() - within * np.concatenate(inverse).mean()) if len(every) else 0.0
    return SizeGroup(tuple(blocks), within, max(between, 0.02 * within))
