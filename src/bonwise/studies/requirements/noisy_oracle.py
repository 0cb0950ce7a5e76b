"""A judge of plain noise: what it recovers by its noise, back from that, and what each prompt adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.sums import Sums, compared, tie_decimals
from bonwise.studies.requirements.result import CurvePoint

MOST_CELLS = 40_000
"""Candidates, over all prompts, that a curve is computed from: 10,000 prompts of 4."""

MOST_PAIRS = 600_000
"""Pairs of candidates of a prompt, over all prompts."""


class Afforded(NamedTuple):
    """Which prompts to compute from."""

    kept: Mask  # (prompts,)
    too_large: int  # prompts that were set aside before the draw: each breaks a limit alone


def affordable(sizes: Ints, seed: int, *, cells: int = MOST_CELLS, pairs: int = MOST_PAIRS) -> Afforded:
    """Return which prompts to compute from: all, or a uniform draw within limits of cells and pairs, two at least."""
    costs = np.array([sizes, sizes * (sizes - 1) // 2])
    limits = np.array([[cells], [pairs]])
    if (costs.sum(axis=1, keepdims=True) <= limits).all():
        return Afforded(np.ones(len(sizes), dtype=bool), 0)
    left = np.flatnonzero((costs <= limits).all(axis=0))
    if len(left) < 2:
        left = np.argsort(sizes, kind="stable")[:2]
    number = int((limits[:, 0] / costs[:, left].mean(axis=1)).min())
    drawn = np.random.default_rng(seed).permutation(left)[: max(2, number)]
    kept = np.zeros(len(sizes), dtype=bool)
    kept[drawn] = True
    return Afforded(kept, len(sizes) - len(left))


_RULES = ((4, 0.625, 5.0), (64, 0.35, 6.0), (np.inf, 0.25, 6.0))
"""The trapezoid rule: up to how many candidates, its step, and where it ends, having begun at -5.

The more candidates, the closer the top score lies to its mean. The error is below 3e-6 of the gain up to 64
candidates, and 1e-5 of it at a thousand.
"""

_ANGLES = np.linspace(0.04, np.pi / 2 - 0.016, 20)
"""Arc cosines of within_r: along them recovery runs evenly, on ordinary labels from about .99 to .02."""

_BLOCK_CELLS = 1 << 13  # with the nodes: what fits the cache

_MOST_GAPS = 20_000
"""Distances between two labels that are told apart: neighbours of so many differ too little to matter."""


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Prompts with the same number of candidates."""

    prompts: Ints
    gaps: Floats  # (prompts, K) distances below the best label, ascending from 0
    distinct: Floats  # distances that occur
    at: Ints  # (K - 1, prompts) which of these each candidate but the best has


