"""Power: how likely a study of a given size is to find what is there.

Legend: ``n`` independent units (prompts, or decisive votes), ``delta = P(win) - 1/2`` the preference margin, ``z_q``
the normal quantile, ``alpha = 1 - confidence``. Margins follow "How Many Human Judgments Are Enough?", equation 8.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from bonwise.stats.sums import Floats

__all__ = [
    "correlation_power",
    "critical_value",
    "equal_votes_power",
    "mean_power",
    "paper_votes_power",
    "votes_power",
]

_Counts = npt.ArrayLike


def critical_value(confidence: float, sides: int) -> float:
    """Return the normal quantile beyond which a test with one or two sides rejects.

    Examples
    --------
    >>> round(critical_value(0.95, 1), 3), round(critical_value(0.95, 2), 3)
    (1.645, 1.96)
    """
    return float(special.ndtri(1 - (1 - confidence) / sides))


def mean_power(standardised: float, n: float, confidence: float, sides: int) -> float:
    """Return the power of a z test of a mean.

    Parameters
    ----------
    standardised : float
        Mean over standard deviation of one unit.
    n : float
        Units.
    confidence : float
        1 - alpha.
    sides : int
        1 (the mean is above 0) or 2.

    Examples
    --------
    >>> round(mean_power(0.241, 147.4, 0.95, 1), 2)
    0.9
    """
    z, drift = critical_value(confidence, sides), standardised * np.sqrt(n)
    other = special.ndtr(-drift - z) if sides == 2 else 0.0
    return float(special.ndtr(drift - z) + other)


def correlation_power(r: float, least: float, pairs: float, confidence: float) -> float:
    """Return the power to find a within-prompt correlation above a threshold, one-sided, by Fisher's z.

    Parameters
    ----------
    r, least : float
        The correlation and the threshold.
    pairs : float
        Degrees of freedom plus 1 of the correlation: P (n - 1) for P prompts of n candidates. Fisher's z has the
        variance 1 / (pairs - 2).
    confidence : float

    Examples
    --------
    >>> round(correlation_power(0.5, 0.4, 182 * 3, 0.95), 2)
    0.9
    """
    apart = np.arctanh(r) - np.arctanh(least)
    return float(special.ndtr(apart * np.sqrt(max(pairs - 2, 0.0)) - critical_value(confidence, 1)))


def paper_votes_power(delta: float, n: float, confidence: float) -> float:
    """Return the power to find a preference margin as equation 8 has it: both tails of the normal law.

    Examples
    --------
    >>> round(paper_votes_power(0.1, 262.7, 0.95), 3)
    0.9
    """
    return mean_power(2 * abs(delta), n, confidence, 2)


def votes_power(delta: float, n: _Counts, confidence: float) -> Floats:
    """Return the power of the exact two-sided binomial test of a preference margin.

    Parameters
    ----------
    delta : float
        Margin, in [-1/2, 1/2].
    n : array_like of int
        Decisive votes.
    confidence : float

    Examples
    --------
    >>> votes_power(0.321, [26, 33], 0.95).round(3).tolist()
    [0.921, 0.976]
    """
    votes = np.asarray(n, dtype=np.float64)
    last = _lower_region(votes, (1 - confidence) / 2)
    p = 0.5 + abs(delta)
    # By symmetry the upper region of p is the lower one of 1 - p.
    return np.asarray(stats.binom.cdf(last, votes, 1 - p) + stats.binom.cdf(last, votes, p))


def _lower_region(votes: Floats, tail: float) -> Floats:
    """Return the largest count with P(K <= count) <= tail under a fair coin, -1 where there is none."""
    near = stats.binom.ppf(tail, votes, 0.5)
    last: Floats = np.where(stats.binom.cdf(near, votes, 0.5) <= tail, near, near - 1)
    return last


def equal_votes_power(bound: float, n: _Counts, confidence: float) -> Floats:
    """Return how likely two exact one-sided tests show that a margin of 0 lies within a bound on either side.

    Parameters
    ----------
    bound : float
        Margins of this size or more are to be ruled out, in (0, 1/2).
    n : array_like of int
        Decisive votes.
    confidence : float
        Of each of the two tests.

    Examples
    --------
    >>> equal_votes_power(0.1, [140, 281], 0.95).round(2).tolist()
    [0.45, 0.91]
    """
    votes = np.asarray(n, dtype=np.float64)
    low = stats.binom.isf(1 - confidence, votes, 0.5 - bound) + 1
    inside = stats.binom.cdf(votes - low, votes, 0.5) - stats.binom.cdf(low - 1, votes, 0.5)
    return np.asarray(np.maximum(inside, 0.0))
