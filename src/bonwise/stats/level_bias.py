"""Level validity: after calibration, is any candidate's mean score still off its mean label?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.estimand import Metric
from bonwise.stats.estimate import Estimate
from bonwise.stats.largest_bias import largest_bias, recurring_names
from bonwise.stats.laws import Ends, Law
from bonwise.stats.pool_adjacent_violators import pool_adjacent_violators
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["METRIC", "calibrated", "level_bias", "level_bias_difference"]

METRIC = Metric("level_bias", group="Over all cells", meaning="largest bias of a calibrated mean", unit="number")

FOLDS = 5

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _BonferroniDifference:
    """Interval of a difference from the intervals of its two parts, each at half the error."""

    first: Law
    second: Law
    kind: str = "jackknife"

    def at(self, confidence: float) -> Ends:
        left, right = self.first.at((1 + confidence) / 2), self.second.at((1 + confidence) / 2)
        return None if left is None or right is None else (left[0] - right[1], left[1] - right[0])


def level_bias_difference(first: Estimate, second: Estimate, confidence: float) -> Estimate:
    """Return the first judge's level bias minus the second's.

    A largest absolute value has no smooth difference, so the interval is Bonferroni's: it holds
    whatever the correlation of the two, and is wider than a paired one would be.

    Parameters
    ----------
    first, second : Estimate
        Level biases on the same prompts.
    confidence : float
    """
    n = min(first.n, second.n)
    if first.law is None or second.law is None or first.estimate is None or second.estimate is None:
        return Estimate.undefined(first.reason or second.reason or "undefined", n)
    law = _BonferroniDifference(first.law, second.law)
    return Estimate.under(law, confidence, estimate=first.estimate - second.estimate, se=np.nan, n=n)


def level_bias(  # noqa: PLR0913 - all but the cells are named
    scores: Floats,
    labels: Floats,
    sizes: _Ints,
    names: _Ints,
    *,
    confidence: float,
    seed: int,
    weights: Floats | None = None,
    clusters: _Ints | None = None,
) -> Estimate:
    """Estimate the largest bias of a calibrated candidate mean.

    ``max_c |mean f(S_c) - mean O_c|`` over candidate names c that recur, where f is an isotonic fit
    of labels on scores, fitted on the other folds of prompts. The interval holds f fixed and takes
    one prompt as the unit.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    names : ndarray of int64, shape (cells,)
        Which candidate a cell is; at most one cell of a name a prompt.
    confidence : float
    seed : int
        Draws the folds.
    weights : ndarray of float64, shape (prompts,), optional
        Such as 1 / propensity where some prompts were likelier than others to be labelled; in the fit and the means.
    clusters : ndarray of int64, shape (prompts,), optional
        Codes of clusters, each of which is one unit of the folds and of the interval.
    """
    n = len(sizes)
    units, count = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    w = np.ones(len(scores)) if weights is None else np.repeat(weights / weights.mean(), sizes)
    if not recurring_names(names, n).size:
        return Estimate.undefined("undefined: candidate names do not recur across prompts", n)
    if count < 2 * FOLDS:
        needed = f"{2 * FOLDS} {'prompts' if clusters is None else 'clusters'}"
        return Estimate.undefined(f"undefined: {FOLDS} folds need {needed}", n)
    owner = np.repeat((np.random.default_rng(seed).permutation(count) % FOLDS)[units], sizes)
    residuals = calibrated(np.round(scores, TIE_DECIMALS), labels, w, owner) - labels
    return largest_bias(residuals, labels, sizes, names, confidence=confidence, weights=w, clusters=clusters)


def calibrated(scores: Floats, labels: Floats, w: Floats, folds: _Ints) -> Floats:
    """Predict each label by an isotonic fit on the other folds.

    Parameters
    ----------
    scores, labels, w : ndarray of float64, shape (cells,)
        No NaN; w are the weights of the cells.
    folds : ndarray of int64, shape (cells,)
        0 to 4.
    """
    values, codes = np.unique(scores, return_inverse=True)
    width = len(values)
    at = folds * width + codes
    masses = np.bincount(at, weights=w, minlength=FOLDS * width).reshape(FOLDS, width)
    sums = np.bincount(at, weights=w * labels, minlength=FOLDS * width).reshape(FOLDS, width)
    others = [np.arange(FOLDS) != fold for fold in range(FOLDS)]
    fitted = np.array([_isotonic(values, masses[some].sum(0), sums[some].sum(0)) for some in others])
    return fitted[folds, codes]


def _isotonic(values: Floats, weights: Floats, sums: Floats) -> Floats:
    """Fit label means on sorted distinct scores; between scores seen, interpolate."""
    seen = weights > 0
    heights = pool_adjacent_violators(sums[seen] / weights[seen], weights[seen])
    return np.interp(values, values[seen], heights)
