"""Binary votes as they come: a beta-mixture e-process and the confidence sequence that goes with it.

For votes X in [0, 1] of mean p, ``M_n(p) = B(k + a, n - k + a) / (B(a, a) p^k (1 - p)^(n - k))``, k being
their sum, is the wealth of a bettor against p who starts with 1: at a true p it exceeds ``1/alpha``
ever with probability alpha at most. A vote of 1/2, a tie, keeps that true: its geometric mean of two
bets is at most their average.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from bonwise.stats.sums import Floats

__all__ = ["log_wealth", "mixture_weight", "share_limits", "vote_sides"]

_LIGHTEST, _HEAVIEST = 1.0, 50.0
_SMALLEST = 1e-12


def mixture_weight(margin: float) -> float:
    """Return a, the parameter of the Beta(a, a) mixture that suits a margin: ``1 / (8 margin^2)`` within [1, 50].

    Parameters
    ----------
    margin : float
        The expected ``|p - 1/2|``, in (0, 1/2].

    Examples
    --------
    >>> [round(mixture_weight(margin), 1) for margin in (0.01, 0.1, 0.25, 0.5)]
    [50.0, 12.5, 2.0, 1.0]
    """
    return float(np.clip(1 / (8 * margin**2), _LIGHTEST, _HEAVIEST))


def log_wealth(wins: Floats | float, votes: Floats | float, a: float, p: Floats | float = 0.5) -> Floats:
    """Return ``ln M_n(p)``.

    Parameters
    ----------
    wins, votes : ndarray of float64 or float
        k and n, of one shape.
    a : float
        Of the mixture; fixed before the first vote.
    p : float or ndarray of float64
        The share that is compared with the votes, in (0, 1).

    Examples
    --------
    >>> np.exp(log_wealth(np.array([1.0, 2.0]), np.array([1.0, 2.0]), a=1.0)).round(4).tolist()
    [1.0, 1.3333]
    """
    losses = np.subtract(votes, wins)
    mixed = special.betaln(wins + a, losses + a) - special.betaln(a, a)
    return np.asarray(mixed - special.xlogy(wins, p) - special.xlog1py(losses, -p), dtype=np.float64)


def vote_sides(wins: Floats, votes: Floats, a: float, than: float, confidence: float) -> Floats:
    """Return after each vote where the confidence sequence lies: 1 above a share, -1 below it, 0 around it.

    Parameters
    ----------
    wins, votes : ndarray of float64, shape (looks,)
    a : float
        Of the mixture.
    than : float
        The share to compare it with, in (0, 1); one half: neither is preferred.
    confidence : float
        In (0, 1).
    """
    out = log_wealth(wins, votes, a, than) >= -np.log1p(-confidence)
    found: Floats = np.where(out, np.sign(wins - than * votes), 0.0)
    return found


def share_limits(wins: float, votes: float, a: float, confidence: float) -> tuple[float, float]:
    """Return the confidence sequence's interval for the share, ``{p : M_n(p) < 1/alpha}``.

    Parameters
    ----------
    wins, votes : float
        k and n.
    a : float
        Of the mixture.
    confidence : float
        In (0, 1).

    Examples
    --------
    >>> low, high = share_limits(60.0, 100.0, a=10.0, confidence=0.95)
    >>> round(low, 3), round(high, 3)
    (0.455, 0.734)
    """
    most = -float(np.log1p(-confidence))

    def excess(p: float) -> float:
        return float(log_wealth(wins, votes, a, p) - most)

    # ln M is convex in p with its least value at k / n.
    middle = min(max(wins / votes, _SMALLEST), 1 - _SMALLEST) if votes else 0.5
    low = 0.0 if excess(_SMALLEST) < 0 else float(optimize.brentq(excess, _SMALLEST, middle))
    high = 1.0 if excess(1 - _SMALLEST) < 0 else float(optimize.brentq(excess, middle, 1 - _SMALLEST))
    return low, high
