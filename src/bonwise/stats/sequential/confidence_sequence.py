"""A confidence sequence for a ratio of means: intervals that hold the truth at all looks together.

Asymptotic normal-mixture sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform
central limit theory and asymptotic confidence sequences", arXiv:2103.06476, applied to
``psi(r) = numerator - r x denominator``: Fieller's interval with another critical value.
"""

from __future__ import annotations

import numpy as np

from bonwise.stats.sequential.running_ratio import RunningRatio
from bonwise.stats.sums import Floats

__all__ = ["EARLIEST", "mixture_variance", "sequence_limits", "sides", "squared_critical"]

EARLIEST = 200
"""Prompts from which on the sequence is trusted: it rests on a normal limit."""


def mixture_variance(target: float, confidence: float) -> float:
    """Return k2, the mixture's variance for which the sequence is narrowest after `target` prompts.

    ``k2 = (-2 ln alpha + ln(1 - 2 ln alpha)) / target`` with ``alpha = 1 - confidence``.

    Examples
    --------
    >>> round(mixture_variance(400, 0.95), 5)
    0.01984
    """
    doubled = -2 * np.log1p(-confidence)
    return float((doubled + np.log1p(doubled)) / target)


def squared_critical(count: Floats, target: float, confidence: float) -> Floats:
    """Return what is in the place of z^2 after `count` prompts: ``(m k2 + 1)/(m k2) ln((m k2 + 1)/alpha^2)``.

    Parameters
    ----------
    count : ndarray of float64
        m.
    target : float
        Prompts after which the sequence is to be narrowest; fixed before the first label.
    confidence : float
        In (0, 1).

    Examples
    --------
    >>> squared_critical(np.array([200.0, 400.0, 800.0]), 400, 0.95).round(3).tolist()
    [9.508, 9.212, 9.373]
    """
    spread = count * mixture_variance(target, confidence)
    found: Floats = (spread + 1) / spread * (np.log1p(spread) - 2 * np.log1p(-confidence))
    return found


def sequence_limits(running: RunningRatio, target: float, confidence: float) -> tuple[Floats, Floats]:
    """Return the sequence's interval for the ratio at every look, NaN where it is unbounded.

    Parameters
    ----------
    running : RunningRatio
    target, confidence : float
        As in `squared_critical`.
    """
    return running.limits(squared_critical(running.count, target, confidence))


def sides(running: RunningRatio, than: float, target: float, confidence: float) -> Floats:
    """Return at every look where the sequence lies: 1 above a ratio, -1 below it, 0 where it holds it.

    The denominator is never negative, so the mean of ``psi(than)`` has the sign of ``ratio - than``; this
    answers also where the interval of the ratio itself is unbounded.

    Parameters
    ----------
    running : RunningRatio
    than : float
        The ratio to compare it with.
    target, confidence : float
        As in `squared_critical`.
    """
    mean, se = running.gap(than)
    reach = np.sqrt(squared_critical(running.count, target, confidence)) * se
    found: Floats = np.where(running.varies(than) & (np.abs(mean) > reach), np.sign(mean), 0.0)
    return found
