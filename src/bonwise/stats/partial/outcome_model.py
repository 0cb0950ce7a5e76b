"""Models of a prompt's labels that never saw them: which one, what it predicts, and how far it is trusted."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import UsageError
from bonwise.stats.clusters import cluster_codes
from bonwise.stats.partial.label_features import OUTCOMES, LabelFeatures
from bonwise.stats.partial.label_sample import ScaledSample, fold_of

FOLDS = 5


class OutcomeModel(Protocol):
    """Any regressor with these two methods of scikit-learn's; `fit` may also take ``sample_weight``."""

    def fit(self, X: Floats, y: Floats) -> Any:
        """Learn outcomes, shape (prompts,), from standardised covariates, shape (prompts, covariates)."""
        ...

    def predict(self, X: Floats) -> Floats:
        """Return predictions, shape (prompts,)."""
        ...


class Ridge:
    """Weighted ridge regression with penalty ``1 + .001 m`` for m rows, weights scaled to mean 1."""

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
        return X @ self._slope + (self._mean - self._centre @ self._slope)


def cross_fit(
    model: OutcomeModel, features: LabelFeatures, draw: ScaledSample, Y: Floats, folds: Ints, *, brief: bool
) -> Floats:
    """Predict the `OUTCOMES` of all prompts, those of a prompt by a copy fitted to the labels of other folds.

    Y is (labelled prompts, 5), predictions (prompts, 5), UsageError where they are not finite. A model that takes
    weights gets R / pi; if `brief`, it sees the few covariates only.
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


def _by_fold(model: OutcomeModel, X: Floats, y: Floats, draw: ScaledSample, folds: Ints) -> Floats:
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


LABELS_ONLY = "labels only"
STAND_IN = "stand-in"

_FEWEST_TO_FIT = 30
_FEWEST_FOR_ALL = 100
_FEWEST_FOR_CALLERS = 2 * FOLDS


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model of the labels an estimate rests on."""

    name: str
    """``labels only``, ``stand-in`` (the further judges' scores as they are), ``ridge``, or the class of a model that
    the caller gave.
    """
    covariates: tuple[str, ...]
    """What it looks at; the models of top-1 and hit also see what these would be if the further judges' scores were
    the labels. Empty where labels are used alone.
    """
    reason: str
    """Why this one with this number of labels, in plain words."""
    regressor: OutcomeModel | None = field(default=None, repr=False, compare=False)
    """What is cross-fitted, None where nothing is."""
    brief: bool = field(default=False, repr=False)
    """Whether it sees the few covariates only."""


def choose_model(features: LabelFeatures, labels: int, model: OutcomeModel | None = None) -> ModelChoice:
    """Choose the model by the number of labelled prompts, and say why; the caller's `model` with 10 or more."""
    if model is not None and labels >= _FEWEST_FOR_CALLERS:
        return _callers(features, labels, model)
    chosen = _with_further(features, labels) if features.further else _by_labels(features, labels)
    if model is None:
        return chosen
    unused = f"; {type(model).__name__} would need {_FEWEST_FOR_CALLERS}"
    return replace(chosen, reason=chosen.reason + unused)


def _callers(features: LabelFeatures, labels: int, model: OutcomeModel) -> ModelChoice:
    name = type(model).__name__
    why = f"{labels} labelled prompts, and the caller gave a model: {name}, cross-fitted"
    return ModelChoice(name, features.names("random", brief=False), why, model)


def _by_labels(features: LabelFeatures, labels: int) -> ModelChoice:
    if labels < _FEWEST_FOR_ALL:
        why = f"{_fewer(labels, _FEWEST_FOR_ALL)}, and no further judge: the labels are used alone, weighted"
        return ModelChoice(LABELS_ONLY, (), why)
    names = features.names("random", brief=False)
    why = (
        f"{_enough(labels)}, and no further judge: a ridge regression on the {len(names)} features of its own scores"
    )
    return ModelChoice("ridge", names, why, Ridge())


