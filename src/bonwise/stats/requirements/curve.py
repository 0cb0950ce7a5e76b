"""A judge whose errors are plain noise: what it recovers, how it correlates and how often it agrees, by its noise.

Its score of a candidate with label ``O`` is ``S = O + s Z``: ``Z`` standard normal, the same for all candidates, no
rounding; labels keep their spread and their ties. All figures are expectations over ``Z`` given the labels, computed
and not drawn: with ``g`` the distance of a label below the best one of its prompt, ``D = sum (K - 1)`` and ``e`` the
deviation from the prompt mean,

- the pick falls short by ``sum_j g_j P_j``, ``P_j = integral phi(u + g_j/s) prod_(k != j) Phi(u + g_k/s) du``;
- a pair with labels ``d`` apart is ordered rightly with probability ``Phi(d / (s sqrt 2))``;
- within_r is ``(1 + s^2 D / sum e^2)^(-1/2)``, from the pooled sums.

Recovery falls strictly with the noise, from 1 to 0: with ``M(s)`` the expected top score of a prompt, which is convex
in ``s``, the pick is worth ``M - s M'``, whose slope ``-s M''`` is nowhere above 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["NoisyOracle"]

_Ints = npt.NDArray[np.int64]

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

    prompts: _Ints
    gaps: Floats  # (prompts, K) distances below the best label, ascending from 0
    distinct: Floats  # distances that occur
    at: _Ints  # (K - 1, prompts) which of these each candidate but the best has


@dataclass(frozen=True, eq=False)
class NoisyOracle:
    """Labels of some prompts, seen through noise.

    Examples
    --------
    >>> labels = NoisyOracle.of(np.array([1.0, 0.0, 0.5, 0.5]), np.array([2, 2]))
    >>> round(labels.recovery(1.0), 4), round(labels.agreement(1.0), 4)
    (0.5205, 0.6301)
    """

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
    def of(cls, labels: Floats, sizes: _Ints) -> NoisyOracle:
        """Lay out labels.

        Parameters
        ----------
        labels : ndarray of float64, shape (cells,)
            Grouped by prompt, no NaN.
        sizes : ndarray of int64, shape (prompts,)
            Candidates per prompt, 2 or more.
        """
        blocks = tuple(_blocks(np.round(labels, TIE_DECIMALS), sizes))
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
        """Return by how much the expected label of the pick falls short of the best one, shape (prompts,).

        Parameters
        ----------
        noise : float
            Standard deviation, above 0, in the unit of the labels.
        """
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
        """Return the sum over pairs of the probability of the right order less one half, shape (prompts,).

        A pair with equal labels adds nothing.
        """
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


def _blocks(labels: Floats, sizes: _Ints) -> Iterator[_Block]:
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes).tolist():
        prompts = np.flatnonzero(sizes == size)
        step = max(1, _BLOCK_CELLS // size)
        for first in range(0, len(prompts), step):
            some = prompts[first : first + step]
            pools = np.sort(labels[starts[some][:, None] + np.arange(size)], axis=1)[:, ::-1]
            gaps = np.round(pools[:, :1] - pools, TIE_DECIMALS)
            distinct, at = np.unique(gaps[:, 1:].T, return_inverse=True)
            yield _Block(some, gaps, distinct, at.reshape(size - 1, len(some)))


def _by_distance(gaps: Floats) -> Iterator[Floats]:
    """Yield how far labels lie apart, K - 1 times, so that a K x K array never is in memory."""
    for d in range(1, gaps.shape[1]):
        yield gaps[:, d:] - gaps[:, :-d]


def _pair_gaps(blocks: tuple[_Block, ...]) -> tuple[Floats, Floats]:
    parts = [apart.ravel() for block in blocks for apart in _by_distance(block.gaps)]
    gaps = np.concatenate(parts).round(TIE_DECIMALS)
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
