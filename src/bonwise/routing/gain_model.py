"""Expected gain of a stronger judge, learnt from the features of the first judging by linear ridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.estimates import EstimateRecord
from bonwise.routing.result_router import FitReport, GainModel
from bonwise.stats import correlation, estimand
from bonwise.stats.sums import compared

FOLDS = 5
"""Parts into which the labelled prompts are cut for `cross_fitted_means`."""

BINS = 10
"""Bins of about equal weight in which `cross_fitted_means` averages the gain."""

PLAIN = ("width", "margin")
"""Features that rank prompts without labels, in order of preference."""

_HALF = 50
"""Labelled prompts at which the slopes of features beside the plain one count one half."""

_LEAST = 2  # labelled prompts below which a line has nothing to go by


def learnt_part(labelled: int) -> float:
    """Return about how much the slopes of features beside the plain one count, from 0 to 1."""
    return labelled**2 / (labelled**2 + _HALF**2)


def plain_feature(names: Sequence[str]) -> str:
    """Return towards which feature few labels shrink the slopes of all; empty where none of them is plain."""
    return next((name for name in PLAIN if name in names), "")


def fit_gain(features: Mapping[str, Floats], gain: Floats, weights: Floats | None = None) -> GainModel:
    """Fit E[gain | features] by linear ridge on standardised features.

    The penalty is ``1 + .001 m`` for m labelled prompts: below a thousand of them a straight line does better than
    squares or trees. Beside a plain feature the slopes of the others have ``50^2 / m`` more: of few labels they count
    about ``m^2 / (m^2 + 50^2)``, and what is left is the plain feature. `gain` is NaN without labels: such a prompt,
    and one that lacks a feature, is left out; fewer than two others are a ValueError. `weights` are such as
    1 / propensity.
    """
    names = tuple(features)
    X, y, w, rows = _complete(features, names, gain, weights)
    if len(rows) < _LEAST:
        raise ValueError(f"a model of the gain needs {_LEAST} labelled prompts with features, not {len(rows)}")
    lines = _Lines.of(names, X, w)
    return GainModel.model_validate(
        {
            "names": list(names),
            "means": lines.means.tolist(),
            "scales": lines.scales.tolist(),
            "coefficients": lines.solve(y)[0][1:].tolist(),
            "intercept": float(np.average(y, weights=w)),
            "penalty": _penalty(len(y)),
            "fit": _report(lines, y, weighted=weights is not None),
        }
    )


def cross_fitted(
    features: Mapping[str, Floats], gain: Floats, weights: Floats | None = None, *, one_level: bool = False
) -> Floats:
    """Predict each prompt's gain by the others' model; with `one_level` their mean does not move predictions."""
    names = tuple(features)
    X, y, w, rows = _complete(features, names, gain, weights)
    predicted = np.full(len(gain), np.nan)
    if len(rows) < 2 * _LEAST:
        return predicted
    lines = _Lines.of(names, X, w)
    around = (_matrix(features, names) - lines.means) / lines.scales
    predicted[:] = np.average(y, weights=w) + around @ lines.solve(y)[0][1:]
    predicted[rows] = lines.left_out(y[:, None], one_level=one_level)[:, 0]
    return predicted


def cross_fitted_again(features: Mapping[str, Floats], gains: Floats, weights: Floats) -> Floats:
    """Predict as `cross_fitted` on one level, for each column of `gains`; all prompts are labelled."""
    names = tuple(features)
    predicted = np.full(gains.shape, np.nan)
    known = ~np.isnan(_matrix(features, names)).any(axis=1)
    if known.sum() >= 2 * _LEAST:
        w = weights[known] / weights[known].mean()
        lines = _Lines.of(names, _matrix(features, names)[known], w)
        predicted[known] = lines.left_out(gains[known], one_level=True)
    return predicted


def cross_fitted_means(signal: Floats, gain: Floats, weights: Floats, *, seed: int = 0) -> Floats:
    """Predict each labelled prompt's gain by the others' mean in its tenth of a signal; NaNs are a bin."""
    known = ~np.isnan(signal)
    at = np.full(len(signal), BINS)
    if known.any():
        at[known] = bins_of(signal[known], weights[known], BINS)
    part = np.random.default_rng(seed).permutation(np.arange(len(gain)) % FOLDS)
    means = np.empty(len(gain))
    for fold in range(FOLDS):
        held, kept = part == fold, part != fold
        masses = np.bincount(at[kept], weights=weights[kept], minlength=BINS + 1)
        sums = np.bincount(at[kept], weights=(weights * gain)[kept], minlength=BINS + 1)
        overall = np.full(BINS + 1, sums.sum() / masses.sum())
        means[held] = np.divide(sums, masses, out=overall, where=masses > 0)[at[held]]
    return means


QUINTILES = 5
"""Bins of a signal or a margin, as in Table 22."""


def bins_of(values: Floats, weights: Floats, bins: int = QUINTILES) -> Ints:
    """Put prompts into bins of about equal weight by rank, equal values always into one."""
    distinct, at = np.unique(compared(values), return_inverse=True)
    masses = np.bincount(at, weights=weights, minlength=len(distinct))
    middles = (np.cumsum(masses) - masses / 2) / masses.sum()
    places: Ints = np.minimum((middles * bins).astype(np.int64), bins - 1)[at]
    return places


def _complete(
    features: Mapping[str, Floats], names: Sequence[str], gain: Floats, weights: Floats | None
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return features, gain and weights (mean 1) of the prompts that have all of them, and where they stand."""
    X = _matrix(features, names)
    w = np.ones(len(gain)) if weights is None else np.asarray(weights, dtype=float)
    rows = np.flatnonzero(~np.isnan(gain) & ~np.isnan(X).any(axis=1) & (w > 0))
    w = w[rows]
    return X[rows], np.asarray(gain, dtype=float)[rows], w / w.mean() if len(w) else w, rows


