"""Expected gain of a stronger judge, learnt from the features of the first judging by linear ridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bonwise.estimates import EstimateRecord
from bonwise.routing.result_router import FitReport, GainModel
from bonwise.stats import correlation, estimand
from bonwise.stats.sums import Floats, compared

__all__ = ["bins_of", "cross_fitted", "cross_fitted_means", "fit_gain"]

FOLDS = 5
"""Parts into which the labelled prompts are cut for the fit report."""

BINS = 10
"""Bins of about equal weight in which `cross_fitted_means` averages the gain."""

_LEAST = 2  # labelled prompts below which a line has nothing to go by


_Line = tuple[Floats, Floats, Floats, float]
"""``intercept + sum_j b_j (x_j - mean_j) / scale_j``: means, scales, the b_j, which are units of the gain a standard
deviation, and the intercept.
"""


def fit_gain(
    features: Mapping[str, Floats], gain: Floats, weights: Floats | None = None, *, seed: int = 0
) -> GainModel:
    """Fit E[gain | features] by linear ridge on standardised features.

    The penalty is ``1 + .001 m`` for m labelled prompts: below a thousand of them a straight line does better than
    squares or trees. `gain` is ``max_i O_i - sum_i w_i O_i``, NaN without labels: such a prompt, and one that lacks a
    feature, is left out; fewer than two others are a ValueError. `weights` are such as 1 / propensity.
    """
    names = tuple(features)
    X, y, w, rows = _complete(features, names, gain, weights)
    if len(rows) < _LEAST:
        raise ValueError(f"a model of the gain needs {_LEAST} labelled prompts with features, not {len(rows)}")
    means, scales, coefficients, intercept = _solve(X, y, w)
    return GainModel.model_validate(
        {
            "names": list(names),
            "means": means.tolist(),
            "scales": scales.tolist(),
            "coefficients": coefficients.tolist(),
            "intercept": intercept,
            "penalty": _penalty(len(y)),
            "fit": _report((X, y, w), weighted=weights is not None, seed=seed),
        }
    )


def cross_fitted(
    features: Mapping[str, Floats],
    gain: Floats,
    weights: Floats | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    one_level: bool = False,
) -> Floats:
    """Predict each prompt's gain by a model that it was no part of; without labels, from all `folds` parts.

    `one_level` puts the mean gain of all labelled prompts in the place of that of each model, for predictions that
    rank prompts of different parts: where the gains of a part are high the mean of the others is low, so that with
    few labels the levels alone rank prompts against their gain. A prediction is NaN where a feature is, and all are
    where labelled prompts are too few to fit.
    """
    names = tuple(features)
    X, y, w, rows = _complete(features, names, gain, weights)
    predicted = np.full(len(gain), np.nan)
    if len(rows) < 2 * _LEAST:
        return predicted
    predicted[:] = _along(_solve(X, y, w), _matrix(features, names))
    predicted[rows] = _out_of_fold((X, y, w), folds, seed, one_level=one_level)
    return predicted


def cross_fitted_means(signal: Floats, gain: Floats, weights: Floats, *, folds: int = FOLDS, seed: int = 0) -> Floats:
    """Predict each labelled prompt's gain by the mean gain of the others in its tenth of a signal, of any shape.

    Prompts without a signal (NaN) make a bin of their own; `gain` has no NaN, and weights are above 0.
    """
    known = ~np.isnan(signal)
    at = np.full(len(signal), BINS)
    if known.any():
        at[known] = bins_of(signal[known], weights[known], BINS)
    part = _parts(len(gain), folds, seed)
    means = np.empty(len(gain))
    for fold in range(folds):
        held, kept = part == fold, part != fold
        masses = np.bincount(at[kept], weights=weights[kept], minlength=BINS + 1)
        sums = np.bincount(at[kept], weights=(weights * gain)[kept], minlength=BINS + 1)
        overall = np.full(BINS + 1, sums.sum() / masses.sum())
        means[held] = np.divide(sums, masses, out=overall, where=masses > 0)[at[held]]
    return means


QUINTILES = 5
"""Bins of a signal or a margin, as in Table 22."""


def bins_of(values: Floats, weights: Floats, bins: int = QUINTILES) -> np.typing.NDArray[np.int64]:
    """Put prompts into bins of about equal weight by rank, equal values always into one."""
    distinct, at = np.unique(compared(values), return_inverse=True)
    masses = np.bincount(at, weights=weights, minlength=len(distinct))
    middles = (np.cumsum(masses) - masses / 2) / masses.sum()
    places: np.typing.NDArray[np.int64] = np.minimum((middles * bins).astype(np.int64), bins - 1)[at]
    return places


def _parts(count: int, folds: int, seed: int) -> np.typing.NDArray[np.int64]:
    parts: np.typing.NDArray[np.int64] = np.random.default_rng(seed).permutation(np.arange(count) % folds)
    return parts


def _complete(
    features: Mapping[str, Floats], names: Sequence[str], gain: Floats, weights: Floats | None
) -> tuple[Floats, Floats, Floats, np.typing.NDArray[np.int64]]:
    """Return features, gain and weights (mean 1) of the prompts that have all of them, and where they stand."""
    X = _matrix(features, names)
    w = np.ones(len(gain)) if weights is None else np.asarray(weights, dtype=float)
    rows = np.flatnonzero(~np.isnan(gain) & ~np.isnan(X).any(axis=1) & (w > 0))
    w = w[rows]
    return X[rows], np.asarray(gain, dtype=float)[rows], w / w.mean() if len(w) else w, rows


def _matrix(features: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    return np.stack([np.asarray(features[name], dtype=float) for name in names], axis=1)


def _solve(X: Floats, y: Floats, w: Floats) -> _Line:
    means = np.average(X, axis=0, weights=w)
    scales = np.sqrt(np.average((X - means) ** 2, axis=0, weights=w))
    # A feature that does not vary gets coefficient 0 at any scale; the scale must not be rounding error.
    scales = np.where(scales > 1e-9 * np.maximum(np.abs(means), 1e-3), scales, 1.0)
    centre = float(np.average(y, weights=w))
    Z = (X - means) / scales
    coefficients = np.linalg.solve(
        Z.T @ (w[:, None] * Z) + _penalty(len(y)) * np.eye(X.shape[1]), Z.T @ (w * (y - centre))
    )
    return means, scales, np.asarray(coefficients, dtype=np.float64), centre


def _penalty(labelled: int) -> float:
    """Return the weight of the squared coefficients."""
    return 1 + 0.001 * labelled


def _along(line: _Line, X: Floats) -> Floats:
    means, scales, coefficients, intercept = line
    predicted: Floats = intercept + ((X - means) / scales) @ coefficients
    return predicted


def _out_of_fold(data: tuple[Floats, Floats, Floats], folds: int, seed: int, *, one_level: bool) -> Floats:
    X, y, w = data
    part, level = _parts(len(y), folds, seed), float(np.average(y, weights=w))
    predicted = np.empty(len(y))
    for fold in range(folds):
        held, kept = part == fold, part != fold
        line = _solve(X[kept], y[kept], w[kept])
        predicted[held] = _along(line, X[held])
        if one_level:
            predicted[held] += level - line[3]
    return predicted


def _report(data: tuple[Floats, Floats, Floats], *, weighted: bool, seed: int) -> FitReport:
    _, y, w = data
    n, ess = len(y), float(w.sum() ** 2 / np.sum(w**2))
    if n < 2 * _LEAST:
        unknown = estimand.Estimate.undefined("too few labelled prompts to hold some back", n)
        together, r2 = unknown, unknown
    else:
        together = correlation.correlation(_out_of_fold(data, FOLDS, seed, one_level=True), y, w)
        r2 = _r2(_out_of_fold(data, FOLDS, seed, one_level=False), y, w)
    return FitReport(
        labelled=n,
        folds=FOLDS,
        weighted=weighted,
        ess=ess,
        correlation=EstimateRecord.of(together),
        r2=EstimateRecord.of(r2),
    )


def _r2(predicted: Floats, y: Floats, w: Floats) -> estimand.Estimate:
    around = (y - np.average(y, weights=w)) ** 2
    total = float(np.average(around, weights=w))
    if total <= 1e-18:
        return estimand.Estimate.undefined("all gains are equal", len(y))
    left = (y - predicted) ** 2
    share = float(np.average(left, weights=w)) / total
    return correlation.from_influence(1 - share, w * (share * around - left) / total, limits=(-np.inf, 1.0))
