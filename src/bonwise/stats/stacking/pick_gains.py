"""What picking by each of several columns of scores is worth, prompt by prompt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["best_by_gain", "pick_gains"]

_Ints = npt.NDArray[np.int64]


def pick_gains(scores: Floats, labels: Floats, sizes: _Ints) -> Floats:
    """Return the label of the candidate at the top less the mean label, ties in expectation.

    Parameters
    ----------
    scores : ndarray of float64, shape (cells, columns)
        NaN where a candidate has none: it is not picked. Where a prompt has none at all the pick is random.
    labels : ndarray of float64, shape (cells,)
    sizes : ndarray of int64, shape (prompts,)

    Returns
    -------
    ndarray of float64, shape (prompts, columns)

    Examples
    --------
    >>> pick_gains(np.array([[.9, 1.], [.4, 1.]]), np.array([1., 0.]), np.array([2])).tolist()
    [[0.5, 0.0]]
    """
    known = np.round(scores, TIE_DECIMALS)
    known[np.isnan(known)] = -np.inf
    if len(sizes) and (sizes == sizes[0]).all():
        return _of_one_size(known.reshape(len(sizes), int(sizes[0]), -1), labels.reshape(len(sizes), -1))
    starts = np.cumsum(sizes) - sizes
    top = known == np.repeat(np.maximum.reduceat(known, starts, axis=0), sizes, axis=0)
    picked = np.add.reduceat(np.where(top, labels[:, None], 0.0), starts, axis=0)
    found: Floats = picked / np.add.reduceat(top, starts, axis=0, dtype=np.float64)
    return found - (np.add.reduceat(labels, starts) / sizes)[:, None]


def _of_one_size(scores: Floats, labels: Floats) -> Floats:
    """Return the gains of pools of one size, which needs no bounds of segments."""
    top = (scores == scores.max(axis=1, keepdims=True)).astype(np.float64)
    picked = np.einsum("pcs,pc->ps", top, labels)
    found: Floats = picked / top.sum(axis=1) - labels.mean(axis=1)[:, None]
    return found


def best_by_gain(gains: Floats) -> Floats:
    """Return the share that each column has in being the best: 1 for the best, equal shares where several are.

    Parameters
    ----------
    gains : ndarray of float64, shape (sets, columns)
    """
    best = gains >= gains.max(axis=1, keepdims=True) - 10.0**-TIE_DECIMALS
    found: Floats = best / best.sum(axis=1, keepdims=True)
    return found
