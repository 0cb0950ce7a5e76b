"""What a pilot says of an effect, with the uncertainty that goes on into the sample size.

Legend: ``d`` a prompt's contrast, ``m1`` and ``m2`` its expectation and that of its square over what a design draws
within the prompt; ``y1`` the pick's label less the mean label, ``y2`` the best label less the mean label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.clusters import cluster_sums
from bonwise.stats.estimand import ratio
from bonwise.stats.laws import student_quantile
from bonwise.stats.sums import Floats

__all__ = ["Shift", "log_residual", "shift", "standardised", "wilson", "within_z"]

_Ints = npt.NDArray[np.int64]

_EVERYWHERE = (-np.inf, np.inf)


class Shift(NamedTuple):
    """A figure of a pilot."""

    estimate: float
    """The figure and its standard error, one prompt or cluster left out at a time; NaN where undefined."""
    se: float
    """The figure and its standard error, one prompt or cluster left out at a time; NaN where undefined."""
    units: int
    """Prompts, or clusters of them."""

    def at(self, confidence: float) -> tuple[float, float]:
        """Return Student's interval, both ends infinite where there is no standard error."""
        if not np.isfinite(self.se):
            return _EVERYWHERE
        half = student_quantile(confidence, self.units - 1) * self.se
        return self.estimate - half, self.estimate + half


def shift(rows: Floats, of: Callable[[Floats], Floats], clusters: _Ints | None = None) -> Shift:
    """Estimate a function of totals over prompts.

    Parameters
    ----------
    rows : ndarray of float64, shape (sums, prompts)
    of : callable
        Totals of shape (sums, ...) to a figure of shape (...), NaN where undefined.
    clusters : ndarray of int64, shape (prompts,), optional
        What is left out at a time.

    Examples
    --------
    >>> found = shift(np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]]), lambda t: t[1] / t[0])
    >>> found.estimate, round(found.se, 4)
    (2.0, 0.5774)
    """
    rows = cluster_sums(rows, clusters)
    units = rows.shape[1]
    total = rows.sum(axis=1)
    left = of(total[:, None] - rows)
    se = float(np.sqrt((units - 1) * left.var())) if units > 1 and np.isfinite(left).all() else np.nan
    return Shift(float(of(total)), se, units)


def standardised(m1: Floats, m2: Floats, clusters: _Ints | None = None) -> Shift:
    """Estimate the mean of a contrast over its standard deviation, that within prompts included.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0])
    >>> round(standardised(d, d * d).estimate, 3)
    2.449
    """

    def of(t: Floats) -> Floats:
        mean, square = t[1] / t[0], t[2] / t[0]
        spread = square - mean**2
        return ratio(mean, np.sqrt(np.where(spread > 1e-12 * square, spread, 0.0)))

    return shift(np.array([np.ones(len(m1)), m1, m2]), of, clusters)


def log_residual(y1: Floats, y2: Floats, clusters: _Ints | None = None) -> Shift:
    """Estimate the logarithm of ``Var(y1 - rho y2) / mean(y2)^2`` with ``rho = mean(y1) / mean(y2)``.

    Divided by the prompts of a study, its exponential is the squared standard error of the recovery.
    """

    def of(t: Floats) -> Floats:
        mean, best = t[1] / t[0], t[2] / t[0]
        rho = ratio(mean, best)
        spread = (t[3] - 2 * rho * t[4] + rho**2 * t[5]) / t[0]
        positive = ratio(spread, best**2)
        return np.log(np.where(positive > 0, positive, np.nan))

    return shift(np.array([np.ones(len(y1)), y1, y2, y1 * y1, y1 * y2, y2 * y2]), of, clusters)


def within_z(squares_score: Floats, squares_label: Floats, products: Floats, clusters: _Ints | None = None) -> Shift:
    """Estimate Fisher's z of the within-prompt correlation from each prompt's sums of deviations."""

    def of(t: Floats) -> Floats:
        r = ratio(t[2], np.sqrt(t[0] * t[1]))
        return np.arctanh(np.where(np.abs(r) < 1, r, np.nan))

    return shift(np.array([squares_score, squares_label, products]), of, clusters)


def wilson(wins: float, n: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's two-sided interval of a share.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(28, 50, 0.95)]
    [0.423, 0.688]
    """
    z = float(special.ndtri(0.5 + confidence / 2))
    share, lean = wins / n, z * z / n
    middle = (share + lean / 2) / (1 + lean)
    half = z * np.sqrt(share * (1 - share) / n + lean / (4 * n)) / (1 + lean)
    return float(middle - half), float(middle + half)
