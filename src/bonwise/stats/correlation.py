"""Correlation of two figures of a prompt, with an interval by prompt; scores or labels that are too heavy for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bonwise.arrays import Floats
from bonwise.stats import estimand, estimation, jackknife, sums

LEAST_CARRIERS = 20
"""Prompts that carry a figure, such as the routed ones, below which its interval holds too seldom to be given."""

_ROUNDING = 1e-12  # a variance below this share of the squared values is rounding


def correlation(
    x: Floats, y: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> estimand.Estimate:
    """Estimate the correlation over prompts.

    In the infinitesimal jackknife prompt t moves r by ``w_t / sum w * (z_x z_y - r (z_x^2 + z_y^2) / 2)``. NaN or
    weight 0 leaves a prompt out. Undefined with fewer than three prompts or a figure that does not vary; no interval
    where fewer than 20 prompts differ from the most common value of either.
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
    value: float, influence: Floats, *, confidence: float = 0.95, limits: tuple[float, float] = (-np.inf, np.inf)
) -> estimand.Estimate:
    """Give an estimate the interval by `influence`: n times how far a little more weight on each prompt moves it."""
    n, scatter = len(influence), jackknife.Scatter(np.nan, np.nan)
    if n > 1:
        se = float(np.sqrt(np.sum(influence**2) / (n * (n - 1))))
        scatter = jackknife.Scatter(se, jackknife.kurtosis_df(influence))
    return estimation.from_jackknife(value, scatter, n, limits, confidence, exact=None)


def without_interval(found: estimand.Estimate, reason: str) -> estimand.Estimate:
    """Return an estimate without its interval and why it has none; unchanged where the reason is empty."""
    if not reason or found.low is None:
        return found
    return replace(found, low=None, high=None, se=None, interval=None, law=None, reason=f"no interval: {reason}")


def _few(carried: int) -> str:
    apart = "one prompt that differs" if carried == 1 else f"{carried} prompts that differ"
    return f"it rests on {apart} from the others" if carried < LEAST_CARRIERS else ""


def _off_the_mode(values: Floats) -> int:
    """Return how many values differ from the most common one; of distinct values, all but one."""
    _, counts = np.unique(sums.compared(values), return_counts=True)
    return len(values) - int(counts.max())


def _standard(values: Floats, weights: Floats) -> Floats | None:
    """Return deviations in units of the standard deviation, None where there is no variation."""
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    if variance <= _ROUNDING * max(1e-12, float(mean**2)):
        return None
    scores: Floats = (values - mean) / np.sqrt(variance)
    return scores


_LEAST_KURTOSIS = 4.5  # of few normal values a sample has nearly always less
_MOST_KURTOSIS, _POWER = 1.8, 0.2


def most_kurtosis(cells: float) -> float:
    """Return the kurtosis up to which the interval of a correlation holds, by the candidates behind it."""
    return max(_LEAST_KURTOSIS, _MOST_KURTOSIS * float(cells**_POWER))


def kurtoses(scores: Floats, labels: Floats) -> dict[str, float]:
    """Return the kurtosis of scores, about the line that labels predict them by, and of labels.

    Over all scored and labelled candidates. Values on a scale with ends, within [0, 1] or with an end that recurs at
    either side, hide no larger ones: they have no entry.
    """
    known = ~(np.isnan(scores) | np.isnan(labels))
    if not known.any():
        return {}
    both = {"scores": scores, "labels": labels}
    both = both if known.all() else {name: values[known] for name, values in both.items()}
    open_ended = {name for name, values in both.items() if not _has_ends(values)}
    if not open_ended:
        return {}
    # In units of the largest, whose squares are doubles.
    s, o = (off / (np.abs(off).max() or 1.0) for off in (values - values.mean() for values in both.values()))
    line = float(s @ o) / float(o @ o) if o.any() else 0.0
    squares = np.square(s - line * o), np.square(o)
    return {
        name: len(values) * float(square @ square) / (float(square.sum()) ** 2 or 1.0)
        for (name, values), square in zip(both.items(), squares, strict=True)
        if name in open_ended
    }


def heavy_tails(scores: Floats, labels: Floats) -> str:
    """Return why scores or labels have too heavy tails for the interval of a correlation; empty where neither has."""
    most = most_kurtosis(float(np.count_nonzero(~(np.isnan(scores) | np.isnan(labels)))))
    for name, kurtosis in kurtoses(scores, labels).items():
        if kurtosis > most:
            return (
                f"a few {name} lie far from the others (a kurtosis of {kurtosis:.3g}, and intervals of correlations "
                f"hold up to {most:.2g}); effective_agreement goes by rank and has an interval"
            )
    return ""


def _has_ends(values: Floats) -> bool:
    low, high = values.min(), values.max()
    recur = min(np.count_nonzero(values == low), np.count_nonzero(values == high)) > 1
    return bool((low >= 0 and high <= 1) or recur)


def without_correlations(metrics: Mapping[str, estimand.Estimate], heavy: str) -> dict[str, estimand.Estimate]:
    """Return metrics, correlations without an interval where tails are too `heavy`; unchanged where that is empty."""
    out = dict(metrics)
    for name in {"global_r", "within_r"} & out.keys():
        both, alone = without_interval(out[name], heavy), out[name].labelled_only
        out[name] = replace(both, labelled_only=alone and without_interval(alone, heavy))
    return out
