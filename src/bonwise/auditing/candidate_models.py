"""Labels of single candidates, and a linear model in the place of those that are lacking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.partial import label_features, label_sample, outcome_model


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured of each prompt, and what a measurement of it is expected to be."""

    outcome: Floats = field(repr=False)
    """Y, taken where a prompt is labelled."""
    seen: Floats = field(repr=False)
    """X, taken where a prompt is labelled."""
    expected: Floats = field(repr=False)
    """EX, of all prompts."""


@dataclass(frozen=True, slots=True, eq=False)
class Modelled:
    """Predictions of all prompts, and outcomes of the labelled ones with what the draw added set right."""

    predictions: Floats = field(repr=False)
    """EX b."""
    outcomes: Floats = field(repr=False)
    """Y - X b + EX b: less its prediction it is the residual of what was measured."""


def modelled(measured: Measured, draw: label_sample.ScaledSample, *, origin: bool, fit: bool, seed: int) -> Modelled:
    """Predict every prompt by a regression that never saw its labels: ``EX b + q (Y - X b)`` is right for any b."""
    rows, Y, X = draw.rows, measured.outcome[draw.rows], measured.seen[draw.rows]
    if not fit or not X.shape[1]:
        predictions: Floats = measured.expected.sum(axis=1)
        return Modelled(predictions, Y - X.sum(axis=1) + predictions[rows])
    numbers = np.vstack([measured.expected.T, draw.q, np.where(draw.q > 0, measured.outcome, 0.0)])
    folds = label_sample.fold_of(numbers, rows, outcome_model.FOLDS, seed)
    predictions, seen = np.empty(len(draw.q)), np.empty(len(rows))
    for fold in range(outcome_model.FOLDS):
        train, held = folds[rows] != fold, folds == fold
        b = _slope(X[train], Y[train], draw.weight[train], origin=origin)
        predictions[held], seen[~train] = measured.expected[held] @ b, X[~train] @ b
    return Modelled(predictions, Y - seen + predictions[rows])


def _slope(X: Floats, y: Floats, weight: Floats, *, origin: bool) -> Floats:
    """Fit a weighted ridge regression on columns scaled to mean square 1, with penalty ``1 + .001 m``."""
    rows, w = len(X), weight / weight.mean()
    if not origin:
        X, y = X - w @ X / rows, y - w @ y / rows
    size = np.sqrt(w @ X**2 / rows)
    scale = np.where(size > 1e-12, size, 1.0)
    Z = X / scale
    weighted = (Z * w[:, None]).T
    penalty = (1 + 0.001 * rows) * np.eye(X.shape[1])
    return np.linalg.solve(weighted @ Z + penalty, weighted @ y) / scale


def tuning(covariance: Floats) -> float:
    """Return the share of the model, in [0, 1], of least variance; `covariance`, (2, 2): labels alone, with model."""
    (alone, both), (_, model) = covariance.tolist()
    gap = alone + model - 2 * both
    return float(np.clip((alone - both) / gap, 0.0, 1.0)) if gap > 1e-12 * alone else 0.0


