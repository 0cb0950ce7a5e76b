"""A linear model in the place of labels that only some candidates of some prompts have.

Notation: Y is what the labels of the candidates drawn of a prompt measure, X the same measure of covariates known of
all candidates, EX the mean of X over the candidates that could have been drawn, q = 1 / pi where the prompt is
labelled and 0 elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.stats.partial.outcome_model import FOLDS
from bonwise.stats.partial.scaled_sample import ScaledSample, fold_of
from bonwise.stats.sums import Floats

__all__ = ["Measured", "Modelled", "modelled", "tuning"]


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


def modelled(measured: Measured, draw: ScaledSample, *, origin: bool, fit: bool, seed: int) -> Modelled:
    """Predict every prompt by a regression of Y on X that never saw its labels.

    The mean of ``EX b + q (Y - X b)`` is right whatever b is: X is measured on the very candidates that Y is, and
    its mean over their draw is known.

    Parameters
    ----------
    measured : Measured
    draw : ScaledSample
    origin : bool
        Whether the fit goes through the origin, as that of a contrast does.
    fit : bool
        Whether b is fitted, cross-fitted on 5 folds of prompts; otherwise it is 1, for a covariate that stands in
        for the label as it is.
    seed : int
        Of the folds.

    Examples
    --------
    >>> from bonwise.stats.partial.label_sample import LabelSample
    >>> sample = LabelSample.uniform(np.array([True, True, False]))
    >>> T = np.array([[.3], [.5], [.4]])
    >>> measured = Measured(np.array([.2, .6, 0.]), T, T)
    >>> modelled(measured, ScaledSample.of(sample), origin=False, fit=False, seed=0).predictions.tolist()
    [0.3, 0.5, 0.4]
    """
    rows, Y, X = draw.rows, measured.outcome[draw.rows], measured.seen[draw.rows]
    if not fit or not X.shape[1]:
        predictions: Floats = measured.expected.sum(axis=1)
        return Modelled(predictions, Y - X.sum(axis=1) + predictions[rows])
    numbers = np.vstack([measured.expected.T, draw.q, np.where(draw.q > 0, measured.outcome, 0.0)])
    folds = fold_of(numbers, rows, FOLDS, seed)
    predictions, seen = np.empty(len(draw.q)), np.empty(len(rows))
    for fold in range(FOLDS):
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
    slope: Floats = np.linalg.solve(weighted @ Z + penalty, weighted @ y) / scale
    return slope


def tuning(covariance: Floats) -> float:
    """Return the share of the model, in [0, 1], with which the variance is least.

    Parameters
    ----------
    covariance : ndarray of float64, shape (2, 2)
        Of the mean by labels alone and of that by the model.

    Examples
    --------
    >>> tuning(np.array([[4.0, 1.0], [1.0, 2.0]]))
    0.75
    """
    (alone, both), (_, model) = covariance.tolist()
    gap = alone + model - 2 * both
    return float(np.clip((alone - both) / gap, 0.0, 1.0)) if gap > 1e-12 * alone else 0.0
