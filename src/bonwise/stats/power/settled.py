"""How likely a study of a given size settles on which side of a gate a figure lies, and which size it takes.

Legend: ``z`` standard errors between the estimate and the gate on the units there are, ``d = z / sqrt(units)`` those
of one unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.power.pilot_effect import Shift, standardised
from bonwise.stats.power.power import critical_value, mean_power
from bonwise.stats.power.redrawn import small_sample_units
from bonwise.stats.sums import Floats

__all__ = ["POWER", "Settling", "gate_shift"]

POWER = 0.9
"""With which chance a study of the size that is named settles the verdict."""


def gate_shift(gains: Floats, possible: Floats, gate: float, clusters: npt.NDArray[np.int64] | None = None) -> Shift:
    """Estimate the mean of ``gain - gate x possible gain`` over its standard deviation, with its standard error.

    Recovery lies above the gate exactly where that mean lies above 0.

    Parameters
    ----------
    gains, possible : ndarray of float64, shape (prompts,)
        J - R and M - R.
    gate : float
        On the recovery.
    clusters : ndarray of int64, shape (prompts,), optional

    Examples
    --------
    >>> found = gate_shift(np.array([0.1, 0.3, 0.2]), np.array([0.4, 0.4, 0.4]), 0.25)
    >>> round(found.estimate, 3)
    1.225
    """
    over = gains - gate * possible
    return standardised(over, over * over, clusters)


class Settling(NamedTuple):
    """What a study says of a gate, by its size, if the estimate is the truth.

    Examples
    --------
    >>> study = Settling(z=1.0, prompts=100, units=100, confidence=0.95)
    >>> round(study.chance(1053), 2), round(study.needed())
    (0.9, 1053)
    """

    z: float
    """Standard errors between the estimate and the gate on the prompts there are; its sign does not matter."""
    prompts: int
    """Prompts there are, and clusters of them; the prompts once more where there are no clusters."""
    units: int
    """Prompts there are, and clusters of them; the prompts once more where there are no clusters."""
    confidence: float
    """Of the two-sided interval that settles the verdict by lying on one side of the gate."""

    @property
    def _one_sided(self) -> float:
        return (1 + self.confidence) / 2

    @property
    def _each(self) -> float:
        return abs(self.z) / math.sqrt(self.units)

    def chance(self, prompts: float) -> float:
        """Return how likely a study of so many prompts has its whole interval on the estimate's side of the gate.

        The power of a one-sided t test by `bonwise.stats.power.power.mean_power` with Guenther's correction.
        """
        loss = critical_value(self._one_sided, 1) ** 2 / 2
        units = max(prompts * self.units / self.prompts - loss, 0.0)
        return mean_power(self._each, units, self._one_sided, 1)

    def needed(self, power: float = POWER) -> float | None:
        """Return the prompts at which that chance is `power`; None where the estimate equals the gate."""
        return self._prompts(self._each, power)

    def needed_between(self, pilot: Shift, power: float = POWER) -> tuple[float | None, float | None]:
        """Return between which numbers that lies, for what the prompts there are leave uncertain of the distance.

        Parameters
        ----------
        pilot : Shift
            As `gate_shift` gives it.
        power : float

        Returns
        -------
        tuple
            The upper end is None where the distance may be 0, the lower one where it is unknown.
        """
        low, high = pilot.at(self.confidence)
        if pilot.estimate < 0:
            low, high = -high, -low
        own = abs(pilot.estimate)
        if not math.isfinite(high) or own == 0:
            return None, None
        largest = self._prompts(self._each * low / own, power) if low > 0 else None
        return self._prompts(self._each * high / own, power), largest

    def _prompts(self, each: float, power: float) -> float | None:
        if each < 1e-6:
            return None
        return small_sample_units(each, power, self._one_sided) * self.prompts / self.units
