"""The gates at 0 of an audit, on many samples of a pilot at once: does the judge gain anything?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import jackknife, no_gain, pilot_effect, sample_size, support
from bonwise.stats.clusters import cluster_codes, cluster_sums


@dataclass(frozen=True, eq=False)
class CompleteGate:
    """``recovery > 0`` on completely labelled prompts: Student's t test and dealt labels must agree."""

    units: Floats = field(repr=False)
    """Sums over each prompt or cluster: prompts, gain, its square, room (best label less mean label), variance and
    third moment of the gain of dealt labels; last the square of the gain's sum over the prompts.
    """
    confidence: float
    """Of the one-sided bound."""
    clustered: bool

    @classmethod
    def of(cls, found: no_gain.Dealt, room: Floats, clusters: Ints | None, confidence: float) -> CompleteGate:
        """Prepare a pilot."""
        rows = np.stack([np.ones_like(room), found.gain, found.gain**2, room, found.variance, found.third])
        sums = cluster_sums(rows, clusters)
        return cls(np.vstack([sums, sums[1] ** 2 / sums[0]]), confidence, clusters is not None)

    def __call__(self, drawn: pilot_effect.Samples, rng: np.random.Generator) -> Mask:
        """Tell which samples pass."""
        del rng
        G = drawn.shape[1]
        gain, room = self.units[1][drawn], self.units[3][drawn]
        total, best = gain.sum(axis=1), room.sum(axis=1)
        needed = float(special.stdtrit(G - 1, self.confidence))
        # Of sums over units, whose mean is that of the prompts but for one factor. Fieller's set must be bounded.
        scale = needed * np.sqrt(G)
        above, bounded = (sums > scale * one.std(axis=1, ddof=1) for sums, one in ((total, gain), (best, room)))
        passed: Mask = above & bounded & (self._z(drawn, total) > sample_size.critical_value(self.confidence, 1))
        return passed

    def _z(self, drawn: pilot_effect.Samples, total: Floats) -> Floats:
        """Return z' of dealt labels, minus infinity where they do not vary."""
        sizes, squares, of_units = (self.units[row][drawn] for row in (0, 2, 6))
        sums = _SampleSums(sizes, total, squares.sum(axis=1), of_units.sum(axis=1))
        effect = sums.design_effect() if self.clustered else 1.0
        variance = self.units[4][drawn].sum(axis=1) * effect
        third = self.units[5][drawn].sum(axis=1) * effect**2
        z = _over(total, np.sqrt(variance))
        skew = np.divide(third, variance**1.5, out=np.zeros_like(third), where=variance > 0)
        return np.where(variance > 0, z - skew * (z * z - 1) / 6, -np.inf)


class _SampleSums(NamedTuple):
    """Sums of samples, with which a design effect is told."""

    sizes: Floats
    """Prompts of each unit."""
    total: Floats
    """Of a value."""
    squares: Floats
    """Of its squares."""
    of_units: Floats
    """Of the squares of the units' sums over their prompts."""

    def design_effect(self) -> Floats:
        """Return ``1 + (m* - 1) icc`` of every sample, as `bonwise.stats.clusters` has it for one."""
        G = self.sizes.shape[1]
        n, squares = self.sizes.sum(axis=1), np.square(self.sizes).sum(axis=1)
        between = (self.of_units - self.total**2 / n) / (G - 1)
        within = np.divide(self.squares - self.of_units, n - G, out=np.zeros_like(n), where=n > G)
        usual = (n - squares / n) / (G - 1)
        whole = between + (usual - 1) * within
        icc = np.divide(between - within, whole, out=np.zeros_like(n), where=(whole > 0) & (n > G))
        found: Floats = 1 + (squares / n - 1) * np.clip(icc, 0.0, 1.0)
        return found


@dataclass(frozen=True, eq=False)
class GateWithFloors:
    """A gate on samples worth as many whole prompts as `stats.support` asks for, gain above 0 after losses."""

    test: CompleteGate | PairGate
    labelled: Floats = field(repr=False)
    """Prompts with labels, by unit."""
    room: Floats | None = field(default=None, repr=False)
    """Sums over each unit: prompts, gain, room, its squares, and the square of its sum over the prompts."""
    losses: tuple[Floats, ...] = field(default=(), repr=False)
    """By unit: the largest loss of a pick and what it gained, the widest pool and what its worst pick gains."""

    @classmethod
    def complete(
        cls, test: CompleteGate, gain: Floats, room: Floats, worst: Floats, clusters: Ints | None
    ) -> GateWithFloors:
        """Prepare a pilot; `worst` is what the worst candidate of each prompt loses against a random one."""
        sums = cluster_sums(np.stack([np.ones_like(room), gain, room, room**2]), clusters)
        lost, span = _largest(room - gain, gain, clusters), _largest(room + worst, -worst, clusters)
        return cls(test, sums[0], np.vstack([sums, sums[2] ** 2 / sums[0]]), (*lost, *span))

    @classmethod
    def pairs(cls, test: PairGate, clusters: Ints | None) -> GateWithFloors:
        """Prepare a pilot of which pairs are drawn, from the prompts that the judge does not tie entirely."""
        labelled = (test.pairs.others > 0).astype(np.float64)
        return cls(test, cluster_sums(labelled[None], clusters)[0])

    def __call__(self, drawn: pilot_effect.Samples, rng: np.random.Generator) -> Mask:
        """Tell which samples pass."""
        passed: Mask = self.test(drawn, rng) & self._admitted(drawn)
        return passed if self.room is None else passed & (self._after_losses(drawn, self.room[1]) > 0)

    def _admitted(self, drawn: pilot_effect.Samples) -> Mask:
        prompts = self.labelled[drawn].sum(axis=1)
        if self.room is None:
            return support.enough(prompts, prompts)
        sizes, total, squares, of_units = (self.room[row][drawn] for row in (0, 2, 3, 4))
        sums = _SampleSums(sizes, total.sum(axis=1), squares.sum(axis=1), of_units.sum(axis=1))
        effect = sums.design_effect() if isinstance(self.test, CompleteGate) and self.test.clustered else 1.0
        count = np.divide(sums.total**2, sums.squares, out=np.zeros_like(prompts), where=sums.squares > 0)
        return support.enough(prompts, count / effect)

    def _after_losses(self, drawn: pilot_effect.Samples, gain: Floats) -> Floats:
        """Return the total gain after further losses."""
        lost, of_lost, span, of_span = (one[drawn] for one in self.losses)
        rows, largest, widest = np.arange(len(drawn)), lost.argmax(axis=1), span.argmax(axis=1)
        seen = support.shows_losses(lost[rows, largest], span[rows, widest])
        further = np.where(seen, 1, support.unseen_losses())
        found: Floats = gain[drawn].sum(axis=1) + further * np.where(
            seen, of_lost[rows, largest], of_span[rows, widest]
        )
        return found


