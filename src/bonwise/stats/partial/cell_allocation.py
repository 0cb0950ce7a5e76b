"""How many whole pools and how many pairs to label: strata, and what each of them gets.

Notation: prompt x has K candidates, a of them with the highest score; it is open where a < K. s is its size measure;
stratum h holds N_h prompts, of which k_h are labelled whole and m_h as a pair of a top candidate and another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.partial.label_allocation import allocate, equal_strata, merged, strata_for

WHOLE_SHARE = 0.6
"""Share of the labels that goes to whole pools."""

FEWEST_WHOLE = 60
"""Whole pools below which intervals of recovery were seen to hold less often than they say."""

_WHOLE_EACH = 8  # whole pools that a stratum should have, on average
_FEWEST_PAIRS = 2  # pairs of a stratum that show how much they differ


@dataclass(frozen=True, slots=True, eq=False)
class CellPopulation:
    """Prompts of which whole pools and pairs can be drawn."""

    sizes: Ints = field(repr=False)
    """K."""
    open: Mask = field(repr=False)
    """Whether the judge tells candidates apart, so that there is a pair."""
    measure: Floats = field(repr=False)
    """s, above 0."""

    def whole_pools(self, labels: int) -> int:
        """Return how many whole pools so many labels should buy: .6 of the labels, and 60 pools at least."""
        return max(round(WHOLE_SHARE * labels / float(self.sizes.mean())), FEWEST_WHOLE)


@dataclass(frozen=True, slots=True, eq=False)
class CellAllocation:
    """Whole pools and pairs of each stratum, those drawn before among them."""

    whole: Ints
    """k_h and m_h."""
    pairs: Ints
    """k_h and m_h."""


def cell_strata(population: CellPopulation, labels: int) -> Ints:
    """Cut prompts into strata of equal sum of s: open ones first, then those that the judge ties."""
    cut, apart = _cut(population, labels), population.open
    found = np.zeros(len(cut), dtype=np.int64)
    if apart.any():
        found[apart] = merged(cut[apart], len(cut))
    if not apart.all():
        found[~apart] = merged(cut[~apart], len(cut)) + (int(found[apart].max()) + 1 if apart.any() else 0)
    return found


def _cut(population: CellPopulation, labels: int) -> Ints:
    """Return strata of equal sum of s, whether open or not."""
    k = population.whole_pools(labels)
    pairs = max(labels - k * float(population.sizes.mean()), 0) / 2
    drawn = int(min(k + pairs, len(population.sizes)))
    return equal_strata(population.measure, min(strata_for(drawn), k // _WHOLE_EACH))


def allocate_cells(
    population: CellPopulation, found: Ints, labels: int, *, held: CellAllocation | None = None
) -> CellAllocation:
    """Share labels out over strata: whole pools, and pairs on what is left of the open ones.

    Strata of equal sum of s get about equal numbers of whole pools, shared by open and tied prompts by their number:
    a tied prompt's scores have no spread, its labels may. Pairs are in proportion to the sum of s over open prompts
    not labelled whole; where they run out, more pools are drawn. `held` was drawn before. `labels` counts candidates,
    in all; fewer than drawn before, or more than there are, raise ValueError.
    """
    shares = _Shares.of(population, found, labels, held)
    low = int(max(shares.held.whole.sum(), min(population.whole_pools(labels), shares.most)))
    high = shares.most
    if shares.cost(shares.held) > labels or labels > population.sizes.sum():
        raise ValueError(f"{labels} labels for {population.sizes.sum()} candidates")
    # Each whole pool more costs more than one pair: the fewest for which there are pairs enough.
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if shares.left(middle, labels) >= 0 else (middle + 1, high)
    whole = shares.whole(low)
    while shares.cost(CellAllocation(whole, shares.held.pairs)) > labels and low > shares.held.whole.sum():
        low -= 1
        whole = shares.whole(low)
    room = shares.room(whole)
    m, before = min(shares.affordable(whole, labels), int(room.sum())), int(shares.held.pairs.sum())
    if m <= before or (not before and m < _FEWEST_PAIRS * np.count_nonzero(room)):
        m = before
    return CellAllocation(whole, allocate(room, room * shares.mean, m, taken=shares.held.pairs))


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Strata: prompts, what whole pools and pairs are in proportion to, candidates, open ones, those drawn before."""

    prompts: Ints
    level: Floats
    mean: Floats
    candidates: Floats
    open: Mask
    held: CellAllocation

    @classmethod
    def of(cls, population: CellPopulation, found: Ints, labels: int, held: CellAllocation | None) -> _Shares:
        prompts, cut = np.bincount(found), _cut(population, labels)
        level = np.bincount(cut, weights=population.measure) / np.bincount(cut)
        none = np.zeros(len(prompts), dtype=np.int64)
        return cls(
            prompts,
            np.bincount(found, weights=level[cut]) / prompts,
            np.bincount(found, weights=population.measure) / prompts,
            np.bincount(found, weights=population.sizes) / prompts,
            np.bincount(found, weights=population.open) > 0,
            CellAllocation(none, none) if held is None else held,
        )

    @property
    def most(self) -> int:
        """Whole pools that there can be."""
        return int((self.prompts - self.held.pairs).sum())

    def whole(self, k: int) -> Ints:
        return allocate(self.prompts - self.held.pairs, self.prompts * self.level, k, taken=self.held.whole)

    def room(self, whole: Ints) -> Ints:
        """Return how many pairs each stratum can have, none where that is too few to tell how they differ."""
        free = np.where(self.open, self.prompts - whole, 0)
        return np.where(free < np.maximum(self.held.pairs, _FEWEST_PAIRS), self.held.pairs, free)

    def cost(self, drawn: CellAllocation) -> int:
        return round(float(drawn.whole @ self.candidates)) + 2 * int(drawn.pairs.sum())

    def affordable(self, whole: Ints, labels: int) -> int:
        return max(labels - round(float(whole @ self.candidates)), 0) // 2

    def left(self, k: int, labels: int) -> int:
        """Return how many pairs more there are than the labels pay for after k whole pools."""
        whole = self.whole(k)
        return int(self.room(whole).sum()) - self.affordable(whole, labels)
