"""What a study of votes is asked to do, checked before a file is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from bonwise.data.checks import CONFIDENCE, SEED, Limit, check, number, whole
from bonwise.data.votes import Ties, tie_value

__all__ = ["VoteStudySettings"]


def _counts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_COUNT.fits, value))


_COUNT = whole(1, "a count of votes")
_COUNTS = Limit("a sequence of counts of votes, such as (50, 100)", _counts)

_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "near_tie": number(lambda value: 0 < value < 0.5, "a number between 0 and 0.5, such as 0.1"),
        "power": number(lambda value: 0.5 < value < 1, "a number between 0.5 and 1, such as 0.9"),
        "confidence": number(lambda value: 0.5 <= value < 1, "a number in [0.5, 1), such as 0.95"),
        "fewest_votes": whole(2, "a whole number, 2 or more, such as 10"),
        "kept_share": number(lambda value: 0 < value < 1, "a number between 0 and 1, such as 0.2"),
        "threshold": number(lambda value: value > 1, "a number above 1, such as 1.5"),
        "votes_at": _COUNTS,
        "z_at": _COUNTS,
        "resamples": whole(2, "a whole number, 2 or more, such as 2000"),
        "permutations": whole(19, "a whole number, 19 or more, such as 999"),
        "repetitions": whole(2, "a whole number, 2 or more, such as 1500"),
        "seed": whole(0, "a whole number, 0 or more"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class VoteStudySettings:
    """What a study of votes was asked to do; its result repeats it.

    Raises
    ------
    bonwise.errors.UsageError
        A setting of another type, or out of its range.
    """

    ties: Ties | None = None
    near_tie: float = 0.10
    """tau: the largest margin of a near tie, in (0, 1/2)."""
    power: float = 0.90
    """Probability to see a preference that is there, in (.5, 1)."""
    confidence: float = CONFIDENCE
    """Of the two-sided intervals, in [.5, 1)."""
    fewest_votes: int = 10
    """Pairs with fewer are left out and counted."""
    kept_share: float = 0.2
    """q: the part of prompts that screening keeps, in (0, 1)."""
    threshold: float = 1.5
    """What kappa has to exceed besides chance."""
    votes_at: Sequence[int] = (25, 50, 100, 200, 500, 1000)
    """Sizes of subsamples for the rates of detection."""
    z_at: Sequence[int] = (50, 100)
    """Sizes of subsamples for z."""
    resamples: int = 2000
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    permutations: int = 999
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    repetitions: int = 1500
    """Of the bootstrap over pairs, of the null of kappa, and of simulated screening."""
    seed: int = SEED
    """Of all three."""

    def __post_init__(self) -> None:
        if self.ties is not None:
            tie_value(self.ties)
        for name, limit in _LIMITS.items():
            check(name, getattr(self, name), limit, said="cannot be")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, sequences as lists."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found = {key: one.item() if isinstance(one, np.generic) else one for key, one in given.items()}
        return found | {name: [int(one) for one in found[name]] for name in ("votes_at", "z_at")}