@dataclass(frozen=True, eq=False)
class NoisyOracle:
    """Labels of some prompts, seen through noise."""

    gain: Floats
    """Best label minus mean label."""
    squares: Floats
    """Sum of squared deviations of the labels from their mean."""
    freedom: Floats
    """Candidates less one."""
    pairs: Floats
    widest: Floats
    """Best label minus worst."""
    blocks: tuple[_Block, ...] = field(repr=False)
    """The labels, laid out for computing."""
    pair_gaps: Floats = field(repr=False)
    """Distances between two labels of a prompt other than 0, and how often each occurs; where they are many,
    neighbours are put together at their mean.
    """
    pair_counts: Floats = field(repr=False)
    """Distances between two labels of a prompt other than 0, and how often each occurs; where they are many,
    neighbours are put together at their mean.
    """

    @classmethod
    def of(cls, labels: Floats, sizes: Ints) -> NoisyOracle:
        """Lay out labels, grouped by prompt, without NaN; `sizes` is the candidates of each prompt, 2 or more."""
        blocks = tuple(_blocks(compared(labels), sizes))
        gain, squares, widest = (np.empty(len(sizes)) for _ in range(3))
        for block in blocks:
            mean = block.gaps.mean(axis=1)
            gain[block.prompts] = mean
            widest[block.prompts] = block.gaps[:, -1]
            squares[block.prompts] = ((block.gaps - mean[:, None]) ** 2).sum(axis=1)
        wide = sizes.astype(np.float64)
        return cls(gain, squares, wide - 1, wide * (wide - 1) / 2, widest, blocks, *_pair_gaps(blocks))

    @property
    def spread(self) -> float:
        """Standard deviation of labels within prompts, pooled: 0 where no prompt has two different labels."""
        return float(np.sqrt(self.squares.sum() / self.freedom.sum()))

    @cached_property
    def curve(self) -> tuple[Floats, Floats]:
        """Some noises, ascending, and what is recovered at each: computed once, for whoever draws or inverts it."""
        noises: Floats = self.spread * np.tan(_ANGLES)
        return noises, np.array([self.recovery(noise) for noise in noises.tolist()])

    def shortfalls(self, noise: float) -> Floats:
        """Return the best label less the pick's expected one, (prompts,); `noise` is an sd above 0, in labels."""
        return self._expected(noise, power=1)

    def squared_shortfalls(self, noise: float) -> Floats:
        """Return the expected square of what the pick falls short by, shape (prompts,)."""
        return self._expected(noise, power=2)

    def _expected(self, noise: float, *, power: int) -> Floats:
        out = np.empty(len(self.gain))
        for block in self.blocks:
            out[block.prompts] = _shortfalls(block, noise, power)
        return out

    def orders(self, noise: float) -> Floats:
        """Return the sum over pairs with unequal labels of P(right order) less one half, (prompts,)."""
        out = np.zeros(len(self.gain))
        for block in self.blocks:
            for apart in _by_distance(block.gaps):
                out[block.prompts] += (special.ndtr(apart / (noise * np.sqrt(2))) - 0.5).sum(axis=1)
        return out

    def recovery(self, noise: float) -> float:
        """Return the share of the possible gain that the picks bring (equation 1)."""
        return float(1 - self.shortfalls(noise).sum() / self.gain.sum())

    def within_r(self, noise: float) -> float:
        """Return the correlation within prompts."""
        return float(np.cos(np.arctan2(noise, self.spread)))

    def agreement(self, noise: float) -> float:
        """Return the effective agreement over all pairs, one with equal labels counting one half."""
        right = special.ndtr(self.pair_gaps / (noise * np.sqrt(2))) - 0.5
        return float(0.5 + self.pair_counts @ right / self.pairs.sum())


