"""How far predictions are trusted: the weight of a model that makes the variance smallest, and what it explains."""

from __future__ import annotations

import numpy as np

from bonwise.stats.partial.label_features import OUTCOMES
from bonwise.stats.partial.scaled_sample import ScaledSample
from bonwise.stats.sums import Floats

__all__ = ["power_tuning", "share_explained"]


def power_tuning(m: Floats, Y: Floats, draw: ScaledSample, rho: float) -> Floats:
    """Return the weight of the model for every outcome; Y1 and Y2 share the one that suits recovery.

    ``lam = 1 + sum (q - 1)(m - mbar) q (e - ebar) / sum ((q - 1)(m - mbar))^2`` with e = Y - m, cut to [0, 1]; for Y1
    and Y2 with phi = Y1 - rho Y2 and the same contrast of the predictions. It estimates the lam of smallest variance,
    ``sum (q - 1)(m - mbar) q (Y - Ybar) / sum ((q - 1)(m - mbar))^2``, from residuals: a model that is right keeps
    its full weight also where propensities are wrong, so that the estimate stays doubly robust.

    Parameters
    ----------
    m : ndarray of float64, shape (prompts, 5)
        Predicted `OUTCOMES`.
    Y : ndarray of float64, shape (labelled prompts, 5)
    draw : ScaledSample
    rho : float
        First guess of recovery.

    Returns
    -------
    ndarray of float64, shape (5,)
    """
    directions = np.eye(len(OUTCOMES))
    directions[1:3] = 0.0, 1.0, -rho, 0.0, 0.0
    predicted, seen = m @ directions.T, Y @ directions.T
    pull = (draw.q - 1)[:, None] * (predicted - predicted.mean(axis=0))
    left = seen - predicted[draw.rows]
    around = draw.weight[:, None] * (left - draw.mean(left))
    scale = np.einsum("xk,xk->k", pull, pull)
    cross = scale + np.einsum("xk,xk->k", pull[draw.rows], around)
    # What is left of constant predictions after their mean is rounding, and its direction means nothing; so is what
    # is left where the two gains cancel.
    size = np.max(np.abs(m) @ np.abs(directions).T, axis=0)
    noise = 1e-24 * np.sum((draw.q - 1) ** 2) * size**2
    lam: Floats = np.clip(np.divide(cross, scale, out=np.zeros(len(scale)), where=scale > noise), 0.0, 1.0)
    return lam


def share_explained(m: Floats, Y: Floats, draw: ScaledSample, direction: Floats) -> float | None:
    """Return the share of the variance of a contrast of outcomes that predictions explain, at least 0.

    Parameters
    ----------
    m, Y : ndarray of float64, shape (labelled prompts, outcomes)
        Predictions and what was seen.
    draw : ScaledSample
        Prompts count by their weights.
    direction : ndarray of float64, shape (outcomes,)

    Returns
    -------
    float or None
        1 - variance of the residuals / variance of what was seen; None where that does not vary.
    """
    seen, left = Y @ direction, (Y - m) @ direction
    spread, rest = (float(draw.mean((values - draw.mean(values)) ** 2)) for values in (seen, left))
    return max(0.0, 1 - rest / spread) if spread > 1e-12 * float(draw.mean(seen**2)) else None
