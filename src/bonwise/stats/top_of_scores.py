"""What a judge's scores alone say of each prompt: level, spread, margin and tie at the top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.sums import by_rank, compared


class TopOfScores(NamedTuple):
    """Per-prompt features, each of shape (prompts,), of the candidates that have a score."""

    mean: Floats  # of a prompt without any score: that of the average prompt; so the top
    spread: Floats  # standard deviation over the candidates, ddof=0
    top: Floats
    margin: Floats  # top score minus the second highest, 0 where tied, and where nothing else is scored
    tied: Floats  # candidates that may be picked


def at_top(scores: Floats, sizes: Ints) -> Mask:
    """Return which cells hold the highest score of their prompt, ties as `compared` has them; NaN is below."""
    if not len(scores):
        return np.zeros(0, dtype=bool)
    ranked = by_rank(compared(scores))
    top = np.maximum.reduceat(ranked, np.cumsum(sizes) - sizes)
    highest: Mask = ranked == np.repeat(top, sizes)
    return highest


def top_of_scores(scores: Floats, sizes: Ints, ranked: Floats | None = None) -> TopOfScores:
    """Compute the features, (cells,), of scores grouped by prompt, NaN for none; `ranked` makes the pick."""
    scores = compared(scores)
    starts = np.cumsum(sizes) - sizes
    highest = at_top(scores if ranked is None else ranked, sizes)
    tied = np.add.reduceat(highest.astype(float), starts)
    lost = np.isnan(scores)
    if lost.any():
        return _of_scored(scores, sizes, starts, highest, tied)
    mean = np.add.reduceat(scores, starts) / sizes
    deviations = scores - np.repeat(mean, sizes)
    spread = np.sqrt(np.add.reduceat(deviations**2, starts) / sizes)
    top = np.maximum.reduceat(scores, starts)
    below = np.maximum.reduceat(np.where(highest, -np.inf, scores), starts)
    margin = np.where(tied > 1, 0.0, top - below)
    return TopOfScores(mean, spread, top, margin, tied)


def _of_scored(scores: Floats, sizes: Ints, starts: Ints, highest: Mask, tied: Floats) -> TopOfScores:
    """Compute the features where some candidates have no score."""
    ranked, seen = by_rank(scores), ~np.isnan(scores)
    counts = np.add.reduceat(seen.astype(float), starts)
    mean = np.add.reduceat(np.where(seen, scores, 0.0), starts) / np.maximum(counts, 1)
    deviations = np.where(seen, scores - np.repeat(mean, sizes), 0.0)
    spread = np.sqrt(np.add.reduceat(deviations**2, starts) / np.maximum(counts, 1))
    top = np.maximum.reduceat(ranked, starts)
    below = np.maximum.reduceat(np.where(highest, -np.inf, ranked), starts)
    margin = np.where((tied > 1) | (counts < 2), 0.0, top - np.where(np.isfinite(below), below, 0.0))
    some = counts > 0
    for values in (mean, top):
        values[~some] = values[some].mean() if some.any() else 0.0
    return TopOfScores(mean, spread, top, margin, tied)
