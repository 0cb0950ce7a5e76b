"""What scores alone say of each prompt, as covariates of what its labels will say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.stats.top_of_scores import top_of_scores

__all__ = ["own_features", "stand_ins"]

_Ints = npt.NDArray[np.int64]


def stand_ins(scores: Floats, sizes: _Ints, second: Floats | None) -> dict[str, Floats]:
    """Return p1, p2 and sd T: pick, best and spread if the further judges' mean score T were the label.

    Parameters
    ----------
    scores : ndarray of float64, shape (cells,)
        Of the audited judge, who stands in for itself where there is no further judge.
    sizes : ndarray of int64, shape (prompts,)
    second : ndarray of float64, shape (cells,), or None
        T; NaN for a prompt that no further judge scored, which counts as a mean one.

    Examples
    --------
    >>> found = stand_ins(np.array([0.9, 0.1]), np.array([2]), np.array([0.6, 0.8]))
    >>> {name: round(float(value[0]), 3) for name, value in found.items()}
    {'pick': -0.1, 'best': 0.1, 'spread': 0.1, 'level': 0.7}
    """
    T = scores if second is None else second
    known = ~np.isnan(np.add.reduceat(T, np.cumsum(sizes) - sizes))
    cells = np.repeat(known, sizes)
    t = Sums(*prompt_sums(scores[cells], T[cells], sizes[known]))
    found = {"pick": t.J - t.R, "best": t.M - t.R, "spread": np.sqrt(t.eOO / t.cells), "level": t.R}
    return {name: _filled(values, known) for name, values in found.items()}


def own_features(scores: Floats, sizes: _Ints) -> dict[str, Floats]:
    """Return the eight features of the audited judge: top, mean, spread, ties, their products and the range."""
    tops = top_of_scores(scores, sizes)
    lowest = np.minimum.reduceat(scores, np.cumsum(sizes) - sizes)
    return {
        "top": tops.top,
        "mean": tops.mean,
        "spread": tops.spread,
        "all_tied": (tops.tied == sizes).astype(float),
        "top_tied": (tops.tied > 1).astype(float),
        "mean_squared": tops.mean**2,
        "spread_by_mean": tops.spread * tops.mean,
        "range": tops.top - lowest,
    }


def _filled(values: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    out = np.full(len(known), float(values.mean()) if len(values) else 0.0)
    out[known] = values
    return out