def _largest(size: Floats, gain: Floats, clusters: Ints | None) -> tuple[Floats, Floats]:
    """Return the largest size within each unit, and the gain that goes with it."""
    if clusters is None:
        return size, gain
    codes, count = cluster_codes(clusters)
    order = np.lexsort((-size, codes))
    first = order[np.searchsorted(codes[order], np.arange(count))]
    return size[first], gain[first]


@dataclass(frozen=True, eq=False)
class PairLabels:
    """The labels of which a pair is drawn: one of the judge's tied leaders, and one of the rest."""

    leading: Floats = field(repr=False)
    other: Floats = field(repr=False)
    """Labels of the leaders of all prompts, and of the others, prompt by prompt."""
    leaders: Ints = field(repr=False)
    others: Ints = field(repr=False)
    """How many there are."""

    @classmethod
    def of(cls, labels: Floats, top: Mask, sizes: Ints) -> PairLabels:
        """Part the labels of prompts by whether their candidate leads."""
        starts = np.cumsum(sizes) - sizes
        leaders = np.add.reduceat(top.astype(np.int64), starts)
        return cls(labels[top], labels[~top], leaders, sizes - leaders)

    def contrasts(self, prompts: Ints, rng: np.random.Generator) -> Floats:
        """Draw one pair of each prompt; return the part of the pool that the rest is times the pair's difference."""
        a, b = self.leaders[prompts], self.others[prompts]
        chosen = (np.cumsum(self.leaders) - self.leaders)[prompts] + (rng.random(len(prompts)) * a).astype(np.int64)
        rest = (np.cumsum(self.others) - self.others)[prompts] + (rng.random(len(prompts)) * b).astype(np.int64)
        untied = b > 0
        found = np.zeros(len(prompts))
        found[untied] = self.leading[chosen[untied]] - self.other[rest[untied]]
        return found * b / (a + b)


@dataclass(frozen=True, eq=False)
class PairGate:
    """``gain > 0`` on two labels per prompt: Student's t, with the degrees of freedom that the kurtosis allows."""

    pairs: PairLabels = field(repr=False)
    members: Ints = field(repr=False)
    starts: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    """Prompts in the order of their units, and where each unit begins and how many prompts it has."""
    confidence: float
    """Of the one-sided bound."""

    @classmethod
    def of(cls, pairs: PairLabels, clusters: Ints | None, confidence: float) -> PairGate:
        """Prepare a pilot."""
        prompts = len(pairs.leaders)
        codes = np.arange(prompts) if clusters is None else cluster_codes(clusters)[0]
        sizes = np.bincount(codes)
        return cls(pairs, np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes, sizes, confidence)

    def __call__(self, drawn: pilot_effect.Samples, rng: np.random.Generator) -> Mask:
        """Tell which samples pass."""
        G, count = drawn.shape[1], self.sizes[drawn].ravel()
        first = np.cumsum(count) - count
        prompts = self.members[np.repeat(self.starts[drawn].ravel() - first, count) + np.arange(count.sum())]
        d = self.pairs.contrasts(prompts, rng)
        sums = np.add.reduceat(d, first).reshape(drawn.shape)
        n = count.reshape(drawn.shape)
        mean = sums.sum(axis=1) / n.sum(axis=1)
        left = sums - n * mean[:, None]
        t = _over(mean * n.sum(axis=1), np.sqrt(G / (G - 1) * np.square(left).sum(axis=1)))
        return t > special.stdtrit(self._df(d, prompts, first, drawn.shape), self.confidence)

    def _df(self, d: Floats, prompts: Ints, first: Ints, shape: tuple[int, ...]) -> Floats:
        """Return degrees of freedom from the prompts that have labels: those that the judge does not tie entirely."""
        labelled = (self.pairs.others[prompts] > 0).astype(np.float64)
        told = np.add.reduceat(labelled, first).reshape(shape)
        sums = np.add.reduceat(d, first).reshape(shape)
        known = (told > 0).sum(axis=1)
        mean = sums.sum(axis=1) / np.maximum(told.sum(axis=1), 1)
        left = np.where(told > 0, sums - told * mean[:, None], 0.0) ** 2
        return jackknife.moments_df(left.sum(axis=1), np.square(left).sum(axis=1), np.maximum(known, 2))


def _over(value: Floats, scale: Floats) -> Floats:
    """Return a ratio, 0 where there is no scatter: what does not vary passes no test."""
    return np.divide(value, scale, out=np.zeros_like(value), where=scale > 0)
