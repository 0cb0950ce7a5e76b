"""How likely each cell was to be labelled, and ridge predictions of labels from scores across folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.cell_table import CellTable, PoolBlock
from bonwise.stats.level_bias import recurring_names

FOLDS = 5

_FLAT = 1e-12  # a variance below this share of the mean square over all folds is rounding: the column says nothing


def prompt_folds(table: CellTable, seed: int) -> Ints:
    """Deal the prompts into folds 0 to 4, cluster by cluster; those with a complete pool are spread evenly."""
    units = table.units
    count = int(units.max()) + 1 if len(units) else 0
    complete = np.zeros(count, dtype=bool)
    for block in table.blocks:
        complete[units[block.prompts[block.complete]]] = True
    shuffled = np.random.default_rng(seed).permutation(count)
    folds = np.empty(count, dtype=np.int64)
    folds[shuffled[np.argsort(~complete[shuffled], kind="stable")]] = np.arange(count) % FOLDS
    return folds[units]


class FoldedRidge:
    """Linear predictions of outcomes, each row's from other folds; penalty (1 + .001 m) x mean weight of m rows."""

    def __init__(self, columns: int, outcomes: int) -> None:
        width = 1 + columns + outcomes
        self._products = np.zeros((FOLDS, width, width))
        self._rows = np.zeros(FOLDS)
        self._columns = columns
        self._known: tuple[Floats, Floats] | None = None

    def add(self, X: Floats, Y: Floats, weights: Floats, folds: Ints) -> None:
        """Take in rows: `X` is (rows, columns), `Y` (rows, outcomes), the others (rows,)."""
        Z = np.column_stack((np.ones(len(X)), X, Y))
        for fold in range(FOLDS):
            some: Mask = folds == fold
            mine = Z[some]
            self._products[fold] += (mine * weights[some, None]).T @ mine
            self._rows[fold] += len(mine)
        self._known = None

    @property
    def fewest(self) -> float:
        """Rows that the fit for the fold with the fewest has."""
        return float(self._rows.sum() - self._rows.max())

    @property
    def coefficients(self) -> tuple[Floats, Floats]:
        """Intercepts (folds, outcomes) and slopes (folds, columns, outcomes) for rows of each fold."""
        if self._known is None:
            fits = [self._fit(fold) for fold in range(FOLDS)]
            self._known = np.array([fit[0] for fit in fits]), np.array([fit[1] for fit in fits])
        return self._known

    def predict(self, X: Floats, folds: Ints) -> Floats:
        """Return predictions, shape (rows, outcomes)."""
        intercepts, slopes = self.coefficients
        found = np.empty((len(X), intercepts.shape[1]))
        for fold in range(FOLDS):
            some = folds == fold
            found[some] = X[some] @ slopes[fold] + intercepts[fold]
        return found

    def _fit(self, fold: int) -> tuple[Floats, Floats]:
        products = self._products.sum(axis=0) - self._products[fold]
        rows, total = self._rows.sum() - self._rows[fold], products[0, 0]
        c = self._columns
        if rows < 1 or total <= 0:
            width = products.shape[0] - 1 - c
            return np.zeros(width), np.zeros((c, width))
        means = products[0, 1:] / total
        spread = products[1:, 1:] / total - np.outer(means, means)
        every = self._products.sum(axis=0)
        square = np.maximum(np.diag(products) / total, np.diag(every) / every[0, 0])[1 : c + 1]
        variance = np.diag(spread)[:c]
        varies = variance > _FLAT * square
        sd = np.sqrt(np.where(varies, variance, 1.0))
        among = np.where(np.outer(varies, varies), spread[:c, :c] / np.outer(sd, sd), 0.0)
        toward = np.where(varies[:, None], spread[:c, c:] / sd[:, None], 0.0)
        penalty = (1 + 0.001 * rows) / rows
        slopes = np.linalg.solve(among + penalty * np.eye(c), toward) / sd[:, None]
        return means[c:] - means[:c] @ slopes, slopes


LEAST_RATE = 0.02
"""A known probability below this on a cell that counts leaves a figure to few labels; fitted ones end there."""

_PENALTY = 1e-3
_STEPS = 50


def label_rates(table: CellTable) -> Floats | None:
    """Return the fitted chance of a label of each cell, shape (cells,); None where it is one for all."""
    if not table.fitted:
        return table.propensities
    columns = [np.ones(len(table.scores)), *_score_columns(table), *name_columns(table).T]
    return np.clip(_logistic(np.stack(columns, axis=1), table.labelled), LEAST_RATE, 1.0)


def name_columns(table: CellTable) -> Floats:
    """Return one column a candidate name that recurs, the first left out; shape (cells, columns)."""
    if table.names is None:
        return np.zeros((len(table.scores), 0))
    some = recurring_names(table.names, table.prompts)[1:]
    found: Floats = (table.names[:, None] == some).astype(float)
    return found


def _score_columns(table: CellTable) -> list[Floats]:
    scores = table.filled - table.filled.mean()
    sd = scores.std()
    scores = scores / sd if sd > 0 else scores
    top, mean = np.empty(len(scores)), np.empty(len(scores))
    for block in table.blocks:
        top[block.cells] = block.A
        mean[block.cells] = scores[block.cells].mean(axis=1, keepdims=True)
    return [scores, top, mean]


def _logistic(X: Floats, y: Mask) -> Floats:
    """Return fitted probabilities of a ridge logistic regression, by Newton's steps."""
    slope = np.zeros(X.shape[1])
    ridge = _PENALTY * np.eye(X.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(X @ slope, -30, 30)))
        step = np.linalg.solve((X * (p * (1 - p))[:, None]).T @ X + ridge, X.T @ (y - p) - ridge @ slope)
        # A step of more than a few log odds overshoots where a group of cells is labelled whole.
        slope = slope + step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return 1 / (1 + np.exp(-np.clip(X @ slope, -30, 30)))


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
    between: float
    """Both: variance of what is left of the labels within prompts, and of its mean between prompts."""

    @cached_property
    def prompts(self) -> Ints:
        """Positions of the prompts in the table, block after block."""
        return np.concatenate([block.block.prompts for block in self.blocks])


def modelled(table: CellTable, rates: Floats | None, folds: Ints, origin: float) -> tuple[SizeGroup, ...]:
    """Predict every label from scores, size by size; at least one is there, and `origin` is taken off the labels."""
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
    own = _standard(table.filled)
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
    for block in blocks:
        l = block.block.labelled
        some = l > 0
        mean = block.e[some].sum(axis=1) / l[some]
        around = np.where(block.block.L[some], block.e[some] - mean[:, None], 0.0)
        squares += float(np.sum(around * around))
        degrees += int(np.sum(l[some] - 1))
        means.append(mean)
        inverse.append(1 / l[some])
    every = np.concatenate(means)
    size = max((float(np.abs(block.e).max()) for block in blocks), default=1.0)
    within = squares / max(degrees, 1) + _TINY * size * size + 1e-100
    between = float(every.var() - within * np.concatenate(inverse).mean()) if len(every) else 0.0
    return SizeGroup(tuple(blocks), within, max(between, 0.02 * within))
