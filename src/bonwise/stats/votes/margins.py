"""Margins of preference over pairs of models: quantiles, near ties, and intervals by resampling the pairs.

After Lee (2026), sections 2 and 5. delta is the margin of a pair, P(second preferred) - 1/2, in [-1/2, 1/2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.laws import Percentile
from bonwise.stats.sums import Floats

__all__ = ["NearTies", "PairResamples", "margin_quantiles", "near_ties"]

_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class PairResamples:
    """Pairs drawn with replacement, the same draws for every figure."""

    pairs: int
    resamples: int = 2000
    seed: int = 0
    confidence: float = 0.95
    """Of the percentile intervals, two-sided."""

    def drawn(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the pairs drawn, shape (resamples, pairs)."""
        return np.random.default_rng(self.seed).integers(0, self.pairs, size=(self.resamples, self.pairs))

    def estimate(self, statistic: Callable[[Floats], Floats], columns: Floats) -> Estimate:
        """Give a figure over pairs its percentile interval.

        Parameters
        ----------
        statistic : callable
            Takes columns of shape (..., pairs) and returns one figure a leading index; NaN where there is none.
        columns : ndarray of float64, shape (..., pairs)
        """
        value = float(statistic(columns)) if self.pairs else float("nan")
        if not np.isfinite(value):
            return Estimate.undefined("no pair says anything of it", self.pairs)
        if self.pairs < 2:
            return Estimate(value, None, None, None, self.pairs, None, reason="no interval: it rests on one pair")
        return self.around(value, self._replicates(statistic, columns))

    def around(self, value: float, replicates: Floats) -> Estimate:
        """Give a figure the interval of its replicates."""
        se = float(replicates.std(ddof=1)) if np.isfinite(replicates).all() else float("nan")
        return Estimate.under(Percentile(replicates), self.confidence, estimate=value, se=se, n=self.pairs)

    def _replicates(self, statistic: Callable[[Floats], Floats], columns: Floats) -> Floats:
        drawn = self.drawn()
        step = max(1, _CHUNK_CELLS // self.pairs)
        parts = [statistic(columns[..., drawn[at : at + step]]) for at in range(0, self.resamples, step)]
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class NearTies:
    """Pairs so close to a tie that few studies could tell them apart."""

    count: int
    """Pairs with a margin of at most tau either way."""
    share: Estimate
    """Of all pairs."""
    median: Estimate
    """Of their absolute margins."""


def margin_quantiles(
    margins: Floats, resamples: PairResamples, shares: tuple[float, ...] = (0.1, 0.25, 0.5)
) -> tuple[Estimate, ...]:
    """Estimate quantiles of the absolute margins, linear between pairs.

    Parameters
    ----------
    margins : ndarray of float64, shape (pairs,)
    resamples : PairResamples
    shares : tuple of float

    Examples
    --------
    >>> found = margin_quantiles(np.array([-0.1, 0.2, 0.4]), PairResamples(3), (0.5,))
    >>> found[0].estimate, found[0].low, found[0].high
    (0.2, 0.1, 0.4)
    """
    sizes = np.abs(margins)
    return tuple(resamples.estimate(lambda some, at=at: np.quantile(some, at, axis=-1), sizes) for at in shares)  # type: ignore[misc]  # mypy cannot infer a default of a lambda


def near_ties(margins: Floats, tau: float, resamples: PairResamples) -> NearTies:
    """Count the pairs with ``|delta| <= tau``, and say how large their margins are.

    Parameters
    ----------
    margins : ndarray of float64, shape (pairs,)
    tau : float
        In (0, 1/2).
    resamples : PairResamples
    """
    sizes = np.abs(margins)
    # A margin that is tau but for rounding belongs to the near ties.
    near = sizes <= tau + 1e-12
    return NearTies(
        int(near.sum()),
        resamples.estimate(lambda some: some.mean(axis=-1), near.astype(np.float64)),
        resamples.estimate(_median_of_known, np.where(near, sizes, np.nan)),
    )


def _median_of_known(values: Floats) -> Floats:
    """Return medians along the last axis, NaN left out; NaN where nothing else is there."""
    ordered = np.sort(values, axis=-1)  # NaN comes last
    known = np.isfinite(ordered).sum(axis=-1)
    ends = [np.maximum(at, 0)[..., None] for at in ((known - 1) // 2, known // 2)]
    low, high = (np.take_along_axis(ordered, np.minimum(at, values.shape[-1] - 1), axis=-1)[..., 0] for at in ends)
    found: Floats = np.where(known > 0, (low + high) / 2, np.nan)
    return found
