"""From a wanted recovery, or a within_r, back to the noise of the judge that has it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from bonwise.stats.requirements.curve import NoisyOracle

__all__ = ["Point", "noise_for_recovery", "noise_for_within_r", "points"]

_LEAST = 1e-9  # radians: a within_r that differs from 1, or from 0, by less is that


class Point(NamedTuple):
    """A judge of plain noise on the labels at hand."""

    noise: float
    recovery: float
    within_r: float
    agreement: float


def noise_for_within_r(labels: NoisyOracle, within_r: float) -> float:
    """Return the noise of the judge with a within_r between 0 and 1, exclusive.

    Examples
    --------
    >>> labels = NoisyOracle.of(np.array([1.0, 0.0, 0.5, 0.5]), np.array([2, 2]))
    >>> round(labels.within_r(noise_for_within_r(labels, 0.6)), 12)
    0.6
    """
    return labels.spread * math.tan(math.acos(within_r))


def noise_for_recovery(labels: NoisyOracle, recovery: float) -> float:
    """Return the noise of the judge with a recovery between 0 and 1, exclusive.

    Sought between two points of the curve, along the angle whose cosine is within_r: there it has no steep end.

    Examples
    --------
    >>> labels = NoisyOracle.of(np.array([1.0, 0.0, 0.5, 0.5]), np.array([2, 2]))
    >>> round(labels.recovery(noise_for_recovery(labels, 0.9)), 9)
    0.9
    """
    noises, recoveries = labels.curve
    angles = [_LEAST, *np.arctan2(noises, labels.spread).tolist(), math.pi / 2 - _LEAST]
    known = dict(zip(angles, [1.0, *recoveries.tolist(), 0.0], strict=True))

    def beyond(angle: float) -> float:
        found = known[angle] if angle in known else labels.recovery(labels.spread * math.tan(angle))
        return found - recovery

    last = next(at for at, angle in enumerate(angles) if known[angle] < recovery)
    angle = optimize.brentq(beyond, angles[last - 1], angles[last], xtol=1e-10)
    return labels.spread * math.tan(float(angle))


def points(labels: NoisyOracle) -> tuple[Point, ...]:
    """Return the curve from a recovery of about .02 to one of about .99, the noisiest judge first.

    Parameters
    ----------
    labels : NoisyOracle
        With a prompt where labels differ.
    """
    noises, recoveries = labels.curve
    found = zip(noises.tolist(), recoveries.tolist(), strict=True)
    return tuple(
        Point(noise, recovery, labels.within_r(noise), labels.agreement(noise))
        for noise, recovery in reversed(list(found))
    )
