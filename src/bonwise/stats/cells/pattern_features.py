"""What the labels seen of a pool say of the pool as a whole."""

from __future__ import annotations

import numpy as np

from bonwise.stats.cells.modelled import ModelledBlock, SizeGroup
from bonwise.stats.cells.table import Bools, Ints
from bonwise.stats.sums import Floats

__all__ = ["BRIEF", "pattern_features"]

BRIEF = (0, 1, 4, 9)
"""Columns that serve where complete pools are few: x1, x3, u, and the hit of the completed pool."""


def pattern_features(one: ModelledBlock, some: Ints, seen: Bools, group: SizeGroup) -> Floats:
    """Describe pools by part of their labels.

    Unlabelled cells are completed by their prediction, moved by what the labels seen say of the prompt's level; the
    largest of a completed pool is a biased guess of the largest label, which is why it is a covariate and no figure.

    Parameters
    ----------
    one : ModelledBlock
    some : ndarray of int64, shape (m,)
        Rows of the block.
    seen : ndarray of bool, shape (m, K)
        Labels that may be read.
    group : SizeGroup

    Returns
    -------
    ndarray of float64, shape (m, 12)
        x1, x3, x1 u, x3 u, u, u^2, spread of scores, of the completed pool, largest label seen, hit of the completed
        pool, the same times u, share of top-scored candidates that are seen with the largest label seen.
    """
    S, A, f = one.block.S[some], one.block.A[some], one.f[some]
    K, count = one.block.K, seen.sum(axis=1)
    known, a = count > 0, A.sum(axis=1)
    O = np.where(seen, one.O[some], 0.0)
    level = np.where(seen, O - f, 0.0).sum(axis=1) / (count + group.within / group.between)
    P = np.where(seen, O, f + level[:, None])
    mean = P.mean(axis=1)
    most = P.max(axis=1)
    largest = np.where(seen, O, -np.inf).max(axis=1)
    at_largest = seen & (O >= largest[:, None] - 1e-12) & A
    x1 = most - mean
    x3 = np.where(known, largest - O.sum(axis=1) / np.maximum(count, 1), 0.0)
    u = 1 - count / K
    hit = (A & (most[:, None] - 1e-12 <= P)).sum(axis=1) / a
    return np.stack(
        (
            x1,
            x3,
            x1 * u,
            x3 * u,
            u,
            u * u,
            S.std(axis=1),
            P.std(axis=1),
            np.where(known, largest, mean),
            hit,
            hit * u,
            at_largest.sum(axis=1) / a,
        ),
        axis=1,
    )
