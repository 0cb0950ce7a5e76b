"""Evidence that a stream changed at some unknown time: an average of bets, one begun at each look of a year.

A bet that begins at look s is worth 1 before s and grows where the stream moved at s. The average over the starts,
``M_t = (sum over s <= t of E_s,t + L - t) / L`` with L looks a year, starts at 1 and is a martingale where nothing
moves. By Ville's inequality it reaches ``1 / a`` within the year with probability `a` at most. Each year has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.sums import Floats

__all__ = ["ChangeEvidence", "Sides", "bounded_evidence", "first_alarm", "scores_evidence"]

Sides = Literal["both", "above", "below"]

SPREAD = 1.0
"""Standard deviation of the shifts that are bet on, in standard deviations of a period."""

STAKES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Shares of the largest stake that cannot lose more than everything."""

_Ints = npt.NDArray[np.int64]


class ChangeEvidence(NamedTuple):
    """What a stream says at each of its looks."""

    log_e: Floats
    """Natural logarithm of ``M_t``."""
    start: _Ints
    """The start whose bet is worth most, counted as looks from 0."""


def scores_evidence(scores: Floats, year: int, sides: Sides = "both") -> ChangeEvidence:
    """Return the evidence that independent standard normal scores have moved.

    The bet from s on is the likelihood ratio of a shift that is itself drawn from a normal law of mean 0 and standard
    deviation `SPREAD`, or from its half above or below 0. With k scores of sum S since s and ``c = 1 + k SPREAD^2``:
    ``E = exp(S^2 SPREAD^2 / (2 c)) / sqrt(c)``, of one half times ``2 Phi(+-S SPREAD / sqrt(c))``.

    Parameters
    ----------
    scores : ndarray of float64, shape (..., looks)
        See `bonwise.stats.drift.normal_scores.normal_scores`.
    year : int
        Looks over which the chance of a false alarm is spent, L.
    sides : {"both", "above", "below"}

    Examples
    --------
    >>> found = scores_evidence(np.array([0.1, -0.3, 2.9, 3.1, 2.8]), 10)
    >>> np.exp(found.log_e).round(2).tolist(), found.start.tolist()
    ([0.97, 0.93, 1.58, 28.87, 900.64], [0, 1, 2, 2, 2])
    """
    sign = -1.0 if sides == "below" else 1.0

    def bets(at: int, first: int) -> Floats:
        since = np.cumsum(scores[..., first : at + 1][..., ::-1], axis=-1)[..., ::-1]
        spread = 1 + np.arange(at - first + 1, 0, -1.0) * SPREAD**2
        worth = since**2 * SPREAD**2 / (2 * spread) - np.log(spread) / 2
        if sides != "both":
            worth = worth + np.log(2.0) + special.log_ndtr(sign * since * SPREAD / np.sqrt(spread))
        return np.asarray(worth, dtype=np.float64)

    return _averaged(scores.shape, year, bets)


def bounded_evidence(gains: Floats, reach: float, year: int) -> ChangeEvidence:
    """Return the evidence that a bounded stream has a mean above 0, whatever its law.

    The bet from s on is the average over `STAKES` of the product of ``1 + stake x gain / reach``, the wealth of a
    bettor who starts with 1 (Waudby-Smith and Ramdas, arXiv:2010.09686).

    Parameters
    ----------
    gains : ndarray of float64, shape (..., looks)
        One per look; no mean above 0, given what came before, where nothing moved.
    reach : float
        No gain is below ``-reach``; above 0.
    year : int
        Looks over which the chance of a false alarm is spent.

    Examples
    --------
    >>> found = bounded_evidence(np.array([-0.05, 0.1, 0.2, 0.15]), 0.05, 10)
    >>> np.exp(found.log_e).round(2).tolist(), found.start.tolist()
    ([0.96, 1.07, 1.78, 3.91], [0, 1, 1, 1])
    """
    logs = np.log1p(np.multiply.outer(np.array(STAKES), np.maximum(gains, -reach) / reach))

    def bets(at: int, first: int) -> Floats:
        since = np.cumsum(logs[..., first : at + 1][..., ::-1], axis=-1)[..., ::-1]
        return np.asarray(special.logsumexp(since, axis=0) - np.log(len(STAKES)), dtype=np.float64)

    return _averaged(gains.shape, year, bets)


def _averaged(shape: tuple[int, ...], year: int, bets: Callable[[int, int], Floats]) -> ChangeEvidence:
    """Average the bets of all starts of a year, at every look."""
    log_e, start = np.empty(shape), np.empty(shape, dtype=np.int64)
    for at in range(shape[-1]):
        first = at - at % year
        worth = bets(at, first)
        unused = year - worth.shape[-1]
        total = special.logsumexp(worth, axis=-1)
        log_e[..., at] = np.logaddexp(total, np.log(unused) if unused else -np.inf) - np.log(year)
        start[..., at] = first + np.argmax(worth, axis=-1)
    return ChangeEvidence(log_e, start)


def first_alarm(log_e: Floats, chance: float) -> int | None:
    """Return the first look at which the evidence reaches ``1 / chance``; None where none does.

    Examples
    --------
    >>> first_alarm(np.log([1.0, 30.0, 10.0]), 0.05), first_alarm(np.log([1.0, 3.0]), 0.05)
    (1, None)
    """
    reached = np.flatnonzero(log_e >= -np.log(chance))
    return int(reached[0]) if reached.size else None
