"""How often the shortlist of a judge, its highest scores, holds a best candidate of the prompt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.laws import EffectiveShare
from bonwise.stats.sums import Floats

__all__ = ["shortlist_recall"]


def shortlist_recall(
    scores: Floats, labels: Floats, sizes: npt.NDArray[np.int64], *, keep: int, confidence: float
) -> Estimate:
    """Estimate the share of prompts with a best candidate among the `keep` highest scores.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    keep : int
        Places on the shortlist; candidates that tie for the last place are all on it.
    confidence : float
    """
    ends = np.cumsum(sizes)[:-1]
    held = [
        float(labels_[(scores_[:, None] < scores_).sum(1) < keep].max() == labels_.max())
        for scores_, labels_ in zip(np.split(scores, ends), np.split(labels, ends), strict=True)
    ]
    n, value = len(held), float(np.mean(held))
    se = float(np.std(held, ddof=1) / n**0.5) if n > 1 else np.nan
    law = EffectiveShare(value, se, n - 1.0, (0.0, 1.0)) if 0 < value < 1 else None
    return from_jackknife(value, Scatter(se, n - 1.0), n, (0.0, 1.0), confidence, exact=None, law=law)
