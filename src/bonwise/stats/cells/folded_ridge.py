"""Ridge regression fitted without one fold at a time, from sums of products by fold."""

from __future__ import annotations

import numpy as np

from bonwise.stats.cells.table import Bools, CellTable, Ints
from bonwise.stats.sums import Floats

__all__ = ["FOLDS", "FoldedRidge", "prompt_folds"]

FOLDS = 5

_FLAT = 1e-12  # a variance below this share of the mean square over all folds is rounding: the column says nothing


def prompt_folds(table: CellTable, seed: int) -> Ints:
    """Deal the prompts into folds, cluster by cluster; those with a complete pool are spread evenly.

    Parameters
    ----------
    table : CellTable
    seed : int

    Returns
    -------
    ndarray of int64, shape (prompts,)
        0 to 4.

    Examples
    --------
    >>> table = CellTable(np.full(10, 2), np.zeros(20), np.zeros(20))
    >>> np.bincount(prompt_folds(table, 0)).tolist()
    [2, 2, 2, 2, 2]
    """
    units = table.units
    count = int(units.max()) + 1 if len(units) else 0
    complete = np.zeros(count, dtype=bool)
    for block in table.blocks:
        complete[units[block.prompts[block.complete]]] = True
    shuffled = np.random.default_rng(seed).permutation(count)
    folds = np.empty(count, dtype=np.int64)
    folds[shuffled[np.argsort(~complete[shuffled], kind="stable")]] = np.arange(count) % FOLDS
    found: Ints = folds[units]
    return found


class FoldedRidge:
    """Linear predictions of several outcomes, each row's from the other folds.

    Columns are standardised with the weights of the rows; the penalty is (1 + .001 m) times the mean weight of m
    rows, the intercept is free.

    Parameters
    ----------
    columns, outcomes : int

    Examples
    --------
    >>> ridge = FoldedRidge(1, 1)
    >>> x = np.arange(2000.0)[:, None]
    >>> ridge.add(x, 3 + x, np.ones(2000), np.arange(2000) % FOLDS)
    >>> bool(abs(ridge.predict(np.array([[1000.0]]), np.array([0]))[0, 0] - 1003) < 1)
    True
    """

    def __init__(self, columns: int, outcomes: int) -> None:
        width = 1 + columns + outcomes
        self._products = np.zeros((FOLDS, width, width))
        self._rows = np.zeros(FOLDS)
        self._columns = columns
        self._known: tuple[Floats, Floats] | None = None

    def add(self, X: Floats, Y: Floats, weights: Floats, folds: Ints) -> None:
        """Take in rows.

        Parameters
        ----------
        X : ndarray of float64, shape (rows, columns)
        Y : ndarray of float64, shape (rows, outcomes)
        weights : ndarray of float64, shape (rows,)
        folds : ndarray of int64, shape (rows,)
        """
        Z = np.column_stack((np.ones(len(X)), X, Y))
        for fold in range(FOLDS):
            some: Bools = folds == fold
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
            self._known = np.array([one[0] for one in fits]), np.array([one[1] for one in fits])
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
