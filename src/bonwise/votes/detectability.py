"""How often votes show a preference, what one vote tells of it, and its margins over pairs of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from bonwise.arrays import Floats, Ints, Mask
from bonwise.progress import counting
from bonwise.stats import estimand, estimation, laws


class PooledVotes(NamedTuple):
    """Votes of one pair, by what they say."""

    second: int
    halves: int
    first: int

    @property
    def votes(self) -> int:
        """Votes in all."""
        return sum(self)

    @classmethod
    def of(cls, values: Floats) -> PooledVotes:
        """Count values of 1, 1/2 and 0."""
        return cls(*(int((values == value).sum()) for value in (1.0, 0.5, 0.0)))


class ZLaw(NamedTuple):
    """The z of subsamples of one size, and the probability of each."""

    z: Floats
    chance: Floats


def rejections(votes: int, significance: float) -> Mask:
    """Return, for 0 to `votes` votes for one side, whether the exact two-sided binomial test of 1/2 rejects."""
    k = np.arange(votes + 1)
    # A p-value that is the significance level but for rounding rejects, as it does on paper.
    return np.asarray(2 * stats.binom.cdf(np.minimum(k, votes - k), votes, 0.5) <= significance * (1 + 1e-9))


def detection_rate(pool: PooledVotes, votes: int, *, significance: float, replace: bool) -> float | None:
    """Return the share of subsamples in which the binomial test rejects, with or without replacement; or None."""
    if pool.halves or (votes > pool.votes and not replace):
        return None
    k = np.flatnonzero(rejections(votes, significance))
    if replace:
        chance = stats.binom.pmf(k, votes, pool.second / pool.votes)
    else:
        chance = stats.hypergeom.pmf(k, pool.votes, pool.second, votes)
    # Sums of probabilities may pass 1 by rounding.
    return min(1.0, float(chance.sum()))


def z_score(rate: Floats | float, votes: int) -> Floats:
    """Return ``|rate - 1/2| / sqrt(rate (1 - rate) / votes)``, infinite where the rate is 0 or 1."""
    rate = np.asarray(rate, dtype=np.float64)
    spread = np.sqrt(np.maximum(rate * (1 - rate), 0.0) / votes)
    found: Floats = np.divide(np.abs(rate - 0.5), spread, out=np.full(rate.shape, np.inf), where=spread > 0)
    return found


def z_law(pool: PooledVotes, votes: int, *, replace: bool) -> ZLaw | None:
    """Return every z of a subsample, of 0, 1/2, 1 ... votes for the second, and how likely it is; None if too few."""
    if votes > pool.votes and not replace:
        return None
    # With replacement one half vote can be drawn many times; without any none can.
    most = votes * bool(pool.halves) if replace else min(votes, pool.halves)
    second, halves = np.meshgrid(np.arange(votes + 1), np.arange(most + 1))
    possible = second + halves <= votes
    second, halves = second[possible], halves[possible]
    drawn = np.column_stack([second, halves, votes - second - halves])
    if replace:
        chance = stats.multinomial.pmf(drawn, votes, np.array(pool) / pool.votes)
    else:
        chance = stats.multivariate_hypergeom.pmf(drawn, np.array(pool), votes)
    summed = np.bincount(2 * second + halves, weights=chance, minlength=2 * votes + 1)
    return ZLaw(z_score(np.arange(2 * votes + 1) / (2 * votes), votes), np.asarray(summed, dtype=np.float64))


def z_quantiles(laws: Sequence[ZLaw], shares: Floats, weights: Floats) -> Floats:
    """Return quantiles of z over pools by `weights`, subsamples of one size; infinite where so many agree."""
    order = np.argsort(laws[0].z, kind="stable")
    below = weights @ np.cumsum([law.chance[order] for law in laws], axis=1)
    # What sums to the share but for rounding has reached it.
    at = (below[..., None, :] < shares[:, None] - 1e-9).sum(axis=-1)
    found: Floats = laws[0].z[order][np.minimum(at, len(order) - 1)]
    return found


_BOUNDED = 0.25
"""Margin up to which the paper proves its upper bound."""


def kl_content(margin: Floats | float) -> Floats:
    """Return a vote's nats against "no preference": ``(1/2 + d) ln(1 + 2d) + (1/2 - d) ln(1 - 2d)``."""
    d = np.asarray(margin, dtype=np.float64)
    found = special.xlog1py(0.5 + d, 2 * d) + special.xlog1py(0.5 - d, -2 * d)
    return np.asarray(found, dtype=np.float64)