def _blocks(labels: Floats, sizes: Ints) -> Iterator[_Block]:
    starts, decimals = np.cumsum(sizes) - sizes, tie_decimals(labels)
    for size in np.unique(sizes).tolist():
        prompts = np.flatnonzero(sizes == size)
        step = max(1, _BLOCK_CELLS // size)
        for first in range(0, len(prompts), step):
            some = prompts[first : first + step]
            pools = np.sort(labels[starts[some][:, None] + np.arange(size)], axis=1)[:, ::-1]
            gaps = np.round(pools[:, :1] - pools, decimals)
            distinct, at = np.unique(gaps[:, 1:].T, return_inverse=True)
            yield _Block(some, gaps, distinct, at.reshape(size - 1, len(some)))


def _by_distance(gaps: Floats) -> Iterator[Floats]:
    """Yield how far labels lie apart, K - 1 times, so that a K x K array never is in memory."""
    for d in range(1, gaps.shape[1]):
        yield gaps[:, d:] - gaps[:, :-d]


def _pair_gaps(blocks: tuple[_Block, ...]) -> tuple[Floats, Floats]:
    parts = [apart.ravel() for block in blocks for apart in _by_distance(block.gaps)]
    gaps = compared(np.concatenate(parts))
    found, times = np.unique(gaps[gaps > 0], return_counts=True)
    counts: Floats = times.astype(np.float64)
    if len(found) <= _MOST_GAPS:
        return found, counts
    starts = np.linspace(0, len(found), _MOST_GAPS, endpoint=False).astype(np.int64)
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(counts * found, starts) / together, together


def _shortfalls(block: _Block, noise: float, power: int) -> Floats:
    # Many candidates lie equally far below their best one: each distance is worked out once.
    step, end = next(rule for most, *rule in _RULES if block.gaps.shape[1] <= most)
    nodes = np.arange(-5.0, end + step / 2, step)
    reach = block.distinct[:, None] / noise + nodes
    below = special.ndtr(reach)
    density = np.exp(-0.5 * reach**2) / np.sqrt(2 * np.pi)
    lost = block.distinct[:, None] ** power * density / below
    product = np.tile(special.ndtr(nodes), (len(block.prompts), 1))
    total = np.zeros_like(product)
    for at in block.at:
        product *= below[at]
        total += lost[at]
    found: Floats = step * np.einsum("xq,xq->x", product, total)
    return found


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
        return bend * (self.spread_influence + self.recovery_influence / self.recovery_slope)

    def needed_agreement(self) -> Floats:
        """Return the influence on the effective agreement at which recovery is what it is here."""
        agreement, pairs = self.labels.agreement(self.noise), self.labels.pairs
        slope = self._slope(self.labels.agreement, agreement)
        held = (self.labels.orders(self.noise) - (agreement - 0.5) * pairs) / pairs.sum()
        found: Floats = held - slope / self.recovery_slope * self.recovery_influence
        return found

    def recovered(self, on_within_r: Floats | float = 0.0) -> Floats:
        """Return the influence on recovery, given that on the within_r, (prompts,), or 0 for a given within_r."""
        within_r = self.labels.within_r(self.noise)
        on_noise = self.spread_influence - on_within_r / (within_r * (1 - within_r**2))
        return self.recovery_influence + self.recovery_slope * on_noise

    def _slope(self, of: Callable[[float], float], here: float) -> float:
        return (of(self.noise * math.exp(_NUDGE)) - here) / _NUDGE


def recovery_influence(sums: Sums) -> Floats:
    """Return the influence of each prompt on the recovery of a judge that scored it."""
    gain, possible = sums.J - sums.R, sums.M - sums.R
    found: Floats = (gain - gain.sum() / possible.sum() * possible) / possible.sum()
    return found


def within_r_influence(sums: Sums) -> Floats:
    """Return the influence of each prompt on the within_r of a judge that scored it."""
    product, left, right = sums.eSO.sum(), sums.eSS.sum(), sums.eOO.sum()
    reach = math.sqrt(left * right)
    found: Floats = sums.eSO / reach - product / reach * (sums.eSS / left + sums.eOO / right) / 2
    return found


_LEAST = 1e-9  # radians: a within_r that differs from 1, or from 0, by less is that


def noise_for_within_r(labels: NoisyOracle, within_r: float) -> float:
    """Return the noise of the judge with a within_r between 0 and 1, exclusive."""
    return labels.spread * math.tan(math.acos(within_r))


def noise_for_recovery(labels: NoisyOracle, recovery: float) -> float:
    """Return the noise with a recovery in (0, 1), sought along the angle whose cosine is within_r: no steep end."""
    noises, recoveries = labels.curve
    angles = [_LEAST, *np.arctan2(noises, labels.spread).tolist(), math.pi / 2 - _LEAST]
    known = dict(zip(angles, [1.0, *recoveries.tolist(), 0.0], strict=True))

    def beyond(angle: float) -> float:
        found = known[angle] if angle in known else labels.recovery(labels.spread * math.tan(angle))
        return found - recovery

    last = next(at for at, angle in enumerate(angles) if known[angle] < recovery)
    angle = optimize.brentq(beyond, angles[last - 1], angles[last], xtol=1e-10)
    return labels.spread * math.tan(float(angle))


def points(labels: NoisyOracle) -> list[CurvePoint]:
    """Return the curve from a recovery of about .02 to .99, noisiest first; some prompt's labels differ."""
    noises, recoveries = labels.curve
    curve = zip(noises[::-1].tolist(), recoveries[::-1].tolist(), strict=True)
    return [
        CurvePoint(
            noise=noise,
            recovery=recovery,
            within_r=labels.within_r(noise),
            effective_agreement=labels.agreement(noise),
        )
        for noise, recovery in curve
    ]
