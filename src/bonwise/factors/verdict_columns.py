"""The judges' own ratings as columns of a regression on human ratings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.factors.rating_arrays import RatingArrays
from bonwise.stats.sums import Floats

__all__ = ["RatedCells", "VerdictColumns"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class RatedCells:
    """What a human rates: a model on a prompt, or a model beside an opponent."""

    prompt: _Ints = field(repr=False)
    """An opponent of -1 is none."""
    model: _Ints = field(repr=False)
    """An opponent of -1 is none."""
    opponent: _Ints = field(repr=False)
    """An opponent of -1 is none."""

    @classmethod
    def of(cls, data: RatingArrays) -> RatedCells:
        """Return the cells of ratings, one per row."""
        return cls(data.prompt, data.model, data.opponent)

    def __len__(self) -> int:
        return len(self.prompt)

    def places(self, models: int, rng: np.random.Generator) -> Floats:
        """Return where each cell stands in a random order of prompts and models, or pairs, counted in cells.

        All cells of one model on one prompt, or of one pair in either order, stand at one place: half of them before
        it. A share s of the cells is those at a place below s times their number.
        """
        groups = self.groups(models)
        if not len(groups):
            return np.zeros(0)
        order = rng.permutation(int(groups.max()) + 1)
        sizes = np.bincount(groups)[order]
        place = np.empty(len(order))
        place[order] = np.cumsum(sizes) - sizes / 2
        return place[groups]

    def groups(self, models: int) -> _Ints:
        """Return a number that is equal for ratings of one prompt and one model, or one pair in either order."""
        low = np.where(self.opponent >= 0, np.minimum(self.model, self.opponent), self.model)
        high = np.where(self.opponent >= 0, np.maximum(self.model, self.opponent), -1)
        key = (self.prompt * models + low) * (models + 1) + high + 1
        return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class VerdictColumns:
    """What each judge says of a cell, standardised; 0 where it says nothing.

    A judge that rates one model gives its mean rating, or the difference of two. A judge that compares two gives its
    mean verdict on the pair; of one model, the mean over its opponents.
    """

    alone: Floats = field(repr=False)
    """Standardised ratings, 0 where there is none; of a judge that compares, the mean over opponents."""
    pair_key: list[_Ints] = field(repr=False)
    """Of each judge the pairs that it compared, sorted; empty for one that rates one model."""
    pair_value: list[Floats] = field(repr=False)
    models: int

    @classmethod
    def of(cls, judges: RatingArrays) -> VerdictColumns:
        """Return the columns of judges; the human is not among them."""
        sizes, symmetric = judges.layout.sizes, judges.layout.symmetric
        alone = np.zeros((judges.raters, judges.models, judges.prompts))
        keys: list[_Ints] = []
        values: list[Floats] = []
        for judge in range(judges.raters):
            rows = judges.only(judges.rater == judge)
            verdict = 2.0 * rows.rating / (sizes[judge] - 1) - 1
            place = (rows.model, rows.prompt)
            total, count = np.zeros(alone.shape[1:]), np.zeros(alone.shape[1:])
            np.add.at(total, place, rows.weight * verdict)
            np.add.at(count, place, rows.weight)
            if symmetric[judge]:
                np.add.at(total, (rows.opponent, rows.prompt), -rows.weight * verdict)
                np.add.at(count, (rows.opponent, rows.prompt), rows.weight)
                key, value = _paired(RatedCells.of(rows), verdict, rows.weight, judges.models)
            else:
                key, value = np.zeros(0, dtype=np.int64), np.zeros(0)
            keys.append(key)
            values.append(value)
            seen = count > 0
            mean = total[seen] / count[seen]
            alone[judge][seen] = (mean - mean.mean()) / (mean.std() or 1.0)
        return cls(alone, keys, values, judges.models)

    def at(self, cells: RatedCells) -> Floats:
        """Return the columns, shape (cells, judges)."""
        found = self.alone[:, cells.model, cells.prompt].T
        compared = np.flatnonzero(cells.opponent >= 0)
        if not compared.size:
            return np.asarray(found)
        of_pairs = RatedCells(cells.prompt[compared], cells.model[compared], cells.opponent[compared])
        found = found.copy()
        found[compared] -= self.alone[:, of_pairs.opponent, of_pairs.prompt].T
        sign, wanted = _pair_keys(of_pairs, self.models)
        for judge, (key, value) in enumerate(zip(self.pair_key, self.pair_value, strict=True)):
            if not key.size:
                continue
            at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            found[compared, judge] = np.where(key[at] == wanted, sign * value[at], 0.0)
        return np.asarray(found)


def _pair_keys(cells: RatedCells, models: int) -> tuple[Floats, _Ints]:
    """Return -1 where the pair stands in the other order, and a number per prompt and pair."""
    low, high = np.minimum(cells.model, cells.opponent), np.maximum(cells.model, cells.opponent)
    return np.where(cells.model == low, 1.0, -1.0), (cells.prompt * models + low) * models + high


def _paired(cells: RatedCells, verdict: Floats, weight: Floats, models: int) -> tuple[_Ints, Floats]:
    sign, key = _pair_keys(cells, models)
    found, at = np.unique(key, return_inverse=True)
    mean = np.bincount(at, weight * sign * verdict) / np.bincount(at, weight)
    return found, np.asarray(mean / (np.sqrt((mean**2).mean()) or 1.0))
