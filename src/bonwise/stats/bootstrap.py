"""The cluster bootstrap over prompts, exactly: multinomial counts, percentile intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bonwise.stats.sums import Floats, Sums

__all__ = ["bootstrap"]

_CHUNK_CELLS = 1 << 23  # counts held at a time: 64 MB of float64


def bootstrap(functional: Callable[..., Floats], matrices: Sequence[Floats], *, resamples: int, seed: int) -> Floats:
    """Draw replicates of metrics by resampling whole prompts with replacement.

    The counts of n prompts drawn from n are multinomial(n; 1/n, ..., 1/n); totals of a resample are
    the counts times the per-prompt sums, so no row is ever copied (the paper's appendix F).

    Parameters
    ----------
    functional : callable
        Totals, one `Sums` a matrix, to metrics of shape (metrics, ...).
    matrices : sequence of ndarray, shape (len(Sums._fields), prompts)
        Per-prompt sums of one or more judges on the same prompts.
    resamples : int
    seed : int
        The same seed, prompts and number of resamples give the same replicates, bit for bit.

    Returns
    -------
    ndarray of float64, shape (metrics, resamples)
    """
    rng = np.random.default_rng(seed)
    n = matrices[0].shape[1]
    step = max(1, min(resamples, _CHUNK_CELLS // n))
    parts = []
    for start in range(0, resamples, step):
        counts = np.empty((n, min(step, resamples - start)))
        for column in range(counts.shape[1]):
            counts[:, column] = np.bincount(rng.integers(0, n, size=n), minlength=n)
        parts.append(functional(*(Sums(*(matrix @ counts)) for matrix in matrices)))
    return np.concatenate(parts, axis=1)
