"""Ratings as arrays, as the factor model takes them: the human rater first, equal ratings counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bonwise.arrays import Floats, Ints, Mask
from bonwise.factors.ratings import RatingTable
from bonwise.stats import ordinal_ratings


@dataclass(frozen=True, eq=False)
class RatingArrays:
    """Ratings, one row per distinct rating."""

    rater: Ints = field(repr=False)
    prompt: Ints = field(repr=False)
    model: Ints = field(repr=False)
    opponent: Ints = field(repr=False)
    rating: Ints = field(repr=False)
    """The human is rater 0. An opponent of -1 is none. A rating counts from 0."""
    weight: Floats = field(repr=False)
    """How often the rating was given."""
    layout: ordinal_ratings.CutoffLayout = field(repr=False)
    """Of all raters."""
    prompts: int
    models: int
    """How many there are."""

    @classmethod
    def of(cls, table: RatingTable) -> RatingArrays:
        """Return the ratings of a table; a rater with a single category says nothing and is left out."""
        kept = [table.human, *(at for at, rater in enumerate(table.raters) if at != table.human and rater.size > 1)]
        place = np.full(len(table.raters), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        rows = place[table.rater] >= 0
        layout = ordinal_ratings.CutoffLayout(
            tuple(table.raters[at].size for at in kept), tuple(table.raters[at].side_by_side for at in kept)
        )
        return cls(
            place[table.rater[rows]],
            table.prompt[rows],
            table.model[rows],
            table.opponent[rows],
            table.rating[rows],
            np.ones(int(rows.sum())),
            layout,
            len(table.prompts),
            len(table.models),
        )

    def __len__(self) -> int:
        return len(self.rating)

    @property
    def raters(self) -> int:
        """How many raters there are, the human among them."""
        return len(self.layout.sizes)

    @cached_property
    def human(self) -> Mask:
        """Which rows are the human's."""
        return np.asarray(self.rater == 0)

    @cached_property
    def side_by_side(self) -> Mask:
        """Which rows compare two models."""
        return np.asarray(self.opponent >= 0)

    def only(self, rows: npt.ArrayLike) -> RatingArrays:
        """Return some of the rows, by mask or position."""
        chosen = np.asarray(rows)
        return replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in ("rater", "prompt", "model", "opponent", "rating", "weight")
            },
        )

    def without_human(self) -> RatingArrays:
        """Return the other raters alone, counted from 0."""
        return self.of_raters(range(1, self.raters))

    def of_raters(self, raters: Iterable[int]) -> RatingArrays:
        """Return some of the raters alone, counted from 0 in the given order."""
        kept = list(raters)
        place = np.full(self.raters, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        rest = self.only(place[self.rater] >= 0)
        sizes, symmetric = self.layout.sizes, self.layout.symmetric
        layout = ordinal_ratings.CutoffLayout(tuple(sizes[at] for at in kept), tuple(symmetric[at] for at in kept))
        return replace(rest, rater=place[rest.rater], layout=layout)

    def counted(self) -> RatingArrays:
        """Return one row per distinct rating, sorted by rater and prompt; a comparison has its lower model first."""
        swap = self.side_by_side & (self.opponent < self.model)
        sizes = np.array(self.layout.sizes, dtype=np.int64)
        model, opponent = np.where(swap, self.opponent, self.model), np.where(swap, self.model, self.opponent)
        rating = np.where(swap, sizes[self.rater] - 1 - self.rating, self.rating)
        most = int(sizes.max())
        key = ((self.rater * self.prompts + self.prompt) * self.models + model) * (self.models + 1) + opponent + 1
        found, at = np.unique(key * most + rating, return_inverse=True)
        weight = np.bincount(at, weights=self.weight).astype(np.float64)
        rest, rating = np.divmod(found, most)
        rest, opponent = np.divmod(rest, self.models + 1)
        rest, model = np.divmod(rest, self.models)
        rater, prompt = np.divmod(rest, self.prompts)
        return replace(
            self, rater=rater, prompt=prompt, model=model, opponent=opponent - 1, rating=rating, weight=weight
        )

    @cached_property
    def category(self) -> Ints:
        """Place of each rating among the categories of all raters."""
        return np.asarray(self.layout.first_category[self.rater] + self.rating)

    @cached_property
    def by_rater(self) -> sparse.csr_array:
        """Sums rows by rater."""
        return self._sums(self.rater, self.raters)

    @cached_property
    def by_prompt(self) -> sparse.csr_array:
        """Sums rows by prompt."""
        return self._sums(self.prompt, self.prompts)

    @cached_property
    def by_model(self) -> sparse.csr_array:
        """Sums rows by model, those of the opponent with a minus."""
        return self._signed(self.model, self.opponent, self.models)

    @cached_property
    def by_answer(self) -> sparse.csr_array:
        """Sums rows by prompt and model, those of the opponent with a minus."""
        first = self.prompt * self.models
        return self._signed(first + self.model, first + self.opponent, self.prompts * self.models)

    def _signed(self, place: Ints, rival: Ints, count: int) -> sparse.csr_array:
        both = np.flatnonzero(self.side_by_side)
        sign = np.concatenate([np.ones(len(self)), -np.ones(len(both))])
        at = np.concatenate([np.arange(len(self)), both])
        return sparse.csr_array((sign, (np.concatenate([place, rival[both]]), at)), shape=(count, len(self)))

    def _sums(self, place: Ints, count: int) -> sparse.csr_array:
        return sparse.csr_array((np.ones(len(self)), (place, np.arange(len(self)))), shape=(count, len(self)))

    def differences(self, of_models: Floats) -> Floats:
        """Return the row of the model, less that of the opponent where there is one, shape (rows, columns)."""
        padded = np.concatenate([of_models, np.zeros((1, of_models.shape[1]))])
        found = of_models[self.model]
        return found - padded[self.opponent] if self.side_by_side.any() else found

    def shares(self) -> list[Floats]:
        """Return the share of each category by rater."""
        counts = np.bincount(self.category, self.weight, int(self.layout.first_category[-1]))
        parts = np.split(counts, self.layout.first_category[1:-1])
        return [part / max(part.sum(), 1e-12) for part in parts]
