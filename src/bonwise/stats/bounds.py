"""Worst-case bounds over all prompts when some carry no labels and nobody knows why.

A prompt without labels may hold any labels on the scale [lo, hi]. The bounds treat the prompts at
hand as the population: they say what missing labels could hide, not what sampling could.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["Unlabelled", "recovery_bounds", "value_bounds"]

_Ints = npt.NDArray[np.int64]


class Unlabelled(NamedTuple):
    """Prompts without labels: how many candidates, how many of them the judge ties at the top."""

    sizes: Floats  # K, shape (prompts,)
    tied: Floats  # |A|, shape (prompts,)


def value_bounds(known: Floats, missing: int, label_range: tuple[float, float]) -> tuple[float, float]:
    """Bound the mean of a value over all prompts, `missing` of them unknown.

    Examples
    --------
    >>> value_bounds(np.array([0.5, 0.7]), 2, (0.0, 1.0))
    (0.3, 0.8)
    """
    total, count = float(known.sum()), len(known) + missing
    return (total + missing * label_range[0]) / count, (total + missing * label_range[1]) / count


def recovery_bounds(
    gain: float, possible: float, missing: Unlabelled, label_range: tuple[float, float]
) -> tuple[float, float] | None:
    """Bound recovery over all prompts.

    Parameters
    ----------
    gain, possible : float
        Sums over labelled prompts of J - R and of M - R.
    missing : Unlabelled
    label_range : tuple of float

    Returns
    -------
    tuple of float, or None
        None where no assignment of labels gives recovery a meaning.

    Notes
    -----
    With labels at the ends of the scale (width w), a prompt of K candidates of which the judge ties
    a at the top contributes at best ``J - R = M - R = w (1 - a/K)``, and at worst
    ``J - R = -w (K - a)/K`` with ``M - R = w a/K``. Both are vertices of a linear fractional program.
    """
    width = label_range[1] - label_range[0]
    K, a = missing
    best = float(width * (1 - a / K).sum())
    high = _quotient(gain + best, possible + best)
    low = _lowest(gain, possible, width * K, width * a, K)
    return None if high is None or low is None else (low, high)


def _lowest(gain: float, possible: float, wK: Floats, wa: Floats, K: Floats) -> float | None:
    """Minimise (gain + sum y1) / (possible + sum y2) by Dinkelbach's iteration."""
    tied_all = wK == wa
    one = wK / K
    worst = np.where(tied_all, 0.0, -(wK - wa) / K)
    # A prompt the judge ties entirely adds nothing to the gain, and at most this to what was possible.
    most = np.where(tied_all, one * (1 - 1 / K), wa / K)
    rho = 0.0
    for _ in range(100):
        take = worst - rho * most < 0
        value = _quotient(gain + float(worst[take].sum()), possible + float(most[take].sum()))
        if value is None or abs(value - rho) < 1e-12:
            return value
        rho = value
    return rho


def _quotient(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator > 1e-12 else None