def kl_bounds(margin: float) -> tuple[float, float | None]:
    """Return 2 d^2 and 9/4 d^2, which enclose a vote's content (lemma 3.1), the second None beyond margin 1/4."""
    return 2 * margin**2, 2.25 * margin**2 if abs(margin) <= _BOUNDED else None


def least_error(information: float) -> float:
    """Return the least sum of both error rates of any test with so many nats: exp(-K) / 2 (theorem 3.2)."""
    return 0.5 * float(np.exp(-information))


def least_information(significance: float, miss: float) -> float:
    """Return the nats without which no test keeps both error rates: ln(1 / (2 (significance + miss)))."""
    return max(0.0, float(-np.log(2 * (significance + miss))))


def least_votes(margin: float, significance: float, miss: float) -> float:
    """Return a lower bound on votes any test needs, even one that knows every margin; infinite for margin 0."""
    content = float(kl_content(margin))
    return least_information(significance, miss) / content if content > 0 else float("inf")


_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class PairResamples:
    """Pairs drawn with replacement, the same draws for every figure."""

    pairs: int
    resamples: int = 2000
    seed: int = 0
    confidence: float = 0.95
    """Of the percentile intervals, two-sided."""

    def drawn(self) -> Ints:
        """Return the numbers of the pairs drawn, shape (resamples, pairs)."""
        return np.random.default_rng(self.seed).integers(0, self.pairs, size=(self.resamples, self.pairs))

    def estimate(self, statistic: Callable[[Floats], Floats], columns: Floats) -> estimand.Estimate:
        """Give a figure over pairs its percentile interval; `statistic` of (..., pairs) has NaN for none."""
        value = float(statistic(columns)) if self.pairs else float("nan")
        if not np.isfinite(value):
            return estimand.Estimate.undefined("no pair says anything of it", self.pairs)
        if self.pairs < 2:
            return estimand.Estimate(
                value, None, None, None, self.pairs, None, reason="no interval: it rests on one pair"
            )
        return self.around(value, self._replicates(statistic, columns))

    def around(self, value: float, replicates: Floats) -> estimand.Estimate:
        """Give a figure the interval of its replicates."""
        se = float(replicates.std(ddof=1)) if np.isfinite(replicates).all() else float("nan")
        return estimation.under(laws.Percentile(replicates), self.confidence, estimate=value, se=se, n=self.pairs)

    def _replicates(self, statistic: Callable[[Floats], Floats], columns: Floats) -> Floats:
        drawn = self.drawn()
        step = max(1, _CHUNK_CELLS // self.pairs)
        parts = []
        with counting("resample", self.resamples) as count:
            for at in range(0, self.resamples, step):
                parts.append(statistic(columns[..., drawn[at : at + step]]))
                count(step)
        return np.concatenate(parts)


def margin_quantiles(
    margins: Floats, resamples: PairResamples, shares: tuple[float, ...] = (0.1, 0.25, 0.5)
) -> tuple[estimand.Estimate, ...]:
    """Estimate quantiles of the absolute margins, linear between pairs."""
    sizes = np.abs(margins)
    return tuple(resamples.estimate(lambda some, at=at: np.quantile(some, at, axis=-1), sizes) for at in shares)  # type: ignore[misc]  # mypy cannot infer a default of a lambda
