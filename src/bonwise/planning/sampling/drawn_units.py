"""What is drawn as a whole: a prompt, or all prompts of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.sums import Floats

__all__ = ["DrawnUnits"]

_Ints = npt.NDArray[np.int64]
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class DrawnUnits:
    """The units of a draw, numbered from 0.

    Examples
    --------
    >>> units = DrawnUnits.clusters(np.array([7, 3, 7]), ["", "", "", "b", "", "", "", "a"])
    >>> units.of_prompts.tolist(), units.names, units.mean(np.array([1.0, 2.0, 3.0])).tolist()
    ([1, 0, 1], ('b', 'a'), [2.0, 2.0])
    """

    of_prompts: _Ints = field(repr=False)
    """The unit of each prompt."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """Of clusters; empty where each prompt is a unit of its own."""

    @classmethod
    def prompts(cls, count: int) -> DrawnUnits:
        """Return prompts drawn one by one."""
        return cls(np.arange(count, dtype=np.int64))

    @classmethod
    def clusters(cls, of_prompts: _Ints, names: Sequence[str]) -> DrawnUnits:
        """Return clusters that are drawn as a whole.

        Parameters
        ----------
        of_prompts : ndarray of int64, shape (prompts,)
            Any codes.
        names : sequence of str
            By code.
        """
        codes, _ = cluster_codes(of_prompts)
        return cls(codes, tuple(str(names[code]) for code in np.unique(of_prompts).tolist()))

    @property
    def clustered(self) -> bool:
        """Whether units are clusters."""
        return bool(self.names)

    @cached_property
    def sizes(self) -> _Ints:
        """Prompts of each unit."""
        return np.bincount(self.of_prompts).astype(np.int64)

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.sizes)

    def mean(self, values: Floats) -> Floats:
        """Return the mean over the prompts of each unit."""
        found: Floats = np.bincount(self.of_prompts, weights=values, minlength=self.count) / self.sizes
        return found

    def first(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Return what the first prompt of each unit has."""
        found: npt.NDArray[_Number] = values[np.unique(self.of_prompts, return_index=True)[1]]
        return found

    def of(self, prompts: int) -> int:
        """Return how many units of average size make that many prompts, at most."""
        return prompts * self.count // len(self.of_prompts)