def _matrix(features: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    return np.stack([np.asarray(features[name], dtype=float) for name in names], axis=1)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Standardised features of labelled prompts, on which lines are fitted to gains."""

    means: Floats
    scales: Floats
    Z: Floats
    w: Floats
    penalties: Floats
    """Of the intercept and each slope."""

    @classmethod
    def of(cls, names: Sequence[str], X: Floats, w: Floats) -> _Lines:
        means = np.average(X, axis=0, weights=w)
        scales = np.sqrt(np.average((X - means) ** 2, axis=0, weights=w))
        # A feature that does not vary gets coefficient 0 at any scale; the scale must not be rounding error.
        varies = scales > 1e-9 * np.maximum(np.abs(means), 1e-3)
        scales = np.where(varies, scales, 1.0)
        plain = plain_feature([name for name, differs in zip(names, varies, strict=True) if differs])
        extra = [0.0 if not plain or name == plain else _HALF**2 / len(X) for name in names]
        penalties = np.array([0.0, *(_penalty(len(X)) + more for more in extra)])
        return cls(means, scales, (X - means) / scales, w, penalties)

    def solve(self, gains: Floats) -> tuple[Floats, Floats]:
        """Return intercept and slopes for each column of gains, and how far the gain of each prompt moves them."""
        D = np.column_stack([np.ones(len(self.Z)), self.Z])
        moves = np.linalg.solve(D.T @ (self.w[:, None] * D) + np.diag(self.penalties), (self.w[:, None] * D).T)
        lines: Floats = moves @ gains
        return lines, np.asarray(moves, dtype=np.float64)

    def left_out(self, gains: Floats, *, one_level: bool) -> Floats:
        """Predict each prompt by the line of all others, for each column of gains."""
        lines, moves = self.solve(gains)
        # Sherman and Morrison: a prompt left out moves the line by its residual over 1 minus its leverage.
        reach = np.einsum("tj,jt->t", self.Z, moves[1:])
        residuals = (gains - lines[0] - self.Z @ lines[1:]) / (1 - moves[0] - reach)[:, None]
        level = np.average(gains, axis=0, weights=self.w) if one_level else lines[0] - moves[0][:, None] * residuals
        predicted: Floats = level + self.Z @ lines[1:] - reach[:, None] * residuals
        return predicted


def _penalty(labelled: int) -> float:
    """Return the weight of the squared coefficients."""
    return 1 + 0.001 * labelled


def _report(lines: _Lines, y: Floats, *, weighted: bool) -> FitReport:
    w, n = lines.w, len(y)
    if n < 2 * _LEAST:
        unknown = estimand.Estimate.undefined("too few labelled prompts to hold some back", n)
        together, r2 = unknown, unknown
    else:
        together = correlation.correlation(lines.left_out(y[:, None], one_level=True)[:, 0], y, w)
        r2 = _r2(lines.left_out(y[:, None], one_level=False)[:, 0], y, w)
    return FitReport(
        labelled=n,
        folds=n,
        weighted=weighted,
        ess=float(w.sum() ** 2 / np.sum(w**2)),
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
