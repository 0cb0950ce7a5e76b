"""What lies between prompts against what lies within them: prompt means, and deviations from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bonwise.documents.exhibits import Points, Spread
from bonwise.stats.sums import Floats

__all__ = ["spread"]

_MOST = 2000
_DECIMALS = 6


def spread(scores: Floats, labels: Floats, sizes: npt.NDArray[np.int64], *, seed: int) -> Spread | None:
    """Return points of two scatters, at most 2,000 each, drawn at random where there are more.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
    seed : int

    Returns
    -------
    Spread or None
        None without a prompt.

    Examples
    --------
    >>> spread(np.array([.2, .6]), np.array([0., 1.]), np.array([2]), seed=0).within.judge
    [-0.2, 0.2]
    """
    if not len(sizes):
        return None
    chance = np.random.default_rng(seed)
    starts = np.cumsum(sizes) - sizes
    means = [np.add.reduceat(values, starts) / sizes for values in (scores, labels)]
    around = [values - np.repeat(mean, sizes) for values, mean in zip((scores, labels), means, strict=True)]
    prompts, cells = _shown(len(sizes), chance), _shown(len(scores), chance)
    return Spread(
        between=_points(means, prompts),
        within=_points(around, cells),
        prompts_shown=len(prompts),
        prompts=len(sizes),
        cells_shown=len(cells),
        cells=len(scores),
    )


def _shown(of: int, chance: np.random.Generator) -> npt.NDArray[np.int64]:
    return np.arange(of) if of <= _MOST else np.sort(chance.choice(of, _MOST, replace=False))


def _points(pair: Sequence[Floats], shown: npt.NDArray[np.int64]) -> Points:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    judge, oracle = ((np.round(values[shown], _DECIMALS) + 0.0).tolist() for values in pair)
    return Points(judge=judge, oracle=oracle)
