"""What a judge's scores alone say of each prompt: level, spread, margin and tie at the top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["TopOfScores", "at_top", "top_of_scores"]


class TopOfScores(NamedTuple):
    """Per-prompt features, each of shape (prompts,)."""

    mean: Floats
    spread: Floats  # standard deviation over the candidates, ddof=0
    top: Floats
    margin: Floats  # top score minus the second highest, 0 where tied
    tied: Floats  # candidates with the top score


def at_top(scores: Floats, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which cells hold the highest score of their prompt; scores tie after rounding to `TIE_DECIMALS`.

    Scores are grouped by prompt; none of a prompt that holds NaN is at the top.

    Examples
    --------
    >>> at_top(np.array([.9, .5, .9, .1, .2]), np.array([3, 2])).tolist()
    [True, False, True, False, True]
    """
    scores = np.round(scores, TIE_DECIMALS)
    if not len(scores):
        return np.zeros(0, dtype=bool)
    top = np.maximum.reduceat(scores, np.cumsum(sizes) - sizes)
    found: npt.NDArray[np.bool_] = scores == np.repeat(top, sizes)
    return found


def top_of_scores(scores: Floats, sizes: npt.NDArray[np.int64]) -> TopOfScores:
    """Compute the features from scores grouped by prompt.

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
    highest = at_top(scores, sizes)
    tied = np.add.reduceat(highest.astype(float), starts)
    below = np.maximum.reduceat(np.where(highest, -np.inf, scores), starts)
    margin = np.where(tied > 1, 0.0, top - below)
    return TopOfScores(mean, spread, top, margin, tied)
