"""Which of several uncertain scores is the highest: posterior probabilities, and what the pick may lose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from bonwise.stats.sums import Floats

__all__ = ["BestOfNormals", "best_of_normals"]

# Beyond 7 standard errors a normal density holds less than 1e-11.
_CUTS = np.array([-7.0, -4.5, -3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 7.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)

_EXACT = 1e-12
"""A standard error this much smaller than the distance to the top is none: doubles could not resolve it."""

_DECIMALS = 9  # as scores are rounded before they are compared

_CELLS = 2_000_000  # of one array, so that many prompts do not fill the memory

_MANY = 12
"""Candidates from which on one row is integrated at a time, with cuts that lie close together made one."""

_CLOSE = 0.4
"""Standard errors of its own within which a cut adds nothing to the one before it."""


class BestOfNormals(NamedTuple):
    """Who is best among independent normal values."""

    probability: Floats
    """Of being the highest; each row sums to 1. 0 for a candidate that is out of the running."""
    regret: Floats
    """Expectation of the highest value less the highest mean, in score units, never negative."""


def best_of_normals(mean: Floats, se: Floats) -> BestOfNormals:
    """Find how likely each candidate is the best, and what keeping the one of highest mean is expected to lose.

    P(i best) = integral of phi_i(x) prod_{j != i} Phi_j(x) dx, and E[max] = a + integral from a of
    (1 - prod_j Phi_j(x)) dx with a so low that the maximum does not lie below it. Both by Gauss-Legendre
    quadrature between cuts that follow every density, accurate to about 1e-9.

    Parameters
    ----------
    mean, se : ndarray of float64, shape (n, K)
        Score units, of independent normal values; ``se`` is not negative and 0 where the value is certain. Certain
        values that tie at the top share their probability equally. A NaN in either takes the candidate out of the
        running.

    Returns
    -------
    BestOfNormals
        Of a row without any candidate in the running the regret is NaN and every probability 0.

    Raises
    ------
    ValueError
        A negative standard error, or shapes that differ.

    Examples
    --------
    >>> import numpy as np
    >>> found = best_of_normals(np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 1.0, 0.0]]))
    >>> found.probability.round(4).tolist(), found.regret.round(4).tolist()
    ([[0.4874, 0.4874, 0.0252]], [0.5714])
    """
    mean, se = np.asarray(mean, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if mean.shape != se.shape or mean.ndim != 2:
        raise ValueError(f"means and standard errors must be tables of one shape, not {mean.shape} and {se.shape}")
    if (se < 0).any():
        raise ValueError("a standard error must not be negative")
    probability, regret = np.zeros(mean.shape), np.full(len(mean), np.nan)
    rows = np.flatnonzero((~np.isnan(mean + se)).any(axis=1))
    many = mean.shape[1] >= _MANY
    a_time = 1 if many else max(1, _CELLS // (mean.shape[1] ** 2 * len(_CUTS) * len(_NODES)))
    for start in range(0, len(rows), a_time):
        some = rows[start : start + a_time]
        probability[some], regret[some] = _integrated(mean[some], se[some])
    return BestOfNormals(probability, regret)


def _integrated(mean: Floats, se: Floats) -> tuple[Floats, Floats]:
    out = np.isnan(mean + se)
    top = np.where(out, -np.inf, mean).max(axis=1, keepdims=True)
    centred = np.where(out, -np.inf, mean - top)  # differences near the top stay exact
    certain = out | (se <= _EXACT * np.abs(np.where(out, 0.0, centred)))
    spread = np.where(certain, 0.0, se)
    floor = (centred + _CUTS[0] * spread).max(axis=1)
    x, weight = _nodes(centred, spread, certain, floor)
    below, density = _normals(x, centred, spread, certain)
    others = _product_of_others(below)
    probability = (weight[:, None] * density * others).sum(axis=2)
    probability += _certain_share(centred, certain, floor) * others[:, :, 0]
    probability /= probability.sum(axis=1, keepdims=True)
    highest = floor + (weight * (1 - below.prod(axis=1))).sum(axis=1)
    return probability, np.maximum(highest, 0.0)


def _nodes(centred: Floats, spread: Floats, certain: np.ndarray, floor: Floats) -> tuple[Floats, Floats]:
    """Return abscissas and weights, shape (n, nodes); the first is the floor itself, of weight 0."""
    cuts = np.where(certain, 0.0, centred)[:, :, None] + spread[:, :, None] * _CUTS
    cuts = np.where(certain[:, :, None], floor[:, None, None], cuts).reshape(len(centred), -1)
    cuts = np.maximum(cuts, floor[:, None])
    if centred.shape[1] >= _MANY:
        cuts = _thinned(cuts[0], np.repeat(spread[0], len(_CUTS)))[None]
    cuts = np.sort(cuts, axis=1)
    half = np.diff(cuts, axis=1)[:, :, None] / 2
    x = cuts[:, :-1, None] + half * (1 + _NODES)
    flat = (x.reshape(len(x), -1), (half * _WEIGHTS).reshape(len(x), -1))
    return np.hstack([floor[:, None], flat[0]]), np.hstack([np.zeros((len(x), 1)), flat[1]])


def _thinned(cuts: Floats, spread: Floats) -> Floats:
    """Return the cuts of one row without those that lie close behind another one; the ends stay."""
    order = np.argsort(cuts)
    kept = [float(cuts[order[0]])]
    for cut, own in zip(cuts[order].tolist(), spread[order].tolist(), strict=True):
        if cut - kept[-1] > _CLOSE * own:
            kept.append(cut)
    return np.array([*kept, float(cuts[order[-1]])])


def _normals(x: Floats, centred: Floats, spread: Floats, certain: np.ndarray) -> tuple[Floats, Floats]:
    """Return distribution and density of every candidate at every abscissa, shape (n, K, nodes)."""
    scale = np.where(certain, 1.0, spread)[:, :, None]
    z = (x[:, None] - np.where(certain, 0.0, centred)[:, :, None]) / scale
    sure = certain[:, :, None]
    # No abscissa lies below a value that is certain.
    below = np.where(sure, 1.0, ndtr(z))
    density = np.where(sure, 0.0, np.exp(-0.5 * z * z) / (scale * np.sqrt(2 * np.pi)))
    return below, density


def _product_of_others(below: Floats) -> Floats:
    """Multiply over all candidates but one, for each one, without a division by nearly 0."""
    before, behind = np.ones_like(below), np.ones_like(below)
    np.cumprod(below[:, :-1], axis=1, out=before[:, 1:])
    behind[:, :-1] = np.cumprod(below[:, :0:-1], axis=1)[:, ::-1]
    return before * behind


def _certain_share(centred: Floats, certain: np.ndarray, floor: Floats) -> Floats:
    """Return each candidate's share of the event that no uncertain value exceeds the highest certain one."""
    highest = certain & (np.round(centred, _DECIMALS) >= np.round(floor, _DECIMALS)[:, None])
    count: Floats = np.maximum(highest.sum(axis=1, keepdims=True), 1)
    share: Floats = highest / count
    return share
