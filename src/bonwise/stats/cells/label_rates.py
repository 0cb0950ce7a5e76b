"""How likely each cell was to be labelled: one rate, rates that are known, or rates fitted from the scores."""

from __future__ import annotations

import numpy as np

from bonwise.stats.cells.table import Bools, CellTable
from bonwise.stats.largest_bias import recurring_names
from bonwise.stats.sums import Floats

__all__ = ["LEAST_RATE", "label_rates", "name_columns"]

LEAST_RATE = 0.02
"""A known probability below this on a cell that counts leaves a figure to few labels; fitted ones end there."""

_PENALTY = 1e-3
_STEPS = 50


def label_rates(table: CellTable) -> Floats | None:
    """Return the probability of a label of each cell, shape (cells,); None where it is one for all.

    Fitted probabilities follow a logistic regression on the score, on whether it is the highest of the prompt, on
    the mean score of the prompt, and on candidate names that recur.

    Examples
    --------
    >>> table = CellTable(np.full(50, 2), np.tile([.9, .1], 50), np.tile([1., 0., 0., np.nan], 25), fitted=True)
    >>> np.round(label_rates(table)[:2], 2).tolist()
    [1.0, 0.5]
    """
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
    scores = table.scores - table.scores.mean()
    sd = scores.std()
    scores = scores / sd if sd > 0 else scores
    top, mean = np.empty(len(scores)), np.empty(len(scores))
    for block in table.blocks:
        top[block.cells] = block.A
        mean[block.cells] = scores[block.cells].mean(axis=1, keepdims=True)
    return [scores, top, mean]


def _logistic(X: Floats, y: Bools) -> Floats:
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
    fitted: Floats = 1 / (1 + np.exp(-np.clip(X @ slope, -30, 30)))
    return fitted
