"""Level validity: is any candidate's mean score off its mean label, also after isotonic calibration?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints
from bonwise.stats import estimand, estimation, laws
from bonwise.stats.clusters import cluster_codes, too_few_clusters
from bonwise.stats.sums import compared, distinct

RECURS = 0.5
"""A candidate name recurs when at least this share of the prompts carries it."""


@dataclass(frozen=True, slots=True, eq=False)
class LargestOf:
    """Interval of the largest absolute mean, by Bonferroni over the candidate names."""

    biases: Floats
    errors: Floats
    df: Floats
    """Mean residuals, their standard errors, and the degrees of freedom of each."""
    kind: str = "jackknife"

    def at(self, confidence: float) -> laws.Ends:
        """Return the interval."""
        tail = (1 - confidence) / len(self.biases)
        half = np.array([laws.student_quantile(1 - tail, df) for df in self.df]) * self.errors
        size = np.abs(self.biases)
        return float(np.maximum(size - half, 0.0).max()), float((size + half).max())


def recurring_names(names: Ints, prompts: int) -> Ints:
    """Return the candidate names that at least half of the prompts carry, and two at the least."""
    return np.flatnonzero(np.bincount(names) >= max(RECURS * prompts, 2))


def largest_bias(
    residuals: Floats,
    labels: Floats,
    sizes: Ints,
    names: Ints,
    *,
    confidence: float,
    weights: Floats | None = None,
    clusters: Ints | None = None,
) -> estimand.Estimate:
    """Estimate the largest absolute mean residual of a candidate name that recurs.

    ``max_c |mean (f(S_c) - O_c)|``; the interval holds f fixed, its unit is the prompt, or a code of `clusters`,
    (prompts,). Residuals (score less label), labels and weights (mean 1, equal in a prompt) are (cells,), grouped by
    prompt, no NaN. `names` says which candidate a cell is, at most one cell of a name a prompt.
    """
    counts, recurring = np.bincount(names), recurring_names(names, len(sizes))
    if not recurring.size:
        return estimand.Estimate.undefined("undefined: candidate names do not recur across prompts", len(sizes))
    counts = counts[recurring]
    unit = None if clusters is None else np.repeat(cluster_codes(clusters)[0], sizes)
    biases, errors, units = _weighted_means(residuals, names, weights, unit, recurring)
    worst = int(np.abs(biases).argmax())
    size, n = float(abs(biases[worst])), int(counts[worst])
    if few := too_few_clusters(clusters):
        return estimand.Estimate(size, None, None, None, n, None, reason=f"no interval: {few}")
    if errors.max() <= 1e-12 * float(np.abs(labels).max()):
        # Every prompt is off by the same: at most a share of prompts can be off by more, up to the labels' span.
        span = float(labels.max() - labels.min())
        alike = laws.Exact(size, int(units.min()), (0.0, max(span, size)))
        return estimation.under(alike, confidence, estimate=size, se=0.0, n=int(counts.min()))
    law = LargestOf(biases, errors, (units - 1).astype(float))
    return estimation.under(law, confidence, estimate=size, se=float(errors[worst]), n=n)


def _weighted_means(
    residuals: Floats, names: Ints, w: Floats | None, unit: Ints | None, wanted: Ints
) -> tuple[Floats, Floats, Ints]:
    """Return the mean residual of some names, its standard error over units (linearised), and the units."""
    masses, weighed = np.bincount(names, weights=w), residuals if w is None else w * residuals
    means = np.divide(np.bincount(names, weights=weighed), masses, out=np.zeros(len(masses)), where=masses > 0)
    off: Floats = residuals - means[names]
    off = off if w is None else w * off
    owner = names
    if unit is not None:
        width = int(unit.max()) + 1
        pairs, at = np.unique(names * width + unit, return_inverse=True)
        off, owner = np.bincount(at.reshape(-1), weights=off).astype(np.float64), pairs // width
    counts = np.bincount(owner, minlength=len(masses))[wanted]
    around = np.bincount(owner, weights=off**2, minlength=len(masses))[wanted]
    return means[wanted], np.sqrt(around * counts / (counts - 1)) / masses[wanted], counts


def pool_adjacent_violators(values: Floats, weights: Floats) -> Floats:
    """Return the rising least-squares fit, bit for bit scipy's, whose import outlasts an audit (Busing 2022)."""
    # Python's floats: they are the same numbers as numpy's, and a step on one of them takes a tenth of the time.
    heights, ends = _blocks(values.tolist(), weights.tolist())
    return np.repeat(heights, np.diff(ends, prepend=0))


