"""The cluster bootstrap over prompts, exactly: multinomial counts, percentile intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from bonwise.stats.sums import Floats, Sums

__all__ = ["bootstrap"]

_CHUNK_CELLS = 1 << 20  # counts held at a time: 8 MB of float64


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
    n = matrices[0].shape[1]
    step = max(1, min(resamples, _CHUNK_CELLS // n))
    # One BLAS thread: sums in one order, hence the same bits on any number of cores, and less CPU time.
    with _blas().limit(limits=1, user_api="blas"):
        parts = [
            functional(*(Sums(*(matrix @ counts.T)) for matrix in matrices))
            for counts in _counts(n, resamples, step, seed)
        ]
    return np.concatenate(parts, axis=1)


def _counts(n: int, resamples: int, step: int, seed: int) -> Iterator[Floats]:
    """Yield how often each prompt is drawn, shape (resamples of this chunk, n)."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, step):
        # 32 bits hold a prompt's number and cost less to draw than 64.
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n), dtype=np.uint32)
        counts = np.empty(drawn.shape)
        for resample, prompts in enumerate(drawn):
            counts[resample] = np.bincount(prompts, minlength=n)
        yield counts


@cache
def _blas() -> ThreadpoolController:
    # Looking for the libraries takes longer than a small bootstrap: look once.
    return ThreadpoolController()
