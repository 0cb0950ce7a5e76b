"""Cutoffs of several raters: where they stand, and the free numbers that make them ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from bonwise.stats.sums import Floats

__all__ = ["LEAST_GAP", "CutoffLayout", "mirrored"]

_Ints = npt.NDArray[np.int64]

LEAST_GAP = 1e-4
"""Between two cutoffs: a category whose cutoffs coincide has no probability."""


def mirrored(size: int) -> Floats:
    """Return the map from free numbers to cutoffs that mirror each other about 0.

    Parameters
    ----------
    size : int
        Categories; at least 2.

    Returns
    -------
    ndarray of float64, shape (size - 1, (size - 1) // 2)
        Times positive increments it gives cutoffs with ``a_j = -a_{size-j}``.

    Examples
    --------
    >>> (mirrored(5) @ [0.5, 1.0]).tolist()
    [-1.5, -0.5, 0.5, 1.5]
    >>> (mirrored(4) @ [0.5]).tolist()
    [-0.5, 0.0, 0.5]
    """
    half = (size - 1) // 2
    up = np.tril(np.ones((half, half)))
    middle = np.zeros(((size - 1) % 2, half))
    return np.concatenate([-up[::-1], middle, up])


@dataclass(frozen=True, eq=False)
class CutoffLayout:
    """The cutoffs of all raters in one vector.

    Rater r has categories 0 to C_r - 1 and C_r - 1 cutoffs; ``P(Y <= c) = sigma(a_{c+1} - eta)``. The cutoffs of a
    symmetric rater mirror each other about 0, so that swapping the two sides mirrors the categories.

    Examples
    --------
    >>> layout = CutoffLayout((3, 3), (False, True))
    >>> layout.cutoffs(np.zeros(3)).round(3).tolist()
    [0.0, 0.693, -0.693, 0.693]
    """

    sizes: tuple[int, ...]
    """Categories of each rater, at least 2."""
    symmetric: tuple[bool, ...]
    """Raters that compare two sides."""
    first_category: _Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_category", np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64))

    @cached_property
    def spans(self) -> tuple[tuple[slice, slice], ...]:
        """Of each rater the places of its cutoffs, and of its free numbers."""
        found, at, free = [], 0, 0
        for size, symmetric in zip(self.sizes, self.symmetric, strict=True):
            count = (size - 1) // 2 if symmetric else size - 1
            found.append((slice(at, at + size - 1), slice(free, free + count)))
            at, free = at + size - 1, free + count
        return tuple(found)

    @cached_property
    def free(self) -> int:
        """How many free numbers there are."""
        return self.spans[-1][1].stop if self.spans else 0

    @cached_property
    def increments(self) -> npt.NDArray[np.bool_]:
        """Which free numbers are increments, which a softplus keeps positive; the others are first cutoffs."""
        found = np.ones(self.free, dtype=bool)
        for (_, free), symmetric in zip(self.spans, self.symmetric, strict=True):
            found[free.start : free.start + 1] = symmetric
        return found

    @cached_property
    def maps(self) -> tuple[Floats, ...]:
        """Of each rater the map from its increments to its cutoffs."""
        return tuple(
            mirrored(size) if symmetric else np.tril(np.ones((size - 1, size - 1)))
            for size, symmetric in zip(self.sizes, self.symmetric, strict=True)
        )

    @cached_property
    def to_cutoffs(self) -> sparse.csr_array:
        """The map from the increments of all raters to their cutoffs."""
        return sparse.csr_array(sparse.block_diag(self.maps, format="csr"))

    @cached_property
    def end_places(self) -> tuple[_Ints, _Ints]:
        """Of each category the place of its upper and its lower cutoff among the cutoffs, +inf and -inf."""
        total = sum(self.sizes) - len(self.sizes)
        upper, lower = [], []
        for (cutoffs, _), size in zip(self.spans, self.sizes, strict=True):
            places = np.arange(cutoffs.start, cutoffs.stop)
            upper.append(np.append(places, total))
            lower.append(np.insert(places, 0, total + 1))
            del size
        return np.concatenate(upper), np.concatenate(lower)

    def _increments_of(self, raw: Floats) -> Floats:
        return np.where(self.increments, np.logaddexp(0, raw) + LEAST_GAP, raw)

    def cutoffs(self, raw: Floats) -> Floats:
        """Return the cutoffs that free numbers make."""
        return np.asarray(self.to_cutoffs @ self._increments_of(raw))

    def raw(self, cutoffs: Floats) -> Floats:
        """Return the free numbers of cutoffs; the inverse of `cutoffs`."""
        found = np.zeros(self.free)
        for (places, free), to_cutoffs in zip(self.spans, self.maps, strict=True):
            if free.stop > free.start:
                found[free] = np.linalg.lstsq(to_cutoffs, cutoffs[places], rcond=None)[0]
        gap = np.maximum(found - LEAST_GAP, 1e-8)
        return np.where(self.increments, gap + np.log(-np.expm1(-gap)), found)

    def raw_gradient(self, raw: Floats, gradient: Floats) -> Floats:
        """Return the gradient by the free numbers, given that by the cutoffs."""
        slope = np.where(self.increments, special.expit(raw), 1.0)
        return np.asarray(slope * (self.to_cutoffs.T @ gradient))

    def ends(self, cutoffs: Floats) -> tuple[Floats, Floats]:
        """Return the upper and the lower cutoff of every category, infinite at the ends, shape (sum of sizes,)."""
        padded = np.concatenate([cutoffs, [np.inf, -np.inf]])
        upper, lower = self.end_places
        return padded[upper], padded[lower]

    def gradient_of_ends(self, by_upper: Floats, by_lower: Floats) -> Floats:
        """Return the gradient by the cutoffs, given the sums of those by the ends of every category."""
        upper, lower = self.end_places
        total = sum(self.sizes) - len(self.sizes)
        found = np.bincount(upper, by_upper, total + 2) + np.bincount(lower, by_lower, total + 2)
        return np.asarray(found[:total])

    def even(self, shares: Sequence[Floats]) -> Floats:
        """Return cutoffs at which ratings without any effect have the given shares.

        Parameters
        ----------
        shares : sequence of ndarray
            Of each rater the share of each category; a symmetric rater's are averaged with their mirror.
        """
        parts = []
        for share, symmetric in zip(shares, self.symmetric, strict=True):
            kept = (share + share[::-1]) / 2 if symmetric else share
            below = np.clip(np.cumsum(kept)[:-1], 0.005, 0.995)
            parts.append(_spread(np.log(below / (1 - below)), symmetric=symmetric))
        return np.concatenate(parts) if parts else np.zeros(0)


def _spread(cutoffs: Floats, *, symmetric: bool) -> Floats:
    """Move cutoffs apart that coincide, as those of a category without ratings do."""
    found = np.array(cutoffs, dtype=np.float64)
    for at in range(1, len(found)):
        found[at] = max(found[at], found[at - 1] + 0.02)
    return np.asarray((found - found[::-1]) / 2 if symmetric else found)