def _blocks(values: list[float], weights: list[float]) -> tuple[list[float], list[int]]:
    """Return the height of each block of equal values, and the position after its last value."""
    heights, masses, ends = values[:1], weights[:1], [1]
    at, n = 1, len(values)
    while at < n:
        height, mass = values[at], weights[at]
        at += 1
        if heights[-1] < height:
            heights.append(height)
            masses.append(mass)
            ends.append(at)
            continue
        total = masses[-1] * heights[-1] + mass * height
        mass += masses[-1]
        height = total / mass
        while at < n and height >= values[at]:
            total += weights[at] * values[at]
            mass += weights[at]
            height = total / mass
            at += 1
        heights.pop()
        masses.pop()
        ends.pop()
        while heights and heights[-1] >= height:
            total += masses[-1] * heights[-1]
            mass += masses.pop()
            height = total / mass
            heights.pop()
            ends.pop()
        heights.append(height)
        masses.append(mass)
        ends.append(at)
    return heights, ends


FOLDS = 5


@dataclass(frozen=True, slots=True)
class _BonferroniDifference:
    """Interval of a difference from the intervals of its two parts, each at half the error."""

    first: laws.Law
    second: laws.Law
    kind: str = "jackknife"

    def at(self, confidence: float) -> laws.Ends:
        left, right = self.first.at((1 + confidence) / 2), self.second.at((1 + confidence) / 2)
        return None if left is None or right is None else (left[0] - right[1], left[1] - right[0])


def level_bias_difference(
    first: estimand.Estimate, second: estimand.Estimate, confidence: float
) -> estimand.Estimate:
    """Return the first level bias minus the second, by Bonferroni's interval: such a largest value is not smooth."""
    n = min(first.n, second.n)
    if first.law is None or second.law is None or first.estimate is None or second.estimate is None:
        return estimand.Estimate.undefined(first.reason or second.reason or "undefined", n)
    law = _BonferroniDifference(first.law, second.law)
    return estimation.under(law, confidence, estimate=first.estimate - second.estimate, se=np.nan, n=n)


def level_bias(  # noqa: PLR0913 - all but the cells are named
    scores: Floats,
    labels: Floats,
    sizes: Ints,
    names: Ints,
    *,
    confidence: float,
    seed: int,
    weights: Floats | None = None,
    clusters: Ints | None = None,
) -> estimand.Estimate:
    """Estimate ``max_c |mean f(S_c) - mean O_c|`` over recurring names c, f isotonic on other folds of prompts."""
    n = len(sizes)
    units, count = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    w = None if weights is None else np.repeat(weights / weights.mean(), sizes)
    if not recurring_names(names, n).size:
        return estimand.Estimate.undefined("undefined: candidate names do not recur across prompts", n)
    if count < 2 * FOLDS:
        needed = f"{2 * FOLDS} {'prompts' if clusters is None else 'clusters'}"
        return estimand.Estimate.undefined(f"undefined: {FOLDS} folds need {needed}", n)
    folds = (np.random.default_rng(seed).permutation(count) % FOLDS).astype(np.int8)
    owner = np.repeat(folds[units], sizes)
    residuals = calibrated(compared(scores), labels, w, owner) - labels
    return largest_bias(residuals, labels, sizes, names, confidence=confidence, weights=w, clusters=clusters)


def calibrated(scores: Floats, labels: Floats, w: Floats | None, folds: npt.NDArray[np.int8] | Ints) -> Floats:
    """Predict each label by an isotonic fit on the other folds, 0 to 4; arrays are (cells,), w weighs the cells."""
    values, at = distinct(scores)
    width = len(values)
    at += np.multiply(folds, width, dtype=np.int64)
    weighed = labels if w is None else w * labels
    masses = np.bincount(at, weights=w, minlength=FOLDS * width).reshape(FOLDS, width)
    sums = np.bincount(at, weights=weighed, minlength=FOLDS * width).reshape(FOLDS, width)
    others = [np.arange(FOLDS) != fold for fold in range(FOLDS)]
    fitted = np.array([isotonic(values, masses[some].sum(0), sums[some].sum(0)) for some in others])
    return np.take(fitted, at)


def isotonic(values: Floats, weights: Floats, sums: Floats) -> Floats:
    """Fit label means on sorted distinct scores; between scores seen, interpolate."""
    seen = weights > 0
    heights = pool_adjacent_violators(sums[seen] / weights[seen], weights[seen])
    return np.interp(values, values[seen], heights)
