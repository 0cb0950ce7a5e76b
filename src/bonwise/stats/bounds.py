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
) -> tuple[float, float]:
    """Bound recovery over all prompts.

    Parameters
    ----------
    gain, possible : float
        Sums over labelled prompts of J - R and of M - R.
    missing : Unlabelled
        At least one prompt.
    label_range : tuple of float

    Notes
    -----
    The bounds solve a linear fractional program: the extreme labels of a prompt lie at the ends of the
    scale, with a few of them high. Where t of the a top-scored and m of the other candidates are high,
    ``J - R = w (t/a - (t + m)/K)`` and ``M - R = w (1 - (t + m)/K)`` on a scale of width w; both are
    linear in t and m, so only the corners count.
    """
    vertices = _vertices(missing, label_range[1] - label_range[0])
    return _extreme(gain, possible, *vertices, sign=-1.0), _extreme(gain, possible, *vertices, sign=1.0)


def _vertices(missing: Unlabelled, width: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt at each corner, shapes (corners, prompts)."""
    K, a = missing
    none, one = np.zeros_like(K), np.ones_like(K)
    corners = ((one, none), (a, none), (none, np.minimum(K - a, 1)), (none, K - a), (none, none))
    gains = [t / a - (t + m) / K for t, m in corners]
    possibles = [((t + m) > 0) - (t + m) / K for t, m in corners]
    return width * np.array(gains), width * np.array(possibles)


def _extreme(gain: float, possible: float, gains: Floats, possibles: Floats, *, sign: float) -> float:
    """Minimise or maximise (gain + sum of gains) / (possible + sum of possibles) by Dinkelbach's iteration."""
    prompts = np.arange(gains.shape[1])
    choice = np.zeros_like(prompts)  # one high label per prompt: the denominator is positive
    rho = (gain + float(gains[choice, prompts].sum())) / (possible + float(possibles[choice, prompts].sum()))
    while True:
        choice = (sign * (gains - rho * possibles)).argmax(axis=0)
        numerator = gain + float(gains[choice, prompts].sum())
        denominator = possible + float(possibles[choice, prompts].sum())
        # Each step improves until the optimum is reached; from there on only rounding moves.
        if denominator <= 0 or sign * (numerator / denominator - rho) <= 1e-12 * max(1.0, abs(rho)):
            return rho
        rho = numerator / denominator
