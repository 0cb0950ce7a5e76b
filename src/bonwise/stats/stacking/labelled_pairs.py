"""Pairs of labelled candidates of one prompt: by how much their features differ, and which one is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["MOST_PAIRS", "LabelledPairs", "labelled_pairs"]

MOST_PAIRS = 120
"""Pairs of one prompt that are used, which a pool of 16 has; of a larger one a random sample of so many."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs of candidates of one prompt."""

    differences: Floats
    """Features of the first candidate less those of the second."""
    better: Floats
    """1 where the first has the higher label, 0 where the second has, 1/2 where labels are equal."""
    weights: Floats
    """The pairs of a prompt with n labelled candidates weigh n - 1 together, 2 / n each, times its design weight."""
    prompts: _Ints
    """Position of the prompt of each pair, in ascending order."""

    def only(self, features: npt.NDArray[np.intp] | list[int]) -> LabelledPairs:
        """Return the pairs with some of the features."""
        return LabelledPairs(self.differences[:, features], self.better, self.weights, self.prompts)


def labelled_pairs(
    features: Floats, labels: Floats, sizes: _Ints, *, weights: Floats | None = None, seed: int = 0
) -> LabelledPairs:
    """Return the pairs of candidates of each prompt.

    Parameters
    ----------
    features : ndarray of float64, shape (cells, features)
        Of labelled candidates, grouped by prompt.
    labels : ndarray of float64, shape (cells,)
    sizes : ndarray of int64, shape (prompts,)
        Labelled candidates of each prompt, 2 or more.
    weights : ndarray of float64, shape (cells,), optional
        1 / chance of each label; a pair weighs their product, and prompts weigh 1 on average.
    seed : int
        Of the sample of pairs of pools with more than 16 candidates.

    Examples
    --------
    >>> found = labelled_pairs(np.array([[.9], [.4]]), np.array([0., 1.]), np.array([2]))
    >>> found.differences.tolist(), found.better.tolist(), found.weights.tolist()
    ([[0.5]], [0.0], [1.0])
    """
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(seed)
    firsts, seconds, shares, owners = [], [], [], []
    for size in np.unique(sizes).tolist():
        prompts = np.flatnonzero(sizes == size)
        one, other = np.triu_indices(size, 1)
        at = starts[prompts][:, None]
        if len(one) <= MOST_PAIRS:
            firsts.append((at + one).ravel())
            seconds.append((at + other).ravel())
        else:
            drawn = np.array([rng.choice(len(one), MOST_PAIRS, replace=False) for _ in prompts])
            firsts.append((at + one[drawn]).ravel())
            seconds.append((at + other[drawn]).ravel())
        each = min(len(one), MOST_PAIRS)
        shares.append(np.full(each * len(prompts), (size - 1) / each))
        owners.append(np.repeat(prompts, each))
    order = np.argsort(np.concatenate(owners), kind="stable")
    first, second = np.concatenate(firsts)[order], np.concatenate(seconds)[order]
    share = np.concatenate(shares)[order]
    if weights is not None:
        share = share * weights[first] * weights[second]
        share *= (sizes - 1).sum() / share.sum()
    rounded = np.round(labels, TIE_DECIMALS)
    better = (1 + np.sign(rounded[first] - rounded[second])) / 2
    return LabelledPairs(features[first] - features[second], better, share, np.concatenate(owners)[order])
