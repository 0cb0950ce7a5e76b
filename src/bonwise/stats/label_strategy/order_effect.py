"""Verdicts of two presentation orders: what one order says, what both say together, what the order did."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.label_strategy.shares import Share, mean_difference, pair_share, share_difference
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["OF_VERDICTS", "order_differences", "order_effects", "verdict_metrics"]

_Ints = npt.NDArray[np.int64]

OF_VERDICTS = ("tie_rate", "agreement", "accuracy_decided")


def verdict_metrics(values: Floats, oracle: Floats, prompt: _Ints, confidence: float) -> dict[str, Estimate]:
    """Estimate how verdicts fare against an oracle's, clustered by prompt.

    Parameters
    ----------
    values, oracle : ndarray of float64, shape (pairs,)
        Above 1/2 for the first candidate, below for the second, 1/2 for a tie.
    prompt : ndarray of int64, shape (pairs,)
    confidence : float

    Returns
    -------
    dict of str to Estimate
        ``tie_rate``: share of ties. ``agreement``: over the pairs that the oracle decides, a tie counting one half.
        ``accuracy_decided``: over those that both decide.

    Examples
    --------
    >>> found = verdict_metrics(np.array([1., .5, 0., 1.]), np.array([1., 1., 1., 1.]), np.arange(4), 0.95)
    >>> [round(one.estimate, 3) for one in found.values()]
    [0.25, 0.625, 0.667]
    """
    return {name: pair_share(share, prompt, confidence) for name, share in _shares(values, oracle).items()}


def order_differences(
    first: Floats, second: Floats, oracle: Floats, prompt: _Ints, confidence: float
) -> dict[str, Estimate]:
    """Estimate the differences of the metrics of two ways to a verdict on the same pairs, first minus second."""
    left, right = _shares(first, oracle), _shares(second, oracle)
    return {name: share_difference(left[name], right[name], prompt, confidence) for name in OF_VERDICTS}


def order_effects(
    one: Floats, other: Floats, prompt: _Ints, confidence: float, weights: Floats | None = None
) -> Mapping[str, Estimate]:
    """Estimate what the order of presentation did.

    Parameters
    ----------
    one, other : ndarray of float64, shape (pairs,)
        What the first candidate earned when it was shown first, and when it was shown second.
    prompt : ndarray of int64, shape (pairs,)
    confidence : float
    weights : ndarray of float64, shape (pairs,), optional
        1 over the probability with which the pair was drawn.

    Returns
    -------
    mapping of str to Estimate
        ``first_shown_advantage``: mean of the difference, in [-1, 1]. ``flips``: share of pairs whose verdict is not
        the same in both orders.
    """
    flips = (_sign(one) != _sign(other)).astype(float)
    return {
        "first_shown_advantage": mean_difference(one, other, prompt, confidence, weights),
        "flips": pair_share(Share(flips, np.ones(len(flips))), prompt, confidence, weights),
    }


def _shares(values: Floats, oracle: Floats) -> dict[str, Share]:
    judge, gold = _sign(values), _sign(oracle)
    ones, right = np.ones(len(values)), (1 + judge * gold) / 2
    return {
        "tie_rate": Share((judge == 0).astype(float), ones),
        "agreement": Share(right, (gold != 0).astype(float)),
        "accuracy_decided": Share(right, ((gold != 0) & (judge != 0)).astype(float)),
    }


def _sign(values: Floats) -> Floats:
    signs: Floats = np.sign(np.round(values - 0.5, TIE_DECIMALS))
    return signs
