"""What a vote tells about which of two models is preferred: Kullback-Leibler content, and a bound no test beats.

After Lee (2026), section 3. delta is the margin, P(second preferred) - 1/2; a vote of margin delta carries
``KL(1/2 + delta || 1/2)`` nats against "no preference".
"""

from __future__ import annotations

import numpy as np
from scipy import special

from bonwise.stats.sums import Floats

__all__ = ["kl_bounds", "kl_content", "least_error", "least_information", "least_votes"]

_BOUNDED = 0.25
"""Margin up to which the paper proves its upper bound."""


def kl_content(margin: Floats | float) -> Floats:
    """Return the nats of one vote against "no preference".

    ``(1/2 + d) ln(1 + 2d) + (1/2 - d) ln(1 - 2d)``: 0 at d = 0, ln 2 at d = 1/2 and -1/2.

    Examples
    --------
    >>> kl_content(np.array([0.05, 0.1])).round(10).tolist()
    [0.0050083668, 0.0201355136]
    """
    d = np.asarray(margin, dtype=np.float64)
    found = special.xlog1py(0.5 + d, 2 * d) + special.xlog1py(0.5 - d, -2 * d)
    return np.asarray(found, dtype=np.float64)


def kl_bounds(margin: float) -> tuple[float, float | None]:
    """Return 2 d^2 and 9/4 d^2, between which the content of a vote lies (lemma 3.1).

    The upper bound is None beyond a margin of 1/4, up to which it is proved.

    Examples
    --------
    >>> low, high = kl_bounds(0.05)
    >>> round(low, 6), round(high, 6)
    (0.005, 0.005625)
    """
    return 2 * margin**2, 2.25 * margin**2 if abs(margin) <= _BOUNDED else None


def least_error(information: float) -> float:
    """Return the least sum of both error rates that any test can have with so many nats: exp(-K) / 2 (theorem 3.2).

    Examples
    --------
    >>> round(least_error(1.2040), 3)
    0.15
    """
    return 0.5 * float(np.exp(-information))


def least_information(significance: float, miss: float) -> float:
    """Return the nats without which no test keeps both error rates: ln(1 / (2 (significance + miss))), at least 0.

    Parameters
    ----------
    significance, miss : float
        Probability to see a preference that is not there, and to miss one that is.

    Examples
    --------
    >>> round(least_information(0.05, 0.10), 4)
    1.204
    """
    return max(0.0, float(-np.log(2 * (significance + miss))))


def least_votes(margin: float, significance: float, miss: float) -> float:
    """Return a lower bound on the votes any test needs; no number of votes that suffices.

    It holds even for a test that knows every margin and its sign beforehand, which no real test does. Infinite where
    the margin is 0.

    Examples
    --------
    >>> round(least_votes(0.1, 0.05, 0.10), 1)
    59.8
    """
    content = float(kl_content(margin))
    return least_information(significance, miss) / content if content > 0 else float("inf")
