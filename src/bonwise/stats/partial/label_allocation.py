"""Which prompts to label: a size measure that needs no label, strata, how many of each, and the draw.

Notation: prompt x has K candidates; a of them share the judge's top score; T is what a further judge, or the judge
itself, scores; h is a stratum with N_h prompts, of which n_h are labelled; m labels in all.
"""

from __future__ import annotations

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.flags import TIE_DECIMALS
from bonwise.stats.top_of_scores import top_of_scores

LEAST = 3
"""Labels that a stratum needs for a variance of its own that is worth having."""

RECOVERY_GUESS_SQUARED = 0.04
"""Square of the recovery guessed before any label is seen; any of .02 to .1 draws about the same prompts."""

_STRATA = ((20, 2), (40, 3), (100, 4), (400, 8))
_MOST_STRATA = 12
_PRIOR_WEIGHT = 10


def pick_factor(tied: Floats, sizes: Ints) -> Floats:
    """Return how far the pick's weights lie from a random pick's: ``sqrt(1/a - 1/K + .04)``, K being the `sizes`.

    With w_i = 1/a on the `tied` top set and 0 elsewhere, ``sum_i (w_i - 1/K)^2 = 1/a - 1/K``: what the pick is worth
    beyond a random one varies in proportion, not at all where the judge ties every candidate.
    """
    apart = np.where(tied == sizes, 0.0, 1 / tied - 1 / sizes)
    return np.sqrt(apart + RECOVERY_GUESS_SQUARED)


def spread_of(scores: Floats, sizes: Ints) -> Floats:
    """Return each prompt's deviation of scores plus half their mean: one scored alike by chance is not certain."""
    spread = top_of_scores(scores, sizes).spread
    known = np.add.reduceat((~np.isnan(scores)).astype(np.int64), np.cumsum(sizes) - sizes) > 1
    mean = float(spread[known].mean()) if known.any() else 0.0
    return np.where(known, spread, mean) + 0.5 * mean + 1e-3


def size_measure(scores: Floats, sizes: Ints, second: Floats | None = None) -> Floats:
    """Return how much a label of each prompt is expected to tell of recovery, before any label is there.

    ``s_x = sqrt(1/a - 1/K + .04) (sd_i T_xi + .5 mean sd T + .001)``: the first factor is exact up to the guess of
    recovery (.2, squared), the second stands in for the spread of labels. `scores`, (cells,), are the audited
    judge's, `second` a further judge's or a mean of several, NaN where missing. The measure is (prompts,), in units
    of scores.
    """
    tied = top_of_scores(scores, sizes).tied
    return pick_factor(tied, sizes) * spread_of(scores if second is None else second, sizes)


