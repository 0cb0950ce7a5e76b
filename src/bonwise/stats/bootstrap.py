"""The cluster bootstrap over prompts, exactly: multinomial counts, percentile intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bonwise.stats.sums import Floats, Sums

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["bootstrap"]

_CHUNK_CELLS = 1 << 18  # counts held at a time: 2 MB, which fits the cache
_FEWEST = 8  # resamples in a chunk however large n is: a product with fewer columns wastes the processor


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
    totals = [np.empty((len(matrix), resamples)) for matrix in matrices]
    # One BLAS thread: sums in one order, hence the same bits on any number of cores, and less CPU time.
    with _blas().limit(limits=1, user_api="blas"):
        for some, counts in _counts(matrices[0].shape[1], resamples, seed):
            for total, matrix in zip(totals, matrices, strict=True):
                np.matmul(matrix, counts.T, out=total[:, some])
    return functional(*(Sums(*total) for total in totals))


def _counts(n: int, resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield some resamples at a time, and how often each draws each prompt, shape (resamples, n)."""
    rng = np.random.default_rng(seed)
    step = min(resamples, max(_FEWEST, _CHUNK_CELLS // n))
    counts = np.empty((step, n))
    for start in range(0, resamples, step):
        # 32 bits hold a prompt's number and cost less to draw than 64.
        drawn = rng.integers(0, n, size=(min(step, resamples - start), n), dtype=np.uint32)
        for resample, prompts in enumerate(drawn):
            counts[resample] = np.bincount(prompts, minlength=n)
        yield slice(start, start + len(drawn)), counts[: len(drawn)]


@cache
def _blas() -> ThreadpoolController:
    # An extra brings it, and only a bootstrap needs it.
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    # Looking for the libraries takes longer than a small bootstrap: look once.
    return ThreadpoolController()
