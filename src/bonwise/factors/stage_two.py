"""Stage 2: proportional odds regression of human ratings on skills of stage 1, models and judges' ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.factors import rating_arrays, stage_one
from bonwise.stats.ordinal_ratings import OrdinalRegression, category_probabilities, fit_ordinal


@dataclass(frozen=True, eq=False, slots=True)
class RatedCells:
    """What a human rates: a model on a prompt, or a model beside an opponent."""

    prompt: Ints = field(repr=False)
    model: Ints = field(repr=False)
    opponent: Ints = field(repr=False)
    """An opponent of -1 is none."""

    @classmethod
    def of(cls, data: rating_arrays.RatingArrays) -> RatedCells:
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

    def groups(self, models: int) -> Ints:
        """Return a number that is equal for ratings of one prompt and one model, or one pair in either order."""
        low = np.where(self.opponent >= 0, np.minimum(self.model, self.opponent), self.model)
        high = np.where(self.opponent >= 0, np.maximum(self.model, self.opponent), -1)
        key = (self.prompt * models + low) * (models + 1) + high + 1
        return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class VerdictColumns:
    """What each judge says of a cell, standardised; 0 where it says nothing.

    A mean rating, or the difference of two; a mean verdict on the pair, or of one model over its opponents.
    """

    alone: Floats = field(repr=False)
    """Standardised ratings, 0 where there is none; of a judge that compares, the mean over opponents."""
    pair_key: list[Ints] = field(repr=False)
    """Of each judge the pairs that it compared, sorted; empty for one that rates one model."""
    pair_value: list[Floats] = field(repr=False)
    models: int

    @classmethod
    def of(cls, judges: rating_arrays.RatingArrays) -> VerdictColumns:
        """Return the columns of judges; the human is not among them."""
        sizes, symmetric = judges.layout.sizes, judges.layout.symmetric
        alone = np.zeros((judges.raters, judges.models, judges.prompts))
        keys: list[Ints] = []
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


def _pair_keys(cells: RatedCells, models: int) -> tuple[Floats, Ints]:
    """Return -1 where the pair stands in the other order, and a number per prompt and pair."""
    low, high = np.minimum(cells.model, cells.opponent), np.maximum(cells.model, cells.opponent)
    return np.where(cells.model == low, 1.0, -1.0), (cells.prompt * models + low) * models + high


def _paired(cells: RatedCells, verdict: Floats, weight: Floats, models: int) -> tuple[Ints, Floats]:
    sign, key = _pair_keys(cells, models)
    found, at = np.unique(key, return_inverse=True)
    mean = np.bincount(at, weight * sign * verdict) / np.bincount(at, weight)
    return found, np.asarray(mean / (np.sqrt((mean**2).mean()) or 1.0))


Block = Literal["skills", "models", "verdicts", "mean_verdict"]
"""``skills`` are ``M_m * P_p``; ``models`` has one column per model, ``verdicts`` one per judge.