def _with_further(features: LabelFeatures, labels: int) -> ModelChoice:
    if labels < _FEWEST_TO_FIT:
        why = f"{_fewer(labels, _FEWEST_TO_FIT)}: nothing is fitted, the further judges' scores replace labels"
        return ModelChoice(STAND_IN, ("further_pick", "further_best", "further_mean"), why)
    brief = labels < _FEWEST_FOR_ALL
    names = features.names("random", brief=brief)
    whose = "of the further judges" if brief else "of all judges"
    lead = _fewer(labels, _FEWEST_FOR_ALL) if brief else _enough(labels)
    why = f"{lead}: a ridge regression on {len(names)} covariates {whose}"
    return ModelChoice("ridge", names, why, Ridge(), brief)


def _fewer(labels: int, than: int) -> str:
    return f"{labels} labelled prompt{'s' * (labels != 1)}, fewer than {than}"


def _enough(labels: int) -> str:
    return f"{labels} labelled prompts, at least {_FEWEST_FOR_ALL}"


def power_tuning(m: Floats, Y: Floats, draw: ScaledSample, rho: float) -> Floats:
    """Return the weight of the model for every outcome, (5,); Y1 and Y2 share the one that suits recovery.

    ``lam = 1 + sum (q - 1)(m - mbar) q (e - ebar) / sum ((q - 1)(m - mbar))^2`` with e = Y - m, cut to [0, 1]; for Y1
    and Y2 with phi = Y1 - rho Y2 and the same contrast of predictions m, (prompts, 5). It estimates the lam of
    smallest variance from residuals, not from Y: a right model keeps its full weight also where propensities are
    wrong, so that the estimate stays doubly robust. rho is a first guess of recovery.
    """
    directions = np.eye(len(OUTCOMES))
    directions[1:3] = 0.0, 1.0, -rho, 0.0, 0.0
    predicted, seen = m @ directions.T, Y @ directions.T
    pull = (draw.q - 1)[:, None] * (predicted - predicted.mean(axis=0))
    left = seen - predicted[draw.rows]
    around = draw.weight[:, None] * (left - draw.mean(left))
    scale = np.einsum("xk,xk->k", pull, pull)
    cross = scale + np.einsum("xk,xk->k", pull[draw.rows], around)
    # What is left of constant predictions after their mean is rounding, and its direction means nothing; so is what
    # is left where the two gains cancel.
    size = np.max(np.abs(m) @ np.abs(directions).T, axis=0)
    noise = 1e-24 * np.sum((draw.q - 1) ** 2) * size**2
    lam: Floats = np.clip(np.divide(cross, scale, out=np.zeros(len(scale)), where=scale > noise), 0.0, 1.0)
    return lam


def share_explained(m: Floats, Y: Floats, draw: ScaledSample, direction: Floats) -> float | None:
    """Return the share of a contrast's weighted variance that predictions explain, at least 0; None without one."""
    seen, left = Y @ direction, (Y - m) @ direction
    spread, rest = (float(draw.mean((values - draw.mean(values)) ** 2)) for values in (seen, left))
    return max(0.0, 1 - rest / spread) if spread > 1e-12 * float(draw.mean(seen**2)) else None


def prompt_folds(features: LabelFeatures, draw: ScaledSample, Y: Floats, seed: int) -> Ints:
    """Assign prompts to folds by their features, weights and labels, shape (prompts,)."""
    seen = np.zeros((Y.shape[1], len(draw.q)))
    seen[:, draw.rows] = Y.T
    return fold_of(np.array([*features.identity(), draw.q, *seen]), draw.rows, FOLDS, seed)


def cluster_folds(clusters: Ints, seed: int) -> Ints:
    """Assign prompts to folds, those of one cluster together."""
    codes, count = cluster_codes(clusters)
    return (np.random.default_rng(seed).permutation(count) % FOLDS)[codes]


def predictions(
    choice: ModelChoice, features: LabelFeatures, draw: ScaledSample, Y: Floats, folds: Ints
) -> Floats | None:
    """Return cross-fitted predictions, what is known in their place; None where labels are used alone."""
    if choice.name == LABELS_ONLY:
        return None
    values = features.stand_ins
    if choice.regressor is not None:
        values = cross_fit(choice.regressor, features, draw, Y, folds, brief=choice.brief)
    known = features.known()
    return np.where(np.isnan(known), np.asarray(values), known)
