"""How far the mean score of a candidate lies off its mean label: the worst of the candidate names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes, too_few_clusters
from bonwise.stats.estimate import Estimate
from bonwise.stats.laws import Ends, Exact, student_quantile
from bonwise.stats.sums import Floats

__all__ = ["LargestOf", "largest_bias", "recurring_names"]

RECURS = 0.5
"""A candidate name recurs when at least this share of the prompts carries it."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LargestOf:
    """Interval of the largest absolute mean, by Bonferroni over the candidate names."""

    biases: Floats
    """Mean residuals, their standard errors, and the degrees of freedom of each."""
    errors: Floats
    """Mean residuals, their standard errors, and the degrees of freedom of each."""
    df: Floats
    """Mean residuals, their standard errors, and the degrees of freedom of each."""
    kind: str = "jackknife"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        tail = (1 - confidence) / len(self.biases)
        half = np.array([student_quantile(1 - tail, df) for df in self.df]) * self.errors
        size = np.abs(self.biases)
        return float(np.maximum(size - half, 0.0).max()), float((size + half).max())


def recurring_names(names: _Ints, prompts: int) -> _Ints:
    """Return the candidate names that at least half of the prompts carry, and two at the least."""
    found: _Ints = np.flatnonzero(np.bincount(names) >= max(RECURS * prompts, 2))
    return found


def largest_bias(
    residuals: Floats,
    labels: Floats,
    sizes: _Ints,
    names: _Ints,
    *,
    confidence: float,
    weights: Floats | None = None,
    clusters: _Ints | None = None,
) -> Estimate:
    """Estimate the largest absolute mean residual of a candidate name that recurs.

    ``max_c |mean (f(S_c) - O_c)|``; the interval holds f fixed and takes one prompt as the unit.

    Parameters
    ----------
    residuals, labels : ndarray of float64, shape (cells,)
        Score, calibrated or not, less label; and the label. Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    names : ndarray of int64, shape (cells,)
        Which candidate a cell is; at most one cell of a name a prompt.
    confidence : float
    weights : ndarray of float64, shape (cells,), optional
        Of mean 1, the same in all cells of a prompt.
    clusters : ndarray of int64, shape (prompts,), optional
        Codes of clusters, each of which is one unit of the interval.

    Examples
    --------
    >>> scores, labels = np.array([.5, .9, .7, .9]), np.array([.5, .5, .5, .7])
    >>> found = largest_bias(scores - labels, labels, np.array([2, 2]), np.array([0, 1, 0, 1]), confidence=0.95)
    >>> round(found.estimate, 3), found.n
    (0.3, 2)
    """
    w = np.ones(len(residuals)) if weights is None else weights
    counts, recurring = np.bincount(names), recurring_names(names, len(sizes))
    if not recurring.size:
        return Estimate.undefined("undefined: candidate names do not recur across prompts", len(sizes))
    counts = counts[recurring]
    unit = None if clusters is None else np.repeat(cluster_codes(clusters)[0], sizes)
    biases, errors, units = _weighted_means(residuals, names, w, unit, recurring)
    worst = int(np.abs(biases).argmax())
    size, n = float(abs(biases[worst])), int(counts[worst])
    if few := too_few_clusters(clusters):
        return Estimate(size, None, None, None, n, None, reason=f"no interval: {few}")
    if errors.max() <= 1e-12:
        # Every prompt is off by the same: at most a share of prompts can be off by more, up to the labels' span.
        span = float(labels.max() - labels.min())
        alike = Exact(size, int(units.min()), (0.0, max(span, size)))
        return Estimate.under(alike, confidence, estimate=size, se=0.0, n=int(counts.min()))
    law = LargestOf(biases, errors, (units - 1).astype(float))
    return Estimate.under(law, confidence, estimate=size, se=float(errors[worst]), n=n)


def _weighted_means(
    residuals: Floats, names: _Ints, w: Floats, unit: _Ints | None, wanted: _Ints
) -> tuple[Floats, Floats, _Ints]:
    """Return the mean residual of some names, its standard error over units (linearised), and the units."""
    masses = np.bincount(names, weights=w)
    means = np.divide(np.bincount(names, weights=w * residuals), masses, out=np.zeros(len(masses)), where=masses > 0)
    off: Floats = w * (residuals - means[names])
    owner = names
    if unit is not None:
        width = int(unit.max()) + 1
        pairs, at = np.unique(names * width + unit, return_inverse=True)
        off, owner = np.bincount(at.reshape(-1), weights=off).astype(np.float64), pairs // width
    counts = np.bincount(owner, minlength=len(masses))[wanted]
    around = np.bincount(owner, weights=off**2, minlength=len(masses))[wanted]
    return means[wanted], np.sqrt(around * counts / (counts - 1)) / masses[wanted], counts
