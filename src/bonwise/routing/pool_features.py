"""What the first judging of a pool says of it, and how often further judges would pick another candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.flags import TIE_DECIMALS
from bonwise.stats.sums import pool_decimals, rounded_each
from bonwise.stats.top_of_scores import top_of_scores


@dataclass(frozen=True, eq=False)
class ScoredPools:
    """The scored cells of the prompts that have two or more of them."""

    cells: Mask
    """Which cells these are."""
    prompts: Mask
    """Which prompts these are."""
    sizes: Ints
    """Scored cells of each of these prompts."""

    @classmethod
    def of(cls, scored: Mask, sizes: Ints) -> ScoredPools:
        """Find them, given which cells are scored and how many cells each prompt has."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.bincount(owner[scored], minlength=len(sizes)).astype(np.int64)
        enough = counts >= 2
        return cls(scored & enough[owner], enough, counts[enough])

    def back(self, values: Floats) -> Floats:
        """Return values of these prompts as values of all prompts, NaN for the others."""
        of_all = np.full(len(self.prompts), np.nan)
        of_all[self.prompts] = values
        return of_all

    def mean(self, by_cell: Floats) -> Floats:
        """Average over the cells with a value; NaN for a prompt without one."""
        values = by_cell[self.cells]
        known = ~np.isnan(values)
        count = self._total(known.astype(float))
        total = self._total(np.where(known, values, 0.0))
        return self.back(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))

    def largest(self, by_cell: Floats) -> Floats:
        """Take the largest value; NaN for a prompt without one."""
        values = by_cell[self.cells]
        if not len(values):
            return self.back(values)
        highest = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), self._starts)
        return self.back(np.where(highest > -np.inf, highest, np.nan))

    @property
    def _starts(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    def _total(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self._starts) if len(values) else values


def pool_features(
    scores: Floats, sizes: Ints, widths: Floats | None = None, draws: Floats | None = None
) -> dict[str, Floats]:
    """Compute the features of each prompt from what one judge said of its candidates.

    A feature of a prompt depends on that prompt alone, so that one pool at a time gives the same figures as a table.
    `scores` is (cells,), grouped by prompt, `sizes` (prompts,), `widths` (cells,) in units of the score, `draws`
    (cells, k), the first score among them; NaN where there is none. A prompt with fewer than two scored candidates
    has no features (NaN). These, each (prompts,), are ``top`` (highest score), ``level`` (mean), ``spread`` (standard
    deviation over the candidates, ddof 0), ``margin`` (top minus second, rounded as `pool_decimals` says; 0 where
    tied), ``tied`` (candidates that share the top); with `widths` also ``width`` (their mean); with `draws` also
    ``draw_sd_mean`` and ``draw_sd_max`` (standard deviation of a candidate's draws, ddof 1), ``resampled_margin`` and
    ``resampled_spread`` (of the means of the draws) and ``p_best`` (probability that the candidate with the highest
    mean is the best, from draws that scatter normally, alike for all candidates of the prompt).
    """
    scores, sizes = np.asarray(scores, dtype=float), np.asarray(sizes, dtype=np.int64)
    pools = ScoredPools.of(~np.isnan(scores), sizes)
    features = _tops(pools, scores)
    if widths is not None:
        features["width"] = rounded_each(pools.mean(np.asarray(widths, dtype=float)), pool_decimals(scores, sizes))
    if draws is not None:
        features.update(_draw_features(pools, np.asarray(draws, dtype=float), sizes))
    return features


def _tops(pools: ScoredPools, by_cell: Floats) -> dict[str, Floats]:
    names = ("level", "spread", "top", "margin", "tied")
    decimals = pool_decimals(by_cell[pools.cells], pools.sizes)
    scores = rounded_each(by_cell[pools.cells], np.repeat(decimals, pools.sizes))
    tops = top_of_scores(scores, pools.sizes) if len(pools.sizes) else (np.zeros(0),) * 5
    # Rounded once more: sums over other blocks of cells differ in the last bit, and equal margins must tie.
    return {name: pools.back(rounded_each(values, decimals)) for name, values in zip(names, tops, strict=True)}


def _draw_features(pools: ScoredPools, draws: Floats, sizes: Ints) -> dict[str, Floats]:
    known = ~np.isnan(draws)
    counts = known.sum(axis=1)
    blank = np.full(len(draws), np.nan)
    means = np.divide(np.where(known, draws, 0.0).sum(axis=1), counts, out=blank.copy(), where=counts > 0)
    squares = np.where(known, draws - means[:, None], 0.0) ** 2
    variance = np.divide(squares.sum(axis=1), counts - 1, out=blank.copy(), where=counts > 1)
    deviation = np.sqrt(variance)
    resampled = ScoredPools.of(pools.cells & (counts > 0), sizes)
    tops, decimals = _tops(resampled, means), pool_decimals(means, sizes)
    return {
        "draw_sd_mean": rounded_each(pools.mean(deviation), decimals),
        "draw_sd_max": rounded_each(pools.largest(deviation), decimals),
        "resampled_margin": tops["margin"],
        "resampled_spread": tops["spread"],
        "p_best": _p_best(resampled, means, counts, resampled.mean(variance)),
    }


def _p_best(pools: ScoredPools, means: Floats, counts: Ints, variance: Floats) -> Floats:
    """Return P(best) of the candidate with the highest mean; one draw per candidate says nothing of doubt."""
    # It loads scipy, which routing by a margin or by widths never needs.
    from bonwise.stats.beliefs import best_of_normals  # noqa: PLC0415

    chances_of_picks = np.full(len(pools.sizes), np.nan)
    scores = means[pools.cells]
    values = rounded_each(scores, np.repeat(pool_decimals(scores, pools.sizes), pools.sizes))
    errors = np.sqrt(np.repeat(variance[pools.prompts], pools.sizes) / counts[pools.cells])
    starts = np.cumsum(pools.sizes) - pools.sizes
    for size in np.unique(pools.sizes):
        of_size = np.flatnonzero(pools.sizes == size)
        at = starts[of_size][:, None] + np.arange(size)
        chances = best_of_normals(values[at], errors[at]).probability
        lead = values[at].argmax(axis=1)
        chances_of_picks[of_size] = np.where(
            np.isnan(errors[at[:, 0]]), np.nan, chances[np.arange(len(of_size)), lead]
        )
    return pools.back(np.round(chances_of_picks, TIE_DECIMALS))


def disagreement(scores: Floats, sizes: Ints, others: Sequence[Floats]) -> Floats:
    """Return 1 less the mean chance that another judge picks alike, ties by lot; NaN where none has a say."""
    picks = _picks(scores, sizes)
    starts = np.cumsum(sizes) - sizes
    total, heard = np.zeros(len(sizes)), np.zeros(len(sizes))
    for other in others:
        same = np.add.reduceat(picks * _picks(other, sizes), starts)
        says = ~np.isnan(same)
        total += np.where(says, same, 0.0)
        heard += says
    shares: Floats = 1 - np.divide(total, heard, out=np.full(len(sizes), np.nan), where=heard > 0)
    return shares


def _picks(scores: Floats, sizes: Ints) -> Floats:
    """Return the probability of each cell to be picked, NaN throughout a prompt with fewer than two scores."""
    scores, sizes = np.asarray(scores, dtype=float), np.asarray(sizes, dtype=np.int64)
    scores = rounded_each(scores, np.repeat(pool_decimals(scores, sizes), sizes))
    pools = ScoredPools.of(~np.isnan(scores), sizes)
    best = np.repeat(pools.largest(scores), sizes)
    top = pools.cells & (scores == best)
    tied = np.add.reduceat(top.astype(float), np.cumsum(sizes) - sizes)
    return np.where(np.isnan(best), np.nan, top / np.repeat(np.maximum(tied, 1), sizes))
