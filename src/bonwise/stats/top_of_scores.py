"""What a judge's scores alone say of each prompt: level, spread, margin and tie at the top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["TopOfScores", "top_of_scores"]


class TopOfScores(NamedTuple):
    """Per-prompt features, each of shape (prompts,)."""

    mean: Floats
    spread: Floats  # standard deviation over the candidates, ddof=0
    top: Floats
    margin: Floats  # top score minus the second highest, 0 where tied
    tied: Floats  # candidates with the top score


def top_of_scores(scores: Floats, sizes: npt.NDArray[np.int64]) -> TopOfScores:
    """Compute the features from scores grouped by prompt.

    Parameters
    ----------
    scores : ndarray of float64, shape (cells,)
    sizes : ndarray of int64, shape (prompts,)

    Examples
    --------
    >>> found = top_of_scores(np.array([.9, .5, .9]), np.array([3]))
    >>> float(found.margin[0]), int(found.tied[0])
    (0.0, 2)
    """
    scores = np.round(scores, TIE_DECIMALS)
    starts = np.cumsum(sizes) - sizes
    mean = np.add.reduceat(scores, starts) / sizes
    deviations = scores - np.repeat(mean, sizes)
    spread = np.sqrt(np.add.reduceat(deviations**2, starts) / sizes)
    top = np.maximum.reduceat(scores, starts)
    at_top = scores == np.repeat(top, sizes)
    tied = np.add.reduceat(at_top.astype(float), starts)
    below = np.maximum.reduceat(np.where(at_top, -np.inf, scores), starts)
    margin = np.where(tied > 1, 0.0, top - below)
    return TopOfScores(mean, spread, top, margin, tied)
