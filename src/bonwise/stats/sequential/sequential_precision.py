"""Stop labelling when recovery is known to a half-width: a rule that repeated looks do not spoil.

An interval that is looked at again and again is narrow too early where the variance happens to be
small. Against that the first look comes late, Student's t takes the place of the normal, and the
variance counts ``1 + 10/m`` times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.sequential.running_ratio import RunningRatio
from bonwise.stats.sums import Floats

__all__ = ["STEP", "first_look", "looks", "precision_limits"]

STEP = 10
"""Prompts from one look to the next."""

_EARLIEST = 30
_SHARE_OF_PLANNED = 0.1
_EXTRA = 10.0  # prompts' worth of variance on top


def first_look(planned: int | None) -> int:
    """Return m0, the number of prompts before which nothing is looked at: max(30, 10 % of what is planned).

    Examples
    --------
    >>> first_look(None), first_look(170), first_look(473)
    (30, 30, 48)
    """
    return max(_EARLIEST, int(np.ceil(_SHARE_OF_PLANNED * (planned or 0) - 1e-9)))


def looks(first: int, prompts: int) -> npt.NDArray[np.int64]:
    """Return the numbers of prompts at which the rule looks, among those there are.

    Examples
    --------
    >>> looks(30, 55).tolist()
    [30, 40, 50]
    """
    return np.arange(first, prompts + 1, STEP, dtype=np.int64)


def precision_limits(running: RunningRatio, confidence: float) -> tuple[Floats, Floats]:
    """Return Fieller's interval with t(m - 1) and ``1 + 10/m`` times the variance, NaN where it is unbounded.

    Parameters
    ----------
    running : RunningRatio
        At the looks wanted, each after two prompts or more.
    confidence : float
        Two-sided, in (0, 1).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> running = RunningRatio.of(rng.normal(0.1, 0.1, 500), rng.uniform(0.2, 0.6, 500))
    >>> low, high = precision_limits(running.at(np.array([50, 500])), 0.95)
    >>> (high - low).round(3).tolist()
    [0.131, 0.042]
    """
    squared = np.square(special.stdtrit(running.count - 1, 0.5 + confidence / 2), dtype=np.float64)
    return running.limits(squared, 1 + _EXTRA / running.count)
