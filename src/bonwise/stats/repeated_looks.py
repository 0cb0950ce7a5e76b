"""Looking repeatedly at no cost in validity: confidence sequences, an e-process of votes, a stop at a half-width."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.jackknife import moments_df
from bonwise.stats.running_ratio import RunningRatio
from bonwise.stats.support import enough

EARLIEST = 200
"""Prompts from which on the sequence is trusted: it rests on a normal limit."""


def mixture_variance(target: float, confidence: float) -> float:
    """Return k2, narrowest after `target` prompts: ``(-2 ln alpha + ln(1 - 2 ln alpha)) / target``."""
    doubled = -2 * np.log1p(-confidence)
    return float((doubled + np.log1p(doubled)) / target)


def squared_critical(count: Floats, target: float, confidence: float) -> Floats:
    """Return what stands for z^2 after m prompts: ``(m k2 + 1)/(m k2) ln((m k2 + 1)/alpha^2)``."""
    spread = count * mixture_variance(target, confidence)
    found: Floats = (spread + 1) / spread * (np.log1p(spread) - 2 * np.log1p(-confidence))
    return found


def sequence_limits(running: RunningRatio, target: float, confidence: float) -> tuple[Floats, Floats]:
    """Return the sequence's interval for the ratio at every look, NaN where unbounded; see `squared_critical`."""
    return running.limits(squared_critical(running.count, target, confidence))


def sides(running: RunningRatio, than: float, target: float, confidence: float) -> Floats:
    """Return at every look where the sequence lies: 1 above a ratio, -1 below it, 0 where it holds it.

    The denominator is never negative, so the mean of ``psi(than)`` has the sign of ``ratio - than``; this answers
    also where the interval of the ratio itself is unbounded. Not above one that further losses would take it below.
    `target` and `confidence` are as in `squared_critical`.
    """
    mean, se = running.gap(than)
    reach = np.sqrt(squared_critical(running.count, target, confidence)) * se
    found: Floats = np.where(running.varies(than) & (np.abs(mean) > reach), np.sign(mean), 0.0)
    return np.where((found > 0) & ~(running.after_losses > than), 0.0, found)


_LIGHTEST, _HEAVIEST = 1.0, 50.0
_SMALLEST = 1e-12


def mixture_weight(margin: float) -> float:
    """Return a of the Beta(a, a) mixture that suits a margin, ``|p - 1/2|``: ``1 / (8 margin^2)`` within [1, 50]."""
    return float(np.clip(1 / (8 * margin**2), _LIGHTEST, _HEAVIEST))


def log_wealth(wins: Floats | float, votes: Floats | float, a: float, p: Floats | float = 0.5) -> Floats:
    """Return ``ln M_n(p)``, the log likelihood ratio of the Beta(a, a) mixture, against the share p."""
    losses = np.subtract(votes, wins)
    mixed = special.betaln(wins + a, losses + a) - special.betaln(a, a)
    return np.asarray(mixed - special.xlogy(wins, p) - special.xlog1py(losses, -p), dtype=np.float64)


def vote_sides(wins: Floats, votes: Floats, a: float, than: float, confidence: float) -> Floats:
    """Return after each vote where the confidence sequence lies: 1 above the share `than`, -1 below, 0 around it."""
    out = log_wealth(wins, votes, a, than) >= -np.log1p(-confidence)
    return np.where(out, np.sign(wins - than * votes), 0.0)


def share_limits(wins: float, votes: float, a: float, confidence: float) -> tuple[float, float]:
    """Return the confidence sequence's interval for the share, ``{p : M_n(p) < 1/alpha}``, as in `log_wealth`."""
    most = -float(np.log1p(-confidence))

    def excess(p: float) -> float:
        return float(log_wealth(wins, votes, a, p) - most)

    # ln M is convex in p with its least value at k / n.
    middle = min(max(wins / votes, _SMALLEST), 1 - _SMALLEST) if votes else 0.5
    low = 0.0 if excess(_SMALLEST) < 0 else float(optimize.brentq(excess, _SMALLEST, middle))
    high = 1.0 if excess(1 - _SMALLEST) < 0 else float(optimize.brentq(excess, middle, 1 - _SMALLEST))
    return low, high


STEP = 10
"""Prompts from one look to the next."""

EARLIEST_LOOK = 30
"""Units, prompts or clusters of prompts, before the first look."""

TELLING = 20
"""Units before the first look in which there was something to gain and the pick did not gain exactly 0."""

_SHARE_OF_PLANNED = 0.1
_EXTRA = 10.0  # prompts' worth of variance on top


def first_look(planned: int | None) -> int:
    """Return m0, the number of prompts before which nothing is looked at: max(30, 10 % of what is planned)."""
    return max(EARLIEST_LOOK, int(np.ceil(_SHARE_OF_PLANNED * (planned or 0) - 1e-9)))


def looks(first: int, running: RunningRatio) -> Ints:
    """Return the looks, every `STEP` prompts from `first` on once `EARLIEST_LOOK` units tell enough."""
    numbers = np.arange(first, len(running.prompts) + 1, STEP, dtype=np.int64)
    seen = running.at(numbers)
    tells = (seen.count >= EARLIEST_LOOK) & (seen.telling >= TELLING)
    return numbers[tells & enough(seen.prompts, seen.effective)]


def precise(running: RunningRatio, half_width: float, confidence: float) -> Mask:
    """Tell at which looks the ratio is known to a half-width."""
    low, high = precision_limits(running, confidence)
    return np.asarray((high - low) / 2 <= half_width)


def precision_limits(running: RunningRatio, confidence: float) -> tuple[Floats, Floats]:
    """Return Fieller's interval with Student's t and ``1 + 10/m`` times the variance, NaN where it is unbounded."""
    df = moments_df(1.0, running.kurtosis / running.count, running.count)
    squared = np.square(special.stdtrit(df, 0.5 + confidence / 2), dtype=np.float64)
    return running.limits(squared, 1 + _EXTRA / running.count)
