"""When a confidence sequence for the recovery stops, the effect being as planned.

Legend: ``m`` completely labelled prompts, ``theta`` mean over standard deviation of a prompt's gain, ``W`` a Brownian
motion: after m prompts the mean over its standard error is ``theta sqrt(m) + W(m) / sqrt(m)`` in the limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.stats.sequential.confidence_sequence import EARLIEST, squared_critical
from bonwise.stats.sums import Floats

__all__ = ["Stopping", "gain_stopping"]

_PATHS, _LOOKS, _SEED = 2000, 500, 20261122
_FARTHEST = 60.0
"""m theta^2 by which all but one path in thousands has stopped."""
_LATE = 0.9


class Stopping(NamedTuple):
    """Prompts at which a study stops."""

    mean: tuple[float, float]
    """Two standard errors of the simulated mean below and above it."""
    late: float
    """What one study in ten exceeds."""


def gain_stopping(standardised: float, target: float, confidence: float) -> Stopping:
    """Simulate after how many prompts the confidence sequence of ``bonwise monitor`` tells a gain from 0.

    Parameters
    ----------
    standardised : float
        theta, above 0.
    target : float
        Prompts planned, at which the sequence is narrowest.
    confidence : float

    Returns
    -------
    Stopping
        No look is earlier than `EARLIEST`.

    Examples
    --------
    >>> gain_stopping(0.5, 34, 0.95)
    Stopping(mean=(200.0, 200.0), late=200.0)
    """
    last = max(EARLIEST + 1.0, _FARTHEST / standardised**2)
    looks = np.linspace(EARLIEST, last, _LOOKS)
    bound = np.sqrt(squared_critical(looks, target, confidence))
    steps = np.sqrt(np.diff(looks, prepend=0.0))
    chance = np.random.default_rng(_SEED)
    stopped: Floats = np.empty(_PATHS)
    for path in range(_PATHS):  # one at a time: all of them together would be as large as they are many
        z = standardised * np.sqrt(looks) + np.cumsum(chance.standard_normal(_LOOKS) * steps) / np.sqrt(looks)
        over = np.abs(z) > bound
        stopped[path] = looks[over.argmax()] if over.any() else last
    mean, error = float(stopped.mean()), 2 * float(stopped.std()) / np.sqrt(_PATHS)
    return Stopping((float(mean - error), float(mean + error)), float(np.quantile(stopped, _LATE)))