def strata(size: Floats, labels: int) -> Ints:
    """Cut prompts into 2 to 12 strata of about equal sum of their size measure, from the smallest sizes on."""
    return equal_strata(size, min(strata_for(labels), labels // LEAST))


def strata_for(labels: int) -> int:
    """Return how many strata so many labelled prompts are worth: 2 below 20, 3 below 40, 4 below 100, 8 below 400."""
    return next((count for below, count in _STRATA if labels < below), _MOST_STRATA)


def equal_strata(size: Floats, wanted: int) -> Ints:
    """Cut prompts into a number of strata of about equal sum of size, fewer where prompts are few, at least 1."""
    wanted = max(1, min(wanted, len(size) // LEAST))
    order = np.argsort(size, kind="stable")
    ordered = size[order]
    total = float(ordered.sum())
    found = np.zeros(len(size), dtype=np.int64)
    if total > 0:
        middle = (np.cumsum(ordered) - ordered / 2) * (wanted / total)
        found[order] = np.clip(middle.astype(np.int64), 0, wanted - 1)
    return merged(found, wanted)


def tie_strata(factor: Floats, labels: int) -> Ints:
    """Put prompts of the same `pick_factor` together; neighbours are joined where labels are few."""
    _, found = np.unique(np.round(factor, TIE_DECIMALS), return_inverse=True)
    return merged(found.astype(np.int64), max(1, labels // LEAST))


def level_by_spread(mean: Floats, spread: Floats, labels: int) -> Ints:
    """Cross two levels of mean score with no spread and three thirds of it: 8 strata, joined where labels are few."""
    positive = spread > 0
    cuts = np.quantile(spread[positive], [1 / 3, 2 / 3]) if positive.any() else np.zeros(2)
    third = np.where(positive, 1 + np.searchsorted(cuts, spread), 0)
    found = 4 * (mean > np.median(mean)) + third
    return merged(found.astype(np.int64), max(1, labels // LEAST))


def merged(found: Ints, most: int, *, least: int = LEAST) -> Ints:
    """Join neighbouring strata until at most `most` are left and each holds `least` prompts; number them anew."""
    _, numbers, counts = np.unique(found, return_inverse=True, return_counts=True)
    groups = [[h] for h in range(len(counts))]
    held = counts.tolist()
    while len(groups) > 1 and (len(groups) > most or min(held) < least):
        at = _smallest_pair(held, least)
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
        held[at : at + 2] = [held[at] + held[at + 1]]
    target = np.empty(len(counts), dtype=np.int64)
    for h, group in enumerate(groups):
        target[group] = h
    return target[numbers]


def _smallest_pair(held: list[int], least: int) -> int:
    """Return the position of the pair of neighbours to join: of a stratum that is too small, or the smallest two."""
    pairs = range(len(held) - 1)
    smallest = min(held)
    if smallest < least:
        pairs_of_it = [at for at in pairs if smallest in held[at : at + 2]]
        return min(pairs_of_it, key=lambda at: held[at] + held[at + 1])
    return min(pairs, key=lambda at: held[at] + held[at + 1])


def allocate(prompts: Ints, weights: Floats, labels: int, *, taken: Ints | None = None) -> Ints:
    """Share labels out over strata in proportion to weights, within bounds; the result is n_h, `taken` ones included.

    ``n_h = clip(c w_h, max(3, taken_h), N_h)`` with the c at which they sum to m, rounded by largest remainders; 2, 1
    or 0 are the least where labels do not reach for 3. `weights` w_h are such as ``N_h mean_h(s)`` or ``N_h
    sigma_h``. More labels than `prompts`, or fewer than are taken, raise ValueError.
    """
    held = np.zeros(len(prompts), dtype=np.int64) if taken is None else taken
    if not held.sum() <= labels <= prompts.sum() or (held > prompts).any():
        raise ValueError(f"{labels} labels for {prompts.sum()} prompts, {held.sum()} of them labelled already")
    floors = (np.maximum(held, np.minimum(prompts, least)) for least in range(LEAST, -1, -1))
    low = next(floor for floor in floors if floor.sum() <= labels)
    exact = _filled(low.astype(float), prompts.astype(float), weights, labels)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    rest = labels - int(whole.sum())
    room = np.flatnonzero(whole < prompts)
    whole[room[np.argsort(whole[room] - exact[room], kind="stable")[:rest]]] += 1
    return whole


def _filled(low: Floats, high: Floats, weights: Floats, labels: int) -> Floats:
    """Return ``clip(c w, low, high)`` with the c at which it sums to the labels."""
    # A weight of 0 still takes labels once every other stratum is full.
    most = float(weights.max())
    w = np.maximum(weights / most, 1e-6) if most > 0 else np.ones(len(weights))
    left, right = 0.0, float((high / w).max())
    for _ in range(200):
        middle = (left + right) / 2
        if np.clip(middle * w, low, high).sum() < labels:
            left = middle
        else:
            right = middle
    return np.clip(right * w, low, high)


def draw_within(found: Ints, counts: Ints, rng: np.random.Generator, taken: Mask | None = None) -> Mask:
    """Draw so many prompts of each stratum, all alike, without replacement and without those `taken` before."""
    chance = rng.random(len(found))
    if taken is None:
        return _lowest(chance, found, counts)
    drawn = np.zeros(len(found), dtype=bool)
    free = np.flatnonzero(~taken)
    drawn[free] = _lowest(chance[free], found[free], counts)
    return drawn


def _lowest(chance: Floats, found: Ints, counts: Ints) -> Mask:
    """Return so many prompts of each stratum, those with the lowest chances, without sorting all."""
    held = np.bincount(found, minlength=len(counts))
    starts = np.cumsum(held) - held  # of the cells, and the number of prompts in the strata before
    cell = starts[found] + (chance * held[found]).astype(np.int64)
    filled = np.bincount(cell, minlength=len(found))
    reached = np.cumsum(filled)
    wanted = starts + np.minimum(counts, held)
    last = np.searchsorted(reached, wanted)
    edge = last[found]
    drawn: Mask = cell < edge
    among = np.flatnonzero(cell == edge)
    among = among[np.lexsort((chance[among], cell[among]))]
    at, h = cell[among], found[among]
    rank = np.arange(len(among)) - np.searchsorted(at, at)
    drawn[among] = rank < wanted[h] - (reached[at] - filled[at])
    return drawn


def size_prior(residuals: Floats, groups: Ints, mean_size: Floats) -> Floats:
    """Scale the squared mean sizes of the strata to residuals r: ``p_h = s_h^2 sum r^2 / sum s_h(x)^2``."""
    seen = float(np.sum(mean_size[groups] ** 2))
    return mean_size**2 * (float(np.sum(residuals**2)) / seen if seen > 0 else 0.0)


def shrunken_sd(residuals: Floats, groups: Ints, prior: Floats) -> Floats:
    """Estimate residual deviations, shrunk to p_h: ``sigma_h^2 = (sum_h r^2 + 10 p_h) / (k_h + 10)``."""
    squares = np.bincount(groups, weights=residuals**2, minlength=len(prior))
    known = np.bincount(groups, minlength=len(prior))
    return np.sqrt((squares + _PRIOR_WEIGHT * prior) / (known + _PRIOR_WEIGHT))
