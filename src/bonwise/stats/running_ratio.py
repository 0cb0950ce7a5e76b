"""A ratio of means after each of its prompts: all looks at once, by cumulative sums, cluster by cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import comb

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.clusters import cluster_codes
from bonwise.stats.support import losses_so_far

_HIGHEST = 4
_TINY = 1e-12
"""Of the largest denominator: a numerator below that is 0 but for rounding."""


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums over each prompt's cluster, before and after that prompt; without clusters a prompt is its own."""

    count: Floats
    """Clusters so far."""
    new: Mask
    """Whether the prompt is the first one of its cluster."""
    before: Floats
    after: Floats
    """Of numerator and denominator; 0 before the first prompt."""

    @classmethod
    def of(cls, numerator: Floats, denominator: Floats, clusters: Ints | None) -> UnitSums:
        """Sum up prompts in the order in which they came."""
        values = np.array([numerator, denominator], dtype=np.float64)
        prompts = values.shape[1]
        if clusters is None:
            return cls(np.arange(1.0, prompts + 1), np.ones(prompts, dtype=bool), np.zeros_like(values), values)
        codes, _ = cluster_codes(clusters)
        together = np.argsort(codes, kind="stable")
        first = np.diff(codes[together], prepend=-1) != 0
        sums = values[:, together].cumsum(axis=1)
        earlier = sums - values[:, together]
        starts = np.flatnonzero(first)
        earlier -= np.repeat(earlier[:, starts], np.diff(np.append(starts, prompts)), axis=1)
        before, new = np.empty_like(values), np.empty(prompts, dtype=bool)
        before[:, together], new[together] = np.where(first, 0.0, earlier), first
        return cls(np.cumsum(new, dtype=np.float64), new, before, before + values)

    def powers(self) -> dict[tuple[int, int], Floats]:
        """Return after each prompt sums over clusters of u^j v^k by (j, k), centred, as far powers would cancel."""
        if not len(self.count):
            middle = np.zeros((2, 1))
        else:
            middle = (self.after - self.before).sum(axis=1, keepdims=True) / self.count[-1]
        after, before = self.after - middle, np.where(self.new, 0.0, self.before - middle)
        found = {}
        for j in range(_HIGHEST + 1):
            for k in range(_HIGHEST + 1 - j):
                added = after[0] ** j * after[1] ** k
                if not self.new.all():
                    added = added - np.where(self.new, 0.0, before[0] ** j * before[1] ** k)
                found[j, k] = np.cumsum(added)
        return found

    def telling(self) -> Floats:
        """Return the clusters so far with a denominator above 0 and a numerator other than 0."""
        least = _TINY * np.max(self.after[1], initial=0.0)
        told = [(sums[1] > least) & (np.abs(sums[0]) > least) for sums in (self.before, self.after)]
        return np.cumsum(told[1].astype(np.float64) - told[0])

    def effective(self) -> Floats:
        """Return after each prompt ``(sum v)^2 / sum v^2`` over the denominators v of the clusters, 0 for none."""
        before, after = self.before[1], self.after[1]
        total, square = np.cumsum(after - before), np.cumsum(after**2 - before**2)
        found: Floats = np.divide(total**2, square, out=np.zeros(total.shape), where=square > 0)
        return found


_ROUNDING = 1e-12  # a variance below this share of the mean square is rounding, not variation


