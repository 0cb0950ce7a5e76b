"""Stop labelling when recovery is known to a half-width: a rule that repeated looks do not spoil.

An interval that is looked at again and again is narrow too early where the variance happens to be
small. Against that the first look comes late and waits for prompts in which a pick changes something, Student's
t with the degrees of freedom that heavy tails leave takes the place of the normal, and the variance counts
``1 + 10/m`` times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.kurtosis import moments_df
from bonwise.stats.sequential.running_ratio import RunningRatio
from bonwise.stats.sums import Floats

__all__ = ["EARLIEST_LOOK", "STEP", "TELLING", "first_look", "looks", "precision_limits"]

STEP = 10
"""Prompts from one look to the next."""

EARLIEST_LOOK = 30
"""Units, prompts or clusters of prompts, before the first look."""

TELLING = 20
"""Units before the first look in which there was something to gain and the pick did not gain exactly 0."""

_SHARE_OF_PLANNED = 0.1
_EXTRA = 10.0  # prompts' worth of variance on top


def first_look(planned: int | None) -> int:
    """Return m0, the number of prompts before which nothing is looked at: max(30, 10 % of what is planned).

    Examples
    --------
    >>> first_look(None), first_look(170), first_look(473)
    (30, 30, 48)
    """
    return max(EARLIEST_LOOK, int(np.ceil(_SHARE_OF_PLANNED * (planned or 0) - 1e-9)))


def looks(first: int, running: RunningRatio) -> npt.NDArray[np.int64]:
    """Return the numbers of prompts at which the rule looks, among those there are.

    Every `STEP` prompts from the first look on, once there are `EARLIEST_LOOK` units, `TELLING` of which tell of
    the ratio: where few prompts carry all of the variance, the spread of those seen so far says little.

    Parameters
    ----------
    first : int
        Prompts before the first look.
    running : RunningRatio
        After each labelled prompt.

    Examples
    --------
    >>> running = RunningRatio.of(np.tile([0.0, 1.0, -1.0], 19), np.ones(57))
    >>> looks(30, running).tolist()
    [30, 40, 50]
    >>> looks(20, RunningRatio.of(np.tile([0.0, 1.0, -1.0], 19), np.ones(57), np.arange(57) // 2)).tolist()
    []
    """
    numbers = np.arange(first, len(running.prompts) + 1, STEP, dtype=np.int64)
    seen = running.at(numbers)
    found: npt.NDArray[np.int64] = numbers[(seen.count >= EARLIEST_LOOK) & (seen.telling >= TELLING)]
    return found


def precision_limits(running: RunningRatio, confidence: float) -> tuple[Floats, Floats]:
    """Return Fieller's interval with Student's t and ``1 + 10/m`` times the variance, NaN where it is unbounded.

    The degrees of freedom are those of `bonwise.stats.kurtosis.kurtosis_df`.

    Parameters
    ----------
    running : RunningRatio
        At the looks wanted, each after two units or more.
    confidence : float
        Two-sided, in (0, 1).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> running = RunningRatio.of(rng.normal(0.1, 0.1, 500), rng.uniform(0.2, 0.6, 500))
    >>> low, high = precision_limits(running.at(np.array([50, 500])), 0.95)
    >>> (high - low).round(3).tolist()
    [0.132, 0.042]
    """
    df = moments_df(1.0, running.kurtosis / running.count, running.count)
    squared = np.square(special.stdtrit(df, 0.5 + confidence / 2), dtype=np.float64)
    return running.limits(squared, 1 + _EXTRA / running.count)
