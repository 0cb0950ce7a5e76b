"""Degrees of freedom that heavy tails leave: how well a variance is known follows from the fourth moment."""

from __future__ import annotations

import numpy as np

from bonwise.stats.sums import Floats

__all__ = ["FEWEST_DF", "kurtosis_df", "moments_df"]

FEWEST_DF = 3.0
"""Degrees of freedom are never taken below this, nor above the units less 1."""


def kurtosis_df(contributions: Floats) -> float:
    """Return the degrees of freedom of Student's t for a mean or sum of contributions.

    ``min(max(3, 3 (sum d^2)^2 / sum d^4 - 1), G - 1)`` with d the contributions less their mean. The estimated
    variance of G normal contributions has a relative variance of 2 / (G - 1); with a kurtosis of k it is
    (k - 1) / G, as if there were fewer of them.

    Parameters
    ----------
    contributions : ndarray of float64, shape (units,)
        What each prompt, or each cluster of prompts, adds to the estimate.

    Examples
    --------
    >>> kurtosis_df(np.array([-1.0, 1.0] * 50))
    99.0
    >>> round(kurtosis_df(np.array([1.0] * 2 + [0.0] * 98)), 2)
    5.25
    """
    d = contributions - contributions.mean()
    square = d * d
    return float(moments_df(square.sum(), square @ square, len(d)))


def moments_df(second: Floats | float, fourth: Floats | float, units: Floats | int) -> Floats:
    """Return the same from sums of squares and of fourth powers; units - 1 where nothing varies."""
    most = units - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 3 * np.square(second) / fourth - 1
    return np.fmin(np.fmax(FEWEST_DF, np.where(np.isfinite(found), found, most)), most)
