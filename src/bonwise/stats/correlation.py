"""Correlation of two figures of a prompt, with an interval by prompt; scores that are too heavy for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bonwise.stats import estimand, estimation, jackknife, laws, sums

__all__ = [
    "LEAST_CARRIERS",
    "correlation",
    "from_influence",
    "heavy_scores",
    "without_correlations",
    "without_interval",
]

LEAST_CARRIERS = 20
"""Prompts that carry a figure, such as the routed ones, below which its interval holds too seldom to be given."""

_ROUNDING = 1e-12  # a variance below this share of the squared values is rounding


def correlation(
    x: sums.Floats, y: sums.Floats, weights: sums.Floats | None = None, *, confidence: float = 0.95
) -> estimand.Estimate:
    """Estimate the correlation over prompts.

    In the infinitesimal jackknife prompt t moves r by ``w_t / sum w * (z_x z_y - r (z_x^2 + z_y^2) / 2)``. NaN or
    weight 0 leaves a prompt out. Undefined with fewer than three prompts or a figure that does not vary; no interval
    where fewer than 20 prompts differ from the most common value of either.

    Examples
    --------
    >>> correlation(np.array([1., 2, 3, 4]), np.array([1., 3, 2, 4])).estimate
    0.8
    """
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    known = ~np.isnan(x) & ~np.isnan(y) & (w > 0)
    x, y, w = x[known], y[known], w[known]
    n = len(x)
    if n < 3:
        return estimand.Estimate.undefined("fewer than three prompts", n)
    zx, zy = _standard(x, w), _standard(y, w)
    if zx is None or zy is None:
        return estimand.Estimate.undefined("one of the two does not vary", n)
    r = float(np.clip(np.average(zx * zy, weights=w), -1, 1))
    influence = w / w.mean() * (zx * zy - r * (zx**2 + zy**2) / 2)
    estimate = from_influence(r, influence, confidence=confidence, limits=(-1.0, 1.0))
    carried = min(_off_the_mode(x), _off_the_mode(y))
    return without_interval(estimate, _few(carried))


def from_influence(
    value: float, influence: sums.Floats, *, confidence: float = 0.95, limits: tuple[float, float] = (-np.inf, np.inf)
) -> estimand.Estimate:
    """Give an estimate the interval that its influence values allow (infinitesimal jackknife, Student's t).

    `influence` is how far the estimate moves, times n, with a little more weight on each prompt; its mean is 0.
    """
    n = len(influence)
    if n < 2:
        return estimand.Estimate(value, None, None, None, n, None, reason="no interval: it rests on a single prompt")
    se = float(np.sqrt(np.sum(influence**2) / (n * (n - 1))))
    if se <= _ROUNDING * max(1.0, abs(value)):
        return estimand.Estimate(
            value, None, None, None, n, None, reason="no interval: leaving out any prompt changes nothing"
        )
    law = laws.Student(value, se, jackknife.kurtosis_df(influence), limits)
    return estimation.under(law, confidence, estimate=value, se=se, n=n)


def without_interval(found: estimand.Estimate, reason: str) -> estimand.Estimate:
    """Return an estimate without its interval and why it has none; unchanged where the reason is empty.

    Examples
    --------
    >>> without_interval(correlation(np.arange(50.0), np.arange(50.0) ** 2), "it rests on 7 routed prompts").reason
    'no interval: it rests on 7 routed prompts'
    """
    if not reason or found.low is None:
        return found
    return replace(found, low=None, high=None, se=None, interval=None, law=None, reason=f"no interval: {reason}")


def _few(carried: int) -> str:
    apart = "one prompt that differs" if carried == 1 else f"{carried} prompts that differ"
    return f"it rests on {apart} from the others" if carried < LEAST_CARRIERS else ""


def _off_the_mode(values: sums.Floats) -> int:
    """Return how many values differ from the most common one; of distinct values, all but one."""
    _, counts = np.unique(sums.compared(values), return_counts=True)
    return len(values) - int(counts.max())


def _standard(values: sums.Floats, weights: sums.Floats) -> sums.Floats | None:
    """Return deviations in units of the standard deviation, None where there is no variation."""
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    if variance <= _ROUNDING * max(1e-12, float(mean**2)):
        return None
    scores: sums.Floats = (values - mean) / np.sqrt(variance)
    return scores


_LEAST_KURTOSIS = 4.5  # of few normal values a sample has nearly always less
_MOST_KURTOSIS, _POWER = 1.8, 0.2


def heavy_scores(scores: sums.Floats, labels: sums.Floats) -> str:
    """Return why scores have too heavy tails for the interval of a correlation; empty where they have not.

    Their kurtosis is that about the line that labels predict them by, over all scored and labelled candidates. Scores
    on a scale with ends, within [0, 1] or with an end that recurs at either side, hide no larger ones.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = rng.integers(0, 11, 400).astype(float)
    >>> heavy_scores(0.3 * labels + rng.standard_normal(400), labels)
    ''
    >>> heavy_scores(0.3 * labels + rng.standard_t(2.2, 400), labels)[:40]
    'the scores have a kurtosis of 74.3, and '
    """
    known = ~(np.isnan(scores) | np.isnan(labels))
    s, o = scores[known], labels[known]
    if not s.size or _has_ends(s):
        return ""
    # In units of the largest, whose squares are doubles.
    s, o = (off / (np.abs(off).max() or 1.0) for off in (s - s.mean(), o - o.mean()))
    line = float(s @ o) / float(o @ o) if o.any() else 0.0
    square = np.square(s - line * o)
    total = float(square.sum())
    kurtosis = len(square) * float(square @ square) / total**2 if total > 0 else 0.0
    most = max(_LEAST_KURTOSIS, _MOST_KURTOSIS * len(square) ** _POWER)
    if kurtosis <= most:
        return ""
    return (
        f"the scores have a kurtosis of {kurtosis:.3g}, and intervals of correlations hold up to {most:.2g}; "
        "effective_agreement goes by rank and has an interval"
    )


def _has_ends(scores: sums.Floats) -> bool:
    low, high = scores.min(), scores.max()
    recur = min(np.count_nonzero(scores == low), np.count_nonzero(scores == high)) > 1
    return bool((low >= 0 and high <= 1) or recur)


def without_correlations(
    metrics: Mapping[str, estimand.Estimate], scores: sums.Floats, labels: sums.Floats
) -> dict[str, estimand.Estimate]:
    """Return the metrics of a judge, correlations of heavy scores and labels without an interval."""
    reason = heavy_scores(scores, labels)
    return {
        name: without_interval(estimate, reason) if name in ("global_r", "within_r") else estimate
        for name, estimate in metrics.items()
    }
