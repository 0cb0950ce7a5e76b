"""Two sets of picks that are alike on every prompt: their difference is 0, and no bound on unseen prompts is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bonwise.stats.catalog import OF_PICKS
from bonwise.stats.estimate import Estimate
from bonwise.stats.sums import Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["OF_THE_TOP", "SAME_PICKS", "differing_by_nothing", "pick_alike"]

SAME_PICKS = "both make the same picks"

OF_THE_TOP = ("top1_tie_rate", *(e.name for e in OF_PICKS if e.on_scores))
"""What follows from the candidates at the top alone."""


def pick_alike(first: Floats, second: Floats, sizes: npt.NDArray[np.int64]) -> bool:
    """Tell whether the same candidates share the highest score in every prompt.

    Equal worth is not enough: another prompt could tell apart two picks that are worth the same here.

    Parameters
    ----------
    first, second : ndarray of float64, shape (cells,)
        Scores of the same candidates, grouped by prompt.
    sizes : ndarray of int64, shape (prompts,)

    Examples
    --------
    >>> pick_alike(np.array([0.9, 0.1, 0.5]), np.array([4.0, 3.0, 2.0]), np.array([3]))
    True
    >>> pick_alike(np.array([0.9, 0.1, 0.5]), np.array([4.0, 4.0, 2.0]), np.array([3]))
    False
    """
    return bool(np.array_equal(at_top(first, sizes), at_top(second, sizes)))


def differing_by_nothing(found: Mapping[str, Estimate], names: Sequence[str] = OF_THE_TOP) -> dict[str, Estimate]:
    """Return differences of picks that are alike: 0 for what has a figure and depends on the picks, with the reason.

    Parameters
    ----------
    found : mapping of str to Estimate
        Differences by metric.
    names : sequence of str
        Metrics that depend on the picks alone.

    Examples
    --------
    >>> wide = Estimate(0.0, -1.8, 1.8, 0.0, 6, "exact")
    >>> differing_by_nothing({"recovery": wide})["recovery"].reason
    'both make the same picks'
    """
    return {
        name: Estimate(0.0, None, None, None, one.n, None, one.method, SAME_PICKS)
        if name in names and one.estimate is not None
        else one
        for name, one in found.items()
    }
