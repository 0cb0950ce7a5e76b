"""What a calibration does to the picks: changed, newly tied, ties broken."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["PickChanges", "pick_changes", "rising_groups"]

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PickChanges:
    """Counts of prompts by what became of the candidates at the top.

    ``A`` is the set of candidates with the highest raw score, ``B`` that with the highest calibrated one. By Lemma 6
    of Landesberg (2026), arXiv:2603.12520, a strictly rising map leaves ``B = A``; one that only never falls keeps
    ``A`` inside ``B``, so that no pick changes, but a unique pick may come to share the top.
    """

    prompts: int
    picks_changed: int
    """``A`` and ``B`` share nothing: whatever was picked, another candidate is picked now."""
    picks_newly_tied: int
    """A unique raw pick shares the top now."""
    ties_broken: int
    """Some, but not all, of a tied top are left in ``B``."""
    top_kept: int
    """``B = A``."""

    def to_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


def pick_changes(raw: Floats, calibrated: Floats, sizes: _Ints) -> tuple[PickChanges, PickChanges]:
    """Count the changes on all prompts, and on those where the raw pick is unique.

    Parameters
    ----------
    raw, calibrated : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)

    Returns
    -------
    tuple of PickChanges
        On all prompts, and on the prompts without a tie at the top.

    Examples
    --------
    >>> raw, calibrated = np.array([0.9, 0.4, 0.7, 0.7]), np.array([0.6, 0.6, 0.1, 0.2])
    >>> whole, untied = pick_changes(raw, calibrated, np.array([2, 2]))
    >>> whole.picks_newly_tied, whole.ties_broken, untied.prompts
    (1, 1, 1)
    """
    starts = np.cumsum(sizes) - sizes
    before, after = at_top(raw, sizes), at_top(calibrated, sizes)
    were, are, left = (np.add.reduceat(one.astype(np.int64), starts) for one in (before, after, before & after))
    return _counts(were, are, left, np.ones(len(sizes), dtype=bool)), _counts(were, are, left, were == 1)


def _counts(were: _Ints, are: _Ints, left: _Ints, some: _Mask) -> PickChanges:
    found = (
        some,
        some & (left == 0),
        some & (were == 1) & (left == 1) & (are > 1),
        some & (left > 0) & (left < were),
        some & (left == were) & (are == were),
    )
    return PickChanges(*(int(np.count_nonzero(one)) for one in found))


def rising_groups(raw: Floats, calibrated: Floats, groups: _Ints) -> int:
    """Count the groups of cells within which the calibrated value never falls as the raw one rises.

    Parameters
    ----------
    raw, calibrated : ndarray of float64, shape (cells,)
    groups : ndarray of int64, shape (cells,)
        Cells that share one map.

    Examples
    --------
    >>> rising_groups(np.array([1.0, 2.0, 1.0, 2.0]), np.array([0.1, 0.3, 0.5, 0.4]), np.array([0, 0, 1, 1]))
    1
    """
    return sum(_rises(raw[groups == group], calibrated[groups == group]) for group in np.unique(groups))


def _rises(raw: Floats, calibrated: Floats) -> bool:
    order = np.lexsort((calibrated, raw))
    steps, same = np.diff(calibrated[order]), np.diff(raw[order]) == 0
    return not ((steps < 0).any() or (steps[same] > 0).any())