@dataclass(frozen=True, eq=False)
class RunningRatio:
    """Means of numerator and denominator after 1, 2, ... prompts or clusters, with their covariance matrix."""

    prompts: Floats
    count: Floats
    """Prompts so far, and m, the units they are."""
    telling: Floats
    """Units so far in which there was something to gain and the pick did not gain exactly 0."""
    effective: Floats
    """Units that those so far are worth in what there was to gain, as `bonwise.stats.support` counts them."""
    a: Floats
    b: Floats
    """Means of numerator and denominator per unit."""
    caa: Floats
    cab: Floats
    cbb: Floats
    """Covariances of those means, sample covariance / m; NaN after a single unit."""
    pull: Floats
    """What further losses add to the numerator's sum beyond what keeps the ratio; 0 where they are not known."""
    own: Floats
    """What they add to the denominator's."""
    kurtosis: Floats
    """Of what the units add to the ratio: 3 where that is normal, at most m, NaN where they do not differ."""

    @classmethod
    def of(
        cls,
        numerator: Floats,
        denominator: Floats,
        clusters: Ints | None = None,
        worst: Floats | None = None,
        confidence: float = 0.95,
    ) -> RunningRatio:
        """Sum up prompts as they came: what the pick and the best gain over a random one, the `worst` loses."""
        units = UnitSums.of(numerator, denominator, clusters)
        m = units.count
        a, b = np.cumsum(numerator) / m, np.cumsum(denominator) / m
        powers = units.powers()
        u, v = powers[1, 0], powers[0, 1]
        caa = _covariance_of_means(powers[2, 0], u, u, m)
        cab = _covariance_of_means(powers[1, 1], u, v, m)
        cbb = _covariance_of_means(powers[0, 2], v, v, m)
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis = _kurtosis(powers, a / b, m)
            ratio = np.divide(a, b, out=np.zeros(a.shape), where=b != 0)
        pull = own = np.zeros(a.shape)
        if worst is not None and len(numerator):
            at, gain, further = losses_so_far(numerator, denominator, worst, (1 + confidence) / 2)
            pull, own = further * (gain - ratio * denominator[at]), further * denominator[at]
        prompts = np.arange(1.0, len(numerator) + 1)
        return cls(prompts, m, units.telling(), units.effective(), a, b, caa, cab, cbb, pull, own, kurtosis)

    @property
    def estimate(self) -> Floats:
        """The ratio, NaN where the denominator is 0."""
        found: Floats = np.divide(self.a, self.b, out=np.full(self.a.shape, np.nan), where=self.b != 0)
        return found

    @property
    def after_losses(self) -> Floats:
        """The ratio after further losses of the largest size, see `bonwise.stats.support`."""
        below = self.b * self.count + self.own
        moved = np.divide(self.pull, below, out=np.zeros(below.shape), where=below > 0)
        return self.estimate + np.minimum(moved, 0.0)

    def at(self, looks: Ints) -> RunningRatio:
        """Return some looks only, named by their number of prompts."""
        return RunningRatio(*(getattr(self, one.name)[looks - 1] for one in fields(self)))

    def projected(self, prompts: Floats) -> RunningRatio:
        """Return what further looks would see if means, spread and size of the units stayed as they are."""
        further = prompts / self.prompts[-1]
        scaled = dict.fromkeys(("prompts", "count", "telling", "effective"), further)
        scaled |= dict.fromkeys(("caa", "cab", "cbb"), 1 / further)
        kept = np.ones(len(prompts))
        return RunningRatio(*(getattr(self, one.name)[-1] * scaled.get(one.name, kept) for one in fields(self)))

    def limits(self, squared: Floats, inflation: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Return Fieller's interval at every look, to where further losses take it; NaN where unbounded."""
        squared = squared * inflation
        lead = self.b**2 - squared * self.cbb
        middle = self.a * self.b - squared * self.cab
        inside = middle**2 - lead * (self.a**2 - squared * self.caa)
        root = np.sqrt(np.maximum(inside, 0.0))
        bounded = (lead > 0) & self.varies(self.estimate)
        low, high = (
            np.divide(end, lead, out=np.full(lead.shape, np.nan), where=bounded)
            for end in (middle - root, middle + root)
        )
        return np.minimum(low, self.after_losses), high

    def gap(self, than: Floats | float) -> tuple[Floats, Floats]:
        """Return the mean of ``psi = numerator - than x denominator`` and its standard error, at every look."""
        variance = self.caa - 2 * than * self.cab + than**2 * self.cbb
        return self.a - than * self.b, np.sqrt(np.maximum(variance, 0.0))

    def varies(self, than: Floats | float) -> Mask:
        """Tell at which looks ``psi`` differs between units."""
        _, se = self.gap(than)
        square = self.a**2 + self.b**2 + self.count * (self.caa + self.cbb)
        return self.count * se**2 > _ROUNDING * square


def _covariance_of_means(products: Floats, first: Floats, second: Floats, m: Floats) -> Floats:
    sums = products - first * second / m
    found: Floats = np.divide(sums, m * (m - 1), out=np.full(m.shape, np.nan), where=m > 1)
    return found


def _kurtosis(powers: dict[tuple[int, int], Floats], ratio: Floats, m: Floats) -> Floats:
    """Return m sum d^4 / (sum d^2)^2 of ``d = numerator - ratio x denominator`` less its mean."""
    one, two, three, four = (_mixed(powers, order, ratio) / m for order in (1, 2, 3, 4))
    second = two - one**2
    fourth = four - 4 * one * three + 6 * one**2 * two - 3 * one**4
    square = powers[2, 0] / m + ratio**2 * powers[0, 2] / m
    varied = second > _ROUNDING * square
    return np.where(varied, np.clip(fourth / second**2, 1.0, m), np.nan)


def _mixed(powers: dict[tuple[int, int], Floats], order: int, ratio: Floats) -> Floats:
    """Return sum (u - ratio v)^order from the sums of the products of powers of u and v."""
    found = np.zeros_like(ratio)
    for of_v in range(order + 1):
        found += comb(order, of_v) * powers[order - of_v, of_v] * (-ratio) ** of_v
    return found
