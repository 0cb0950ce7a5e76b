"""What each prompt adds to the figures of a judge of plain noise: their derivatives by the prompt's weight.

An estimate that moves by ``psi_x dw`` when the weight of prompt x grows from 1 by ``dw`` has the standard error
``sqrt(n / (n - 1) sum_x psi_x^2)``, the jackknife's to first order. With ``s`` held, all derivatives are those of
ratios of totals; where ``s`` follows from the labels they are linked by the chain rule, the slopes being taken by
``log s``.

What a judge of plain noise recovers more or less than expected needs no such estimate: its variance follows from the
labels. With ``L`` the shortfall of a pick, ``G`` the possible gain of all prompts, ``D = sum (K - 1)``, ``r`` the
within_r and ``b`` the slope of recovery by ``log s``, the normal ``Z`` gives ``cov(L, sum e Z) = -s dL/dlog s`` and
``cov(L, sum (Z - mean Z)^2) = dL/dlog s``, so that recovery less that at the within_r found has the variance

``sum_x var(L_x) / G^2 - b^2 (1 / r^2 - 1/2) / D``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from bonwise.stats.requirements.curve import NoisyOracle
from bonwise.stats.sums import Floats, Sums

__all__ = ["AtNoise", "recovery_influence", "within_r_influence"]

_NUDGE = 1e-4  # of log s: the slope errs by about as much of itself


@dataclass(frozen=True)
class AtNoise:
    """The figures of a judge of plain noise, their slopes and the influence of each prompt."""

    labels: NoisyOracle
    noise: float
    """Above 0, in the unit of the labels."""

    @cached_property
    def _shortfalls(self) -> Floats:
        return self.labels.shortfalls(self.noise)

    @cached_property
    def recovery(self) -> float:
        """Share of the possible gain."""
        return float(1 - self._shortfalls.sum() / self.labels.gain.sum())

    @cached_property
    def recovery_slope(self) -> float:
        """Derivative of recovery by log s; below 0."""
        return self._slope(self.labels.recovery, self.recovery)

    @cached_property
    def recovery_influence(self) -> Floats:
        """Of each prompt on recovery, the noise held."""
        found: Floats = ((1 - self.recovery) * self.labels.gain - self._shortfalls) / self.labels.gain.sum()
        return found

    @cached_property
    def spread_influence(self) -> Floats:
        """Of each prompt on the logarithm of the spread of labels within prompts."""
        squares, freedom = self.labels.squares, self.labels.freedom
        found: Floats = (squares / squares.sum() - freedom / freedom.sum()) / 2
        return found

    @cached_property
    def difference_error(self) -> float:
        """Standard error, the labels given, of what such a judge recovers less what its within_r lets expect."""
        within_r = self.labels.within_r(self.noise)
        own = float((self.labels.squared_shortfalls(self.noise) - self._shortfalls**2).sum())
        explained = self.recovery_slope**2 * (1 / within_r**2 - 0.5) / float(self.labels.freedom.sum())
        return math.sqrt(max(own / float(self.labels.gain.sum()) ** 2 - explained, 0.0))

    def needed_within_r(self) -> Floats:
        """Return the influence on the within_r at which recovery is what it is here."""
        within_r = self.labels.within_r(self.noise)
        bend = within_r * (1 - within_r**2)
        found: Floats = bend * (self.spread_influence + self.recovery_influence / self.recovery_slope)
        return found

    def needed_agreement(self) -> Floats:
        """Return the influence on the effective agreement at which recovery is what it is here."""
        agreement, pairs = self.labels.agreement(self.noise), self.labels.pairs
        slope = self._slope(self.labels.agreement, agreement)
        held = (self.labels.orders(self.noise) - (agreement - 0.5) * pairs) / pairs.sum()
        found: Floats = held - slope / self.recovery_slope * self.recovery_influence
        return found

    def recovered(self, on_within_r: Floats | float = 0.0) -> Floats:
        """Return the influence on recovery where the noise follows from a within_r.

        Parameters
        ----------
        on_within_r : ndarray of float64, shape (prompts,), or 0.0
            Influence on that within_r; 0 where it is given.
        """
        within_r = self.labels.within_r(self.noise)
        on_noise = self.spread_influence - on_within_r / (within_r * (1 - within_r**2))
        return self.recovery_influence + self.recovery_slope * on_noise

    def _slope(self, of: Callable[[float], float], here: float) -> float:
        return (of(self.noise * math.exp(_NUDGE)) - here) / _NUDGE


def recovery_influence(sums: Sums) -> Floats:
    """Return the influence of each prompt on the recovery of a judge that scored it.

    Parameters
    ----------
    sums : Sums
        Of each prompt.
    """
    gain, possible = sums.J - sums.R, sums.M - sums.R
    found: Floats = (gain - gain.sum() / possible.sum() * possible) / possible.sum()
    return found


def within_r_influence(sums: Sums) -> Floats:
    """Return the influence of each prompt on the within_r of a judge that scored it."""
    product, left, right = sums.eSO.sum(), sums.eSS.sum(), sums.eOO.sum()
    reach = math.sqrt(left * right)
    found: Floats = sums.eSO / reach - product / reach * (sums.eSS / left + sums.eOO / right) / 2
    return found
