"""How many more labels are to be expected, if things stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["CLOSE", "TOO_EARLY", "Expected", "expected_until"]

_FARTHEST = 1_000_000

CLOSE = "the estimate lies within one standard error of the reference"
TOO_EARLY = "there was no look yet"
_FAR = f"if nothing changes, the rule would not stop within {_FARTHEST:,}"


@dataclass(frozen=True, slots=True)
class Expected:
    """A number of further prompts or votes.

    Parameters
    ----------
    more : int or None
        About how many are to come until the rule stops; None where no number can be named.
    reason : str or None
        Why not.
    """

    more: int | None
    reason: str | None = None


def expected_until(enough: Callable[[Floats], npt.NDArray[np.bool_]], start: int, now: int) -> Expected:
    """Return how many more there are to come until something is enough.

    Parameters
    ----------
    enough : callable
        Takes numbers of labels in all and tells which of them are enough.
    start, now : int
        Labels at the next look, and labels so far.

    Examples
    --------
    >>> expected_until(lambda count: count >= 250, 101, 100).more
    150
    """
    counts = np.unique(np.geomspace(start, max(_FARTHEST, 2 * start), 4000).round())
    found = enough(counts)
    return Expected(int(counts[found.argmax()]) - now) if found.any() else Expected(None, _FAR)
