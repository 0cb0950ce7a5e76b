"""A sample of labelled prompts as the estimators use it: scaled weights, strata, and folds for models."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Floats

__all__ = ["ScaledSample", "fold_of"]

_Ints = npt.NDArray[np.int64]
_Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ScaledSample:
    """Which prompts are labelled, with weights that add up."""

    rows: _Ints = field(repr=False)
    """Positions of the labelled prompts."""
    q: Floats = field(repr=False)
    """R / pi, scaled to add up to N_h in every stratum; 0 where unlabelled."""
    stratum: _Ints = field(repr=False)
    """0, 1, ...; all 0 where prompts were drawn independently of each other."""
    drawn: _Ints
    """n_h, and n_h / N_h."""
    share: Floats
    """n_h, and n_h / N_h."""

    @classmethod
    def of(cls, sample: LabelSample) -> ScaledSample:
        """Prepare a sample.

        Independent draws form one stratum: scaled to their own sum, weights give a mean that does not suffer from
        how many prompts the draw happened to take.
        """
        stratum, drawn = sample.grouped()
        size = np.bincount(stratum)
        q = sample.weights
        q *= (size / np.bincount(stratum, weights=q))[stratum]
        return cls(np.flatnonzero(sample.labelled), q, stratum, drawn, drawn / size)

    @property
    def weight(self) -> Floats:
        """The weights q of the labelled prompts, shape (labelled prompts,)."""
        found: Floats = self.q[self.rows]
        return found

    @property
    def complete(self) -> bool:
        """Whether every prompt is labelled."""
        return len(self.rows) == len(self.q)

    def mean(self, values: Floats) -> Floats:
        """Return weighted means over the labelled prompts of values, shape (labelled prompts, ...)."""
        weight = self.weight
        found: Floats = weight @ values / weight.sum()
        return found


def fold_of(columns: Floats, rows: _Ints, folds: int, seed: int) -> _Ints:
    """Assign prompts to folds, labelled and unlabelled ones evenly, in a way that ignores their order.

    The fold follows a hash of the prompt's own numbers, so that a table sorted otherwise gives the same estimate.

    Parameters
    ----------
    columns : ndarray of float64, shape (k, prompts)
        All numbers that distinguish a prompt; two with the same numbers are exchangeable.
    rows : ndarray of int64
        Positions of the labelled prompts.
    folds, seed : int

    Examples
    --------
    >>> fold_of(np.array([[.3, .1, .2, .4]]), np.arange(4), 2, 0)[[1, 2, 0, 3]].tolist()
    [0, 1, 0, 1]
    >>> fold_of(np.array([[.1, .2, .3, .4]]), np.arange(4), 2, 0).tolist()
    [0, 1, 0, 1]
    """
    # Rounding drops what the order of a sum leaves in the last bits; adding 0.0 turns -0.0 into 0.0.
    bits = (np.round(columns, 9) + 0.0).view(np.uint64)
    # An odd factor of its own for each column, or two columns that are equal would cancel.
    factors = _mix(np.arange(len(columns), dtype=np.uint64)) | np.uint64(1)
    hashed = _mix(np.bitwise_xor.reduce(bits * factors[:, None], axis=0) ^ np.uint64(seed))
    labelled = np.zeros(len(hashed), dtype=bool)
    labelled[rows] = True
    found = np.empty(len(hashed), dtype=np.int64)
    for some in (rows, np.flatnonzero(~labelled)):
        found[some[np.argsort(hashed[some], kind="stable")]] = np.arange(len(some)) % folds
    return found


def _mix(values: _Bits) -> _Bits:
    """Scramble bits so that near numbers land far apart (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Bits = values ^ (values >> np.uint64(31))
    return mixed
