"""What more labels would bring: the interval on another number of prompts, and how likely it settles a gate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bonwise.stats import estimand, estimation, jackknife, pilot_effect, sample_size, sums, support
from bonwise.stats.laws import EffectiveShare, Exact, Fieller, FisherZ, Law, Percentile, RecoveryNearOne, Student

__all__ = ["POWER", "Settling", "distance", "gate_shift", "projected"]

POWER = 0.9
"""With which chance a study of the size that is named settles the verdict."""


def gate_shift(
    gains: sums.Floats, possible: sums.Floats, gate: float, clusters: np.typing.NDArray[np.int64] | None = None
) -> pilot_effect.Shift:
    """Estimate the mean of ``gain - gate x possible gain`` over its standard deviation, with its standard error.

    Recovery lies above the gate exactly where that mean lies above 0.
    """
    over = gains - gate * possible
    return pilot_effect.standardised(over, over * over, clusters)


class Settling(NamedTuple):
    """What a study says of a gate, by its size, if the estimate is the truth."""

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
        """Return the power of a one-sided t test on the estimate's side of the gate, by Guenther's correction."""
        loss = sample_size.critical_value(self._one_sided, 1) ** 2 / 2
        units = max(prompts * self.units / self.prompts - loss, 0.0)
        return sample_size.mean_power(self._each, units, self._one_sided, 1)

    def needed(self, power: float = POWER) -> float | None:
        """Return the prompts at which that chance is `power`; None where the estimate equals the gate."""
        return self._prompts(self._each, power)

    def needed_between(self, pilot: pilot_effect.Shift, power: float = POWER) -> tuple[float | None, float | None]:
        """Return between which numbers that lies, for what the prompts there are leave uncertain of the distance.

        The upper end is None where the distance may be 0, the lower one where it is unknown. `pilot` is as
        `gate_shift` gives it.
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
        return pilot_effect.small_sample_units(each, power, self._one_sided) * self.prompts / self.units


def projected(found: estimand.Estimate, ratio: float, confidence: float) -> estimand.Estimate | None:
    """Return an estimate with the interval that `ratio` times as many prompts, labelled or not, would give it.

    Variances and covariances of means shrink as ``1 / ratio``; ``df' = (df + 1) ratio - 1``, not below 3 and not
    above the prompts less 1. Replicates of a bootstrap move towards the estimate by ``1 / sqrt(ratio)``. None where
    nothing is known of the estimate beside itself.
    """
    if found.estimate is None or found.law is None:
        return None
    n = max(round(found.n * ratio), 1)
    law = found.law if ratio == 1 else _scaled(found.law, found.estimate, ratio, n)
    if law is None:
        return None
    se = np.nan if found.se is None else found.se / np.sqrt(ratio)
    if law.at(confidence) is None:
        return estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n).with_method(found.method)
    made = estimation.under(law, confidence, estimate=found.estimate, se=float(se), n=n)
    rests = None if found.support is None else found.support.times(ratio)
    return support.reaching(replace(made, method=found.method, support=rests))


def _scaled(law: Law, estimate: float, ratio: float, n: int) -> Law | None:
    """Return a law on other prompts; None for one that says nothing of how it depends on their number."""
    if isinstance(law, Fieller):
        caa, cab, cbb = (one / ratio for one in (law.caa, law.cab, law.cbb))
        return replace(law, caa=caa, cab=cab, cbb=cbb, df=_df(law.df, ratio, n))
    if isinstance(law, Student | FisherZ | EffectiveShare):
        return replace(law, se=float(law.se / np.sqrt(ratio)), df=_df(law.df, ratio, n))
    if isinstance(law, RecoveryNearOne):
        inside, lost = _scaled(law.ratio, estimate, ratio, n), _scaled(law.lost, estimate, ratio, n)
        return RecoveryNearOne(inside, lost) if inside is not None and isinstance(lost, EffectiveShare) else None
    if isinstance(law, Exact):
        return replace(law, n=max(round(law.n * ratio), 1))
    if isinstance(law, Percentile):
        return replace(law, replicates=estimate + (law.replicates - estimate) / np.sqrt(ratio))
    return None


def _df(df: float, ratio: float, n: int) -> float:
    return min(max((df + 1) * ratio - 1, jackknife.FEWEST_DF), max(n - 1.0, 1.0))


def distance(found: estimand.Estimate, value: float) -> float | None:
    """Return by how many standard errors an estimate lies above a value; None where there is no standard error.

    Of a ratio, as Fieller's interval has it, ``(a - value b) / sqrt(caa - 2 value cab + value^2 cbb)``.
    """
    if found.estimate is None:
        return None
    law = found.law.ratio if isinstance(found.law, RecoveryNearOne) else found.law
    apart, se = found.estimate - value, found.se
    if isinstance(law, Fieller):
        apart = law.a - value * law.b
        se = float(np.sqrt(max(law.caa - 2 * value * law.cab + value**2 * law.cbb, 0.0)))
    return None if se is None or se <= 0 else float(np.round(apart / se, 12))
