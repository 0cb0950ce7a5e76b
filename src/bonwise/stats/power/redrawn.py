"""Power by drawing a pilot again: the share of samples of its prompts, or clusters, that pass a gate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.power.power import critical_value
from bonwise.stats.power.sample_size import mean_units
from bonwise.stats.sums import Floats

__all__ = ["MOST_UNITS", "Redrawn", "Samples", "redraw", "small_sample_units"]

_SAMPLES = (400, 2000)
"""Fewest and most samples of each size."""

_DRAWS = 4_000_000
"""Units drawn of one size, which decides how many samples there are between these limits."""

MOST_UNITS = 20_000
"""Prompts or clusters from which on the normal formula is used: nothing is drawn."""

_POINTS = (0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.6)
"""Sizes, as parts of what the normal formula asks for."""

_FURTHER = 1.6
_LONGEST = 5
"""Sizes that are tried beyond the last one, each so many times larger, where none has the power asked for."""

_FEWEST = 5

_CELLS = 2_000_000  # of one array, which bounds the memory

Samples = npt.NDArray[np.int64]
"""Positions of the units drawn, shape (samples, units of each)."""


class Redrawn(NamedTuple):
    """What drawing the pilot again says."""

    units: float | None
    """Prompts, or clusters, with which the power asked for is reached; None where no size tried reaches it."""
    sizes: tuple[int, ...]
    """Sizes that were drawn."""
    powers: tuple[float, ...]
    """Share of the samples of each size that pass, made monotone."""

    @property
    def samples(self) -> int:
        """Samples drawn in all."""
        return sum(map(_samples, self.sizes))

    def power(self, units: float) -> float:
        """Return the power with so many units, linear between the sizes drawn.

        Below them it is a share of that of the smallest; above them the rest of the way to 1 shrinks as 1 / units.
        """
        last = self.sizes[-1]
        if units > last:
            return 1 - (1 - self.powers[-1]) * last / units
        return float(np.interp(units, [0, *self.sizes], [0.0, *self.powers]))


def small_sample_units(standardised: float, power: float, confidence: float) -> float:
    """Return the units that a one-sided t test of a mean needs, where values are normal.

    ``((z_alpha + z_power) / standardised)^2 + z_alpha^2 / 2``, Guenther's correction of the z test.

    Examples
    --------
    >>> round(small_sample_units(0.5, 0.9, 0.95), 1)
    35.6
    """
    z = critical_value(confidence, 1)
    return mean_units(standardised, power, confidence, 1) + z * z / 2


def redraw(
    passes: Callable[[Samples, np.random.Generator], npt.NDArray[np.bool_]],
    units: int,
    start: float,
    power: float,
    seed: int,
) -> Redrawn:
    """Find the smallest size at which so many samples, drawn with replacement, pass a gate.

    Parameters
    ----------
    passes : callable
        Samples, and what else is drawn at random, to whether each passes.
    units : int
        Prompts, or clusters, of the pilot.
    start : float
        What the normal formula asks for, up to `MOST_UNITS`; 400 to 2,000 samples are drawn of each of seven sizes
        from .35 to 1.6 times as many.
    power : float
        Share of the samples that must pass.
    seed : int

    Examples
    --------
    >>> values = np.array([1.0, 2.0, -1.0, 1.5, 0.5, -0.5])
    >>> found = redraw(lambda drawn, _: values[drawn].mean(axis=1) > 0, len(values), 20, 0.9, seed=0)
    >>> 5 <= found.units <= 20, found.samples
    (True, 14000)
    """
    rng = np.random.default_rng(seed)
    sizes = sorted({max(_FEWEST, round(part * start)) for part in _POINTS})
    shares = [_share(passes, units, size, rng) for size in sizes]
    while max(shares) < power and len(sizes) < len(_POINTS) + _LONGEST and sizes[-1] * _FURTHER <= MOST_UNITS:
        sizes.append(math.ceil(sizes[-1] * _FURTHER))
        shares.append(_share(passes, units, sizes[-1], rng))
    powers = np.maximum.accumulate(shares)
    return Redrawn(_reached(sizes, powers, power), tuple(sizes), tuple(powers.tolist()))


def _samples(size: int) -> int:
    fewest, most = _SAMPLES
    return min(most, max(fewest, _DRAWS // size))


def _reached(sizes: list[int], powers: Floats, power: float) -> float | None:
    if powers[-1] < power:
        return None
    at = int(np.searchsorted(powers, power))
    if at == 0:
        return float(sizes[0])
    return float(np.interp(power, powers[at - 1 : at + 1], sizes[at - 1 : at + 1]))


def _share(
    passes: Callable[[Samples, np.random.Generator], npt.NDArray[np.bool_]],
    units: int,
    size: int,
    rng: np.random.Generator,
) -> float:
    """Return the share of the samples of one size that pass, some of them at a time."""
    passed, left, block = 0, _samples(size), max(1, _CELLS // size)
    while left:
        some = min(block, left)
        passed += int(np.count_nonzero(passes(rng.integers(0, units, (some, size)), rng)))
        left -= some
    return passed / _samples(size)
