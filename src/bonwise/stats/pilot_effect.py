"""What a pilot says of an effect: its uncertainty, and power by drawing its prompts or clusters again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import catalog, laws, sample_size
from bonwise.stats.clusters import cluster_sums, design_effect

_EVERYWHERE = (-np.inf, np.inf)


class Shift(NamedTuple):
    """A figure of a pilot."""

    estimate: float
    se: float
    """The figure and its standard error, one prompt or cluster left out at a time; NaN where undefined."""
    units: int
    """Prompts, or clusters of them."""

    def at(self, confidence: float) -> tuple[float, float]:
        """Return Student's interval, both ends infinite where there is no standard error."""
        if not np.isfinite(self.se):
            return _EVERYWHERE
        half = laws.student_quantile(confidence, self.units - 1) * self.se
        return self.estimate - half, self.estimate + half


def shift(rows: Floats, of: Callable[[Floats], Floats], clusters: Ints | None = None) -> Shift:
    """Estimate a function of totals over prompts, one cluster left out at a time, or one prompt."""
    rows = cluster_sums(rows, clusters)
    units = rows.shape[1]
    total = rows.sum(axis=1)
    left = of(total[:, None] - rows)
    se = float(np.sqrt((units - 1) * left.var())) if units > 1 and np.isfinite(left).all() else np.nan
    return Shift(float(of(total)), se, units)


def standardised(m1: Floats, m2: Floats, clusters: Ints | None = None) -> Shift:
    """Estimate the mean of a contrast over its standard deviation, that within prompts included."""

    def of(t: Floats) -> Floats:
        mean, square = t[1] / t[0], t[2] / t[0]
        spread = square - mean**2
        return catalog.ratio(mean, np.sqrt(np.where(spread > 1e-12 * square, spread, 0.0)), np.sqrt(square))

    return shift(np.array([np.ones(len(m1)), m1, m2]), of, clusters)


def log_residual(y1: Floats, y2: Floats, clusters: Ints | None = None) -> Shift:
    """Estimate the log of ``Var(y1 - rho y2) / mean(y2)^2``, rho the ratio of means: recovery's se^2 times n."""

    def of(t: Floats) -> Floats:
        mean, best = t[1] / t[0], t[2] / t[0]
        size = t[5] / t[0]
        rho = catalog.ratio(mean, best, np.sqrt(size))
        spread = (t[3] - 2 * rho * t[4] + rho**2 * t[5]) / t[0]
        positive = catalog.ratio(spread, best**2, size)
        return np.log(np.where(positive > 0, positive, np.nan))

    return shift(np.array([np.ones(len(y1)), y1, y2, y1 * y1, y1 * y2, y2 * y2]), of, clusters)


def log_fewest(weights: Floats, needed: float, clusters: Ints | None = None) -> Shift:
    """Estimate the log of the prompts that are worth so many of equal weight: ``needed mean(w^2) / mean(w)^2``."""

    def of(t: Floats) -> Floats:
        return np.log(needed * np.fmax(catalog.ratio(t[0] * t[2], t[1] ** 2, t[0] * t[2]), 1.0))

    found = shift(np.array([np.ones(len(weights)), weights, weights**2]), of, clusters)
    effect = 1.0 if clusters is None else design_effect(weights, clusters)
    return found._replace(estimate=found.estimate + math.log(effect))


def within_z(squares_score: Floats, squares_label: Floats, products: Floats, clusters: Ints | None = None) -> Shift:
    """Estimate Fisher's z of the within-prompt correlation from each prompt's sums of deviations."""

    def of(t: Floats) -> Floats:
        r = catalog.ratio(t[2], np.sqrt(t[0] * t[1]))
        return np.arctanh(np.where(np.abs(r) < 1, r, np.nan))

    return shift(np.array([squares_score, squares_label, products]), of, clusters)


def wilson(wins: float, n: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's two-sided interval of a share."""
    z = float(special.ndtri(0.5 + confidence / 2))
    share, lean = wins / n, z * z / n
    middle = (share + lean / 2) / (1 + lean)
    half = z * np.sqrt(share * (1 - share) / n + lean / (4 * n)) / (1 + lean)
    return float(middle - half), float(middle + half)


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

Samples = Ints
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
        """Return the power, linear between the sizes drawn, in proportion below, towards 1 as 1 / units above."""
        last = self.sizes[-1]
        if units > last:
            return 1 - (1 - self.powers[-1]) * last / units
        return float(np.interp(units, [0, *self.sizes], [0.0, *self.powers]))


def small_sample_units(standardised: float, power: float, confidence: float) -> float:
    """Return the units a t test needs: ``((z_alpha + z_power) / standardised)^2 + z_alpha^2 / 2`` (Guenther)."""
    z = sample_size.critical_value(confidence, 1)
    return sample_size.mean_units(standardised, power, confidence, 1) + z * z / 2


def redraw(
    passes: Callable[[Samples, np.random.Generator], Mask], units: int, start: float, power: float, seed: int
) -> Redrawn:
    """Find the smallest size at which so many samples, drawn with replacement, pass a gate.

    `units` counts the pilot's prompts or clusters, `power` is the share of samples to pass, `start` what the normal
    formula asks for, up to `MOST_UNITS`; 400 to 2,000 samples of each of seven sizes from .35 to 1.6 times as many.
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
    passes: Callable[[Samples, np.random.Generator], Mask], units: int, size: int, rng: np.random.Generator
) -> float:
    """Return the share of the samples of one size that pass, some of them at a time."""
    passed, left, block = 0, _samples(size), max(1, _CELLS // size)
    while left:
        some = min(block, left)
        passed += int(np.count_nonzero(passes(rng.integers(0, units, (some, size)), rng)))
        left -= some
    return passed / _samples(size)
