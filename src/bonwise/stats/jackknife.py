"""Leave-one-prompt-out standard errors of any function of totals, in one pass over the prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bonwise.stats.sums import Floats, Sums

__all__ = ["Jackknife", "jackknife", "paired_jackknives"]

Functional = Callable[..., Floats]
"""Takes one `Sums` of totals a judge; returns an array of shape (metrics, ...)."""

_CHUNK = 1 << 15


class Jackknife(NamedTuple):
    """Estimates and standard errors, each of shape (metrics,).

    ``se`` is NaN where some prompt cannot be left out without the metric losing its meaning.
    """

    estimate: Floats
    se: Floats


def jackknife(functional: Functional, matrices: Sequence[Floats]) -> Jackknife:
    """Estimate metrics and their leave-one-prompt-out standard errors.

    ``se^2 = (n - 1) / n * sum_x (theta_(-x) - mean theta_(-x))^2``

    Parameters
    ----------
    functional : callable
        Totals, one `Sums` a matrix, to metrics.
    matrices : sequence of ndarray, shape (len(Sums._fields), prompts)
        Per-prompt sums of one or more judges on the same prompts.
    """
    totals = [matrix.sum(axis=1) for matrix in matrices]
    estimate = functional(*(Sums(*total) for total in totals))
    n = matrices[0].shape[1]
    if n < 2:
        return Jackknife(estimate, np.full_like(estimate, np.nan))
    mean, spread = np.zeros_like(estimate), np.zeros_like(estimate)
    for start in range(0, n, _CHUNK):
        some = slice(start, start + _CHUNK)
        left = [total[:, None] - matrix[:, some] for total, matrix in zip(totals, matrices, strict=True)]
        values = functional(*(Sums(*rest) for rest in left))
        mean, spread = _merge(mean, spread, start, values)
    return Jackknife(estimate, np.sqrt((n - 1) / n * spread))


def paired_jackknives(
    functional: Callable[[Sums], Floats], matrices: Sequence[Floats], pairs: Sequence[tuple[int, int]]
) -> list[Jackknife]:
    """Estimate differences of metrics between judges on the same prompts, as `jackknife` does for one pair.

    What leaving out a prompt does to the metrics of a judge is computed once, in however many pairs it is.

    Parameters
    ----------
    functional : callable
        Totals of one judge to its metrics.
    matrices : sequence of ndarray, shape (len(Sums._fields), prompts)
        Per-prompt sums of the judges.
    pairs : sequence of tuple of int
        Positions of two judges; the difference is the first less the second.
    """
    totals = [matrix.sum(axis=1) for matrix in matrices]
    alone = [functional(Sums(*total)) for total in totals]
    estimates = [alone[i] - alone[j] for i, j in pairs]
    n = matrices[0].shape[1]
    if n < 2:
        return [Jackknife(one, np.full_like(one, np.nan)) for one in estimates]
    merged = [(np.zeros_like(one), np.zeros_like(one)) for one in estimates]
    for start in range(0, n, _CHUNK):
        some = slice(start, start + _CHUNK)
        rests = (total[:, None] - matrix[:, some] for total, matrix in zip(totals, matrices, strict=True))
        left = [functional(Sums(*rest)) for rest in rests]
        merged = [_merge(*seen, start, left[i] - left[j]) for seen, (i, j) in zip(merged, pairs, strict=True)]
    return [Jackknife(one, np.sqrt((n - 1) / n * spread)) for one, (_, spread) in zip(estimates, merged, strict=True)]


def _merge(mean: Floats, spread: Floats, seen: int, values: Floats) -> tuple[Floats, Floats]:
    """Add a chunk to a running mean and sum of squared deviations (Chan, Golub and LeVeque)."""
    count = values.shape[1]
    centre = values.mean(axis=1)
    around = values - centre[:, None]
    shift = centre - mean
    share = count / (seen + count)
    spread = spread + np.einsum("mx,mx->m", around, around) + shift**2 * seen * share
    return mean + shift * share, spread
