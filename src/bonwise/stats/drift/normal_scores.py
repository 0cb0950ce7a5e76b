"""How each look ranks among all before it, as normal scores that are independent where nothing moves.

If looks are exchangeable, the rank of the latest one among all so far is uniform and independent of the earlier
ranks, whatever the law of the looks (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", chapter
8). So the scores are independent standard normal draws exactly: baselines may be short, tails heavy and events rare,
and picks of one period may depend on each other.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["normal_scores"]

_LEAST = 1e-12
"""Of a uniform draw: 0 has no normal score."""


def normal_scores(u: Floats, v: Floats, baseline: int, draws: Floats) -> Floats:
    """Return a normal score for each look after the baseline: high where it ranks above those before it.

    Of N looks so far, the latest included, each is ranked by ``u - R v`` with ``R = sum u / sum v`` over the N. Then
    ``p = (those above the latest + draw x those level with it) / N``, and the score is the ``1 - p`` quantile of the
    standard normal law.

    Parameters
    ----------
    u, v : ndarray of float64, shape (..., looks)
        Of `bonwise.stats.drift.looks.Looks`.
    baseline : int
        The first looks, at least 1, which only later ones are compared with.
    draws : ndarray of float64, shape (..., looks - baseline)
        Uniform draws in [0, 1), which decide among equals.

    Examples
    --------
    >>> normal_scores(np.array([0.0, 1, 2, 9]), np.ones(4), 3, np.array([0.5])).round(3).tolist()  # p = 0.5 / 4
    [1.15]
    """
    looks = u.shape[-1]
    found = np.empty((*u.shape[:-1], max(looks - baseline, 0)))
    for at in range(baseline, looks):
        mine, weights = u[..., : at + 1], v[..., : at + 1]
        totals = mine.sum(axis=-1, keepdims=True), weights.sum(axis=-1, keepdims=True)
        level = np.divide(totals[0], totals[1], out=np.zeros_like(totals[0]), where=totals[1] != 0)
        apart = mine - level * weights
        largest = np.abs(apart).max(axis=-1, keepdims=True)
        # A part of the largest distance is rounding, whatever the unit.
        gaps = np.round((apart - apart[..., -1:]) / np.where(largest > 0, largest, 1.0), TIE_DECIMALS)
        above, equal = (gaps > 0).sum(axis=-1), (gaps == 0).sum(axis=-1)
        share = (above + np.maximum(draws[..., at - baseline], _LEAST) * equal) / (at + 1)
        found[..., at - baseline] = -special.ndtri(share)
    return found