``mean_verdict`` is the mean of the verdicts.
"""

BLOCKS: tuple[Block, ...] = get_args(Block)


@dataclass(frozen=True, eq=False)
class HumanDesign:
    """Makes the columns of any cell."""

    models: int
    verdicts: VerdictColumns = field(repr=False)
    skills: Floats | None = field(default=None, repr=False)
    """Features of stage 1, each of variance 1 over all cells."""
    scales: Floats | None = field(default=None, repr=False)
    """By what the features were divided."""

    def with_skills(self, capabilities: stage_one.CapabilityFactors) -> HumanDesign:
        """Return the design with the features of a stage 1."""
        features = capabilities.features()
        scales = features.reshape(-1, capabilities.rank).std(axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        return HumanDesign(self.models, self.verdicts, features / scales, scales)

    def at(self, cells: RatedCells, blocks: Sequence[Block]) -> Floats:
        """Return the columns of the blocks in their order, shape (cells, columns)."""
        parts = [self._block(cells, block) for block in blocks]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(cells), 0))

    def widths(self, blocks: Sequence[Block]) -> list[int]:
        """Return how many columns each block has."""
        none = np.zeros(0, dtype=np.int64)
        return [self._block(RatedCells(none, none, none), block).shape[1] for block in blocks]

    def _block(self, cells: RatedCells, block: Block) -> Floats:
        if block == "skills":
            if self.skills is None:
                raise ValueError("no stage 1 was fitted")
            found = self.skills[cells.model, cells.prompt]
            rival = self.skills[cells.opponent, cells.prompt]
        elif block == "models":
            found, rival = np.eye(self.models)[cells.model], np.eye(self.models)[cells.opponent]
        else:
            verdicts = self.verdicts.at(cells)
            return verdicts if block == "verdicts" else verdicts.mean(axis=1, keepdims=True)
        return np.asarray(found - np.where((cells.opponent >= 0)[:, None], rival, 0.0))


FOLDS = 5
RIDGES = (1.0, 4.0, 16.0, 64.0)
"""Precisions of the Gaussian prior of coefficients among which cross-validation chooses."""


@dataclass(frozen=True, eq=False)
class HumanRatings:
    """The human's ratings."""

    cells: RatedCells = field(repr=False)
    rating: Ints = field(repr=False)
    weight: Floats = field(repr=False)
    categories: int
    symmetric: bool
    """Whether the human compares two models."""
    fold: Ints = field(repr=False)
    """Fold of cross-validation: all ratings of one model on one prompt, or of one pair, share one."""

    @classmethod
    def of(cls, data: rating_arrays.RatingArrays, *, seed: int = 0, folds: int = FOLDS) -> HumanRatings:
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

    def only(self, rows: Mask) -> HumanRatings:
        """Return some of the ratings."""
        cells = RatedCells(self.cells.prompt[rows], self.cells.model[rows], self.cells.opponent[rows])
        return HumanRatings(
            cells, self.rating[rows], self.weight[rows], self.categories, self.symmetric, self.fold[rows]
        )

    def held_out(self) -> Iterator[Mask]:
        """Yield which ratings to predict, per fold that leaves others to fit."""
        for fold in np.unique(self.fold):
            out = self.fold == fold
            if not out.all():
                yield out

    def splits(self) -> Iterator[tuple[HumanRatings, HumanRatings]]:
        """Yield the ratings to fit and those to predict, per fold of `held_out`."""
        for out in self.held_out():
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
    ordinal_regression = fit_ordinal(
        design.at(ratings.cells, blocks),
        ratings.rating,
        ratings.categories,
        ridge=ridge,
        weights=ratings.weight,
        symmetric=ratings.symmetric,
    )
    return HumanModel(design, tuple(blocks), ridge, ordinal_regression)


def cross_validated(
    design: HumanDesign, ratings: HumanRatings, blocks: Sequence[Block]
) -> Iterator[tuple[float, float, float]]:
    """Yield the cross-entropy per held-out rating, its standard error over ratings, and the ridge, for each ridge."""
    x, folds = design.at(ratings.cells, blocks), list(ratings.held_out())
    weight = np.concatenate([ratings.weight[out] for out in folds])
    for ridge in RIDGES:
        losses = []
        for out in folds:
            fitted = fit_ordinal(
                x[~out],
                ratings.rating[~out],
                ratings.categories,
                ridge=ridge,
                weights=ratings.weight[~out],
                symmetric=ratings.symmetric,
            )
            losses.append(-fitted.log_probabilities(x[out], ratings.rating[out]))
        loss = np.concatenate(losses)
        mean = float(weight @ loss / weight.sum())
        yield mean, float(np.sqrt((weight**2 * (loss - mean) ** 2).sum()) / weight.sum()), ridge


def with_best_ridge(design: HumanDesign, ratings: HumanRatings, blocks: Sequence[Block]) -> HumanModel:
    """Fit with the ridge that cross-validation prefers."""
    return fit_human(design, ratings, blocks, min(cross_validated(design, ratings, blocks))[2])
