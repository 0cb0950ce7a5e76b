"""Predictions of what labels would say of a prompt, each by a model that never saw the prompt's own labels."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bonwise.errors import UsageError
from bonwise.stats.partial.label_features import OUTCOMES, LabelFeatures
from bonwise.stats.partial.scaled_sample import ScaledSample
from bonwise.stats.sums import Floats

__all__ = ["FOLDS", "OutcomeModel", "Ridge", "cross_fit"]

FOLDS = 5

_Ints = npt.NDArray[np.int64]


class OutcomeModel(Protocol):
    """Any regressor with these two methods of scikit-learn's; `fit` may also take ``sample_weight``."""

    def fit(self, X: Floats, y: Floats) -> Any:
        """Learn outcomes, shape (prompts,), from standardised covariates, shape (prompts, covariates)."""
        ...

    def predict(self, X: Floats) -> Floats:
        """Return predictions, shape (prompts,)."""
        ...


class Ridge:
    """Weighted ridge regression with penalty ``1 + .001 m`` for m rows, the intercept free.

    Weights are scaled to mean 1, so that the penalty means the same whatever their unit. Several outcomes may be
    learnt at a time, shape (prompts, outcomes).
    """

    def fit(self, X: Floats, y: Floats, sample_weight: Floats | None = None) -> Ridge:
        """Learn the coefficients."""
        rows = len(X)
        weight = np.ones(rows) if sample_weight is None else sample_weight / sample_weight.mean()
        self._centre, self._mean = weight @ X / rows, weight @ y / rows
        centred = X - self._centre
        weighted = (centred * weight[:, None]).T
        penalty = (1 + 0.001 * rows) * np.eye(X.shape[1])
        self._slope = np.linalg.solve(weighted @ centred + penalty, weighted @ (y - self._mean))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return predictions, in the shape of the outcomes."""
        found: Floats = X @ self._slope + (self._mean - self._centre @ self._slope)
        return found


def cross_fit(
    model: OutcomeModel, features: LabelFeatures, draw: ScaledSample, Y: Floats, folds: _Ints, *, brief: bool
) -> Floats:
    """Predict the `OUTCOMES` of all prompts, those of a prompt by a copy fitted to the labels of other folds.

    Parameters
    ----------
    model : OutcomeModel
    features : LabelFeatures
        Of all prompts; every covariate is standardised over them.
    draw : ScaledSample
        A model that takes weights gets R / pi.
    Y : ndarray of float64, shape (labelled prompts, 5)
        The outcomes.
    folds : ndarray of int64, shape (prompts,)
        0 to 4.
    brief : bool
        Whether the model sees the few covariates only.

    Returns
    -------
    ndarray of float64, shape (prompts, 5)

    Raises
    ------
    UsageError
        The model predicts what is not a finite number.
    """
    out = np.empty((len(draw.q), len(OUTCOMES)))
    for together in _groups(features, brief=brief):
        X = _standardised(features.columns(OUTCOMES[together[0]], brief=brief))
        # Ridge solves for several outcomes at the price of one; other regressors are asked for one at a time.
        for k in [together] if isinstance(model, Ridge) else together:
            out[:, k] = _by_fold(model, X, Y[:, k], draw, folds)
    if not np.isfinite(out).all():
        raise UsageError(
            f"{type(model).__name__}.predict gave a value that is not a finite number",
            hint="give a regressor that predicts a number for every prompt",
        )
    return out


def _groups(features: LabelFeatures, *, brief: bool) -> Sequence[list[int]]:
    """Return which outcomes share their covariates."""
    if not features.further:
        return [list(range(len(OUTCOMES)))]
    return [[0], [1, 2], [3], [4]] if brief else [[0, 1, 2], [3], [4]]


def _standardised(columns: Sequence[Floats]) -> Floats:
    """Return columns with mean 0 and standard deviation 1, shape (prompts, covariates); constant ones are 0."""
    out = np.array(columns)
    largest = np.abs(out).max(axis=1)
    out -= out.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("kx,kx->k", out, out) / out.shape[1])
    varies = spread > 1e-12 * np.maximum(1.0, largest)
    out *= np.divide(1.0, spread, out=np.zeros(len(spread)), where=varies)[:, None]
    return out.T


def _by_fold(model: OutcomeModel, X: Floats, y: Floats, draw: ScaledSample, folds: _Ints) -> Floats:
    out = np.empty((len(X), *y.shape[1:]))
    seen, mine, weight = X[draw.rows], folds[draw.rows], draw.weight
    takes_weight = isinstance(model, Ridge) or "sample_weight" in inspect.signature(model.fit).parameters
    for fold in range(FOLDS):
        train, held = mine != fold, np.flatnonzero(folds == fold)
        fitted = copy.deepcopy(model)
        extra = {"sample_weight": weight[train]} if takes_weight else {}
        fitted.fit(seen[train], y[train], **extra)
        if held.size:
            out[held] = fitted.predict(X[held])
    return out
