"""Stage 2: proportional odds regression of human ratings on what stage 1 and the judges say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.factors.human_design import Block, HumanDesign
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.verdict_columns import RatedCells
from bonwise.stats.ordinal.likelihood import category_probabilities
from bonwise.stats.ordinal.regression import OrdinalRegression, fit_ordinal
from bonwise.stats.sums import Floats

__all__ = ["FOLDS", "RIDGES", "HumanModel", "HumanRatings", "cross_validated", "fit_human", "with_best_ridge"]

_Ints = npt.NDArray[np.int64]

FOLDS = 5
RIDGES = (1.0, 4.0, 16.0, 64.0)
"""Precisions of the Gaussian prior of coefficients among which cross-validation chooses."""


@dataclass(frozen=True, eq=False)
class HumanRatings:
    """The human's ratings."""

    cells: RatedCells = field(repr=False)
    rating: _Ints = field(repr=False)
    weight: Floats = field(repr=False)
    categories: int
    symmetric: bool
    """Whether the human compares two models."""
    fold: _Ints = field(repr=False)
    """Fold of cross-validation: all ratings of one model on one prompt, or of one pair, share one."""

    @classmethod
    def of(cls, data: RatingArrays, *, seed: int = 0, folds: int = FOLDS) -> HumanRatings:
        """Return the human's ratings among all, with their folds drawn."""
        human = data.only(data.human)
        cells = RatedCells.of(human)
        groups = cells.groups(data.models)
        count = int(groups.max()) + 1 if len(groups) else 0
        fold = np.random.default_rng(seed).permutation(count) % folds
        size, symmetric = data.layout.sizes[0], data.layout.symmetric[0]
        return cls(cells, human.rating, human.weight, size, symmetric, fold[groups])

    def __len__(self) -> int:
        return len(self.rating)

    def only(self, rows: npt.NDArray[np.bool_]) -> HumanRatings:
        """Return some of the ratings."""
        cells = RatedCells(self.cells.prompt[rows], self.cells.model[rows], self.cells.opponent[rows])
        return HumanRatings(
            cells, self.rating[rows], self.weight[rows], self.categories, self.symmetric, self.fold[rows]
        )

    def splits(self) -> Iterator[tuple[HumanRatings, HumanRatings]]:
        """Yield the ratings to fit and those to predict, per fold that leaves both."""
        for fold in np.unique(self.fold):
            out = self.fold == fold
            if not out.all():
                yield self.only(~out), self.only(out)


@dataclass(frozen=True, eq=False)
class HumanModel:
    """A fitted stage 2."""

    design: HumanDesign = field(repr=False)
    blocks: tuple[Block, ...]
    ridge: float
    """Precision of the Gaussian prior of the coefficients."""
    regression: OrdinalRegression = field(repr=False)

    def log_probabilities(self, ratings: HumanRatings) -> Floats:
        """Return the log-probability of each rating, shape (ratings,)."""
        return self.regression.log_probabilities(self.design.at(ratings.cells, self.blocks), ratings.rating)

    def cross_entropy(self, ratings: HumanRatings) -> float:
        """Return minus the mean log-probability per rating, in nats."""
        return -float(ratings.weight @ self.log_probabilities(ratings) / ratings.weight.sum())

    def probabilities(self, cells: RatedCells) -> Floats:
        """Return the probability of each category, shape (cells, categories)."""
        eta = self.design.at(cells, self.blocks) @ self.regression.coefficients
        return category_probabilities(eta, self.regression.cutoffs)


def fit_human(design: HumanDesign, ratings: HumanRatings, blocks: Sequence[Block], ridge: float) -> HumanModel:
    """Fit the regression on some blocks of columns."""
    found = fit_ordinal(
        design.at(ratings.cells, blocks),
        ratings.rating,
        ratings.categories,
        ridge=ridge,
        weights=ratings.weight,
        symmetric=ratings.symmetric,
    )
    return HumanModel(design, tuple(blocks), ridge, found)


def cross_validated(
    design: HumanDesign, ratings: HumanRatings, blocks: Sequence[Block], ridge: float
) -> tuple[float, float]:
    """Return the cross-entropy per held-out rating, and its standard error over ratings."""
    losses, weights = [], []
    for fitted, held in ratings.splits():
        losses.append(-fit_human(design, fitted, blocks, ridge).log_probabilities(held))
        weights.append(held.weight)
    loss, weight = np.concatenate(losses), np.concatenate(weights)
    mean = float(weight @ loss / weight.sum())
    return mean, float(np.sqrt((weight**2 * (loss - mean) ** 2).sum()) / weight.sum())


def with_best_ridge(design: HumanDesign, ratings: HumanRatings, blocks: Sequence[Block]) -> HumanModel:
    """Fit with the ridge that cross-validation prefers."""
    losses = [cross_validated(design, ratings, blocks, ridge)[0] for ridge in RIDGES]
    return fit_human(design, ratings, blocks, RIDGES[int(np.argmin(losses))])