FEWEST_TO_FIT = 30
"""Labelled prompts from which a model is fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateDraw:
    """Which candidates were drawn and labelled."""

    sizes: Ints = field(repr=False)
    """K."""
    top: Mask = field(repr=False)
    """A: cells with the highest score of their prompt."""
    picks: Ints = field(repr=False)
    """i: cell of the labelled pick, -1 where none is."""
    others: Ints | None = field(default=None, repr=False)
    """j: cell of the labelled other candidate, -1 where none is. None where picks alone were drawn."""

    @property
    def tied(self) -> Floats:
        """Return a, shape (prompts,)."""
        return self._sum(self.top.astype(float))

    @property
    def all_tied(self) -> Mask:
        """Whether the judge ties all candidates, so that no other candidate exists."""
        tied: Mask = self.tied == self.sizes
        return tied

    @property
    def labelled(self) -> Mask:
        """Whether a prompt has the labels of all that was drawn of it."""
        return (self.picks >= 0) if self.others is None else (self.picks >= 0) & (self.others >= 0)

    def measured(self, values: Floats) -> Floats:
        """Return what is measured, 0 where unlabelled: ``v_i`` of a pick, ``(1 - a/K) (v_i - v_j)`` of a pair."""
        if self.others is None:
            return np.where(self.labelled, values[self.picks], 0.0)
        c = 1 - self.tied / self.sizes
        return np.where(self.labelled, c * (values[self.picks] - values[self.others]), 0.0)

    def expected(self, values: Floats) -> Floats:
        """Return the mean of `measured` over the draw: of v over A; of a pair less that over all, 0 where all tie."""
        best = self._sum(np.where(self.top, values, 0.0)) / self.tied
        if self.others is None:
            return best
        return np.where(self.all_tied, 0.0, best - self._sum(values) / self.sizes)

    def _sum(self, values: Floats) -> Floats:
        return np.add.reduceat(values, np.cumsum(self.sizes) - self.sizes)


def covariates(draw: CandidateDraw, scores: Floats, others: Sequence[Floats]) -> tuple[Floats, Floats | None]:
    """Return what is known of every candidate, S and the others' T, (cells, covariates), and T if there is one."""
    T = _stand_in(others, draw.sizes)
    paired = draw.others is not None
    columns = [scores] if paired else [scores, *_level(scores, draw.sizes)]
    if T is not None:
        mean, spread = _level(T, draw.sizes)
        columns += [T, T * spread, (T - mean) ** 2] if paired else [T, mean, spread]
    return np.column_stack(columns), T


def _level(values: Floats, sizes: Ints) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (ddof 0) of each cell's prompt."""
    starts = np.cumsum(sizes) - sizes
    mean = np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
    spread = np.sqrt(np.add.reduceat((values - mean) ** 2, starts) / sizes)
    return mean, np.repeat(spread, sizes)


def _stand_in(others: Sequence[Floats], sizes: Ints) -> Floats | None:
    T, scored = label_features.mean_of_judges(others, sizes)
    cells = np.repeat(scored, sizes)
    return np.where(cells, T, T[cells].mean()) if scored.any() else None


def model_of(
    draw: CandidateDraw,
    labels: Floats,
    scores: Floats,
    others: Sequence[Floats],
    sample: label_sample.LabelSample,
    *,
    seed: int,
) -> Modelled:
    """Model what the drawn candidates measure: value_judge from picks, Y = O_i, gain from pairs, Y = c (O_i - O_j).

    A pair has the mean ``sum_i (w_i - 1/K) O_i`` of the prompt, w_i = 1/a on A; its model is fitted to such
    contrasts, so that the level of a prompt cancels. Arrays are (cells,); `labels` are read at the drawn cells only.
    `sample` is of all prompts: with pairs, those that the judge ties entirely have probability 1, for their outcome
    is known to be 0. Below 30 labelled prompts T stands in for the label, or labels are used alone.
    """
    Z, T = covariates(draw, scores, others)
    fit = int(draw.labelled.sum()) >= FEWEST_TO_FIT
    columns = list(Z.T) if fit else [T] if T is not None else []
    none = np.empty((len(draw.sizes), 0))
    measured = Measured(
        draw.measured(labels),
        np.column_stack([draw.measured(column) for column in columns]) if columns else none,
        np.column_stack([draw.expected(column) for column in columns]) if columns else none,
    )
    return modelled(
        measured, label_sample.ScaledSample.of(sample), origin=draw.others is not None, fit=fit, seed=seed
    )


def known_of_pairs(draw: CandidateDraw, labels: Floats) -> tuple[Floats, Floats]:
    """Return the best of the labelled candidates, and what they say of the mean label; 0 where none is labelled."""
    if draw.others is None:
        raise ValueError("picks alone say nothing of the others")
    picked, other = labels[draw.picks], labels[draw.others]
    share = draw.tied / draw.sizes
    best = np.where(draw.labelled, np.maximum(picked, other), 0.0)
    return best, np.where(draw.labelled, share * picked + (1 - share) * other, 0.0)
