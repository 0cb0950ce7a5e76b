"""Does a judge gain anything? Labels are dealt at random: near 0 Student's t is off where they are skewed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.stats import laws, top_of_scores
from bonwise.stats.clusters import cluster_sums, design_effect

Z_NEEDED = 1.6448536269514722
"""Beyond this z, on either side, the test finds a gain or a loss: one-sided at 95 %."""


class Dealt(NamedTuple):
    """Each prompt's ``gain`` of the judge's pick, and moments of what it gains when labels are dealt at random."""

    gain: Floats
    variance: Floats
    third: Floats


def dealt(scores: Floats, labels: Floats, sizes: Ints) -> Dealt:
    """Return the moments of every prompt's gain when its labels are dealt to its candidates at random.

    Scores and labels are (cells,), grouped by prompt, no NaN. With a of K candidates at the top, s^2 the variance of
    the labels (ddof 1) and m3 their third central moment::

        variance = s^2 (1/a - 1/K)
        third    = m3 (K - a)(K - 2a) / ((K - 1)(K - 2) a^2),  0 where K = 2
    """
    starts, K = np.cumsum(sizes) - sizes, sizes.astype(np.float64)
    top = top_of_scores.at_top(scores, sizes)
    a = np.add.reduceat(top.astype(np.float64), starts)
    d = labels - np.repeat(np.add.reduceat(labels, starts) / K, sizes)
    square = d * d
    second, third = np.add.reduceat(square, starts), np.add.reduceat(square * d, starts) / K
    gain = np.add.reduceat(np.where(top, d, 0.0), starts) / a
    # A prompt that the judge ties entirely gains nothing, to the last bit.
    gain[a == K] = 0.0
    spread = second / (K - 1) * (1 / a - 1 / K)
    skew = np.divide((K - a) * (K - 2 * a), (K - 1) * (K - 2) * a * a, out=np.zeros(len(K)), where=sizes > 2)
    return Dealt(gain, spread, third * skew)


def z_of_dealt(found: Dealt, clusters: Ints | None = None) -> float | None:
    """Return the gain in deviations of dealt labels, ``z - (g3 / V^1.5) (z^2 - 1) / 6``; None where V is 0."""
    effect = 1.0 if clusters is None else design_effect(found.gain, clusters)
    variance, third = float(found.variance.sum()) * effect, float(found.third.sum()) * effect**2
    if variance <= 0:
        return None
    unit = laws.power_of_two(math.sqrt(variance))
    variance, third = variance / unit / unit, third / unit / unit / unit
    z = float(found.gain.sum()) / unit / math.sqrt(variance)
    return float(z - third / variance**1.5 * (z * z - 1) / 6)


@dataclass(frozen=True, eq=False)
class DealtLabels:
    """The test of no gain on the labels of one judge, made when it is asked for."""

    scores: Floats = field(repr=False)
    labels: Floats = field(repr=False)
    sizes: Ints = field(repr=False)
    clusters: Ints | None = field(repr=False)
    law: laws.Law = field(repr=False)
    """Of the gain or of the recovery, with the degrees of freedom that normal values would have."""

    @cached_property
    def z(self) -> float | None:
        """The gain in standard deviations of dealt labels, see `z_of_dealt`."""
        return z_of_dealt(dealt(self.scores, self.labels, self.sizes), self.clusters)


class DealtBefore(NamedTuple):
    """The same of labels that are not held."""

    z: float | None
    law: laws.Law


def no_gain_laws(
    gain: Floats, room: Floats, clusters: Ints | None, limits: tuple[float, float]
) -> dict[str, laws.Law]:
    """Return the laws, of ``gain`` and ``recovery``, by which Student's t(G - 1) tests that there is none."""
    n, rows = len(gain), cluster_sums(np.stack([gain, room]), clusters)
    units = rows.shape[1]
    # Per prompt, so that the mean of the units is that of the prompts.
    covariance = np.cov(rows * (units / n), ddof=1) / units
    return laws_of_means((float(gain.mean()), float(room.mean())), covariance, units, limits)


def laws_of_means(
    means: Sequence[float], covariance: Floats, units: int, limits: tuple[float, float]
) -> dict[str, laws.Law]:
    """Return them from the means of gain and room, and the covariance matrix of these means."""
    (caa, cab), (_, cbb) = covariance.tolist()
    return {
        "gain": laws.Student(means[0], math.sqrt(max(caa, 0.0)), units - 1.0, limits),
        "recovery": laws.Fieller(means[0], means[1], caa, cab, cbb, units - 1.0, (-np.inf, 1.0)),
    }
