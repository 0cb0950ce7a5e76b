"""What a judge returns for one candidate: a score, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

__all__ = ["Score", "Unscored", "Verdict"]


@dataclass(frozen=True, slots=True)
class Score:
    """A judge's score of one candidate.

    Parameters
    ----------
    value : float
        Finite; higher is better. The built-in judges score in [0, 1].

    Examples
    --------
    >>> Score(0.7).value
    0.7
    """

    value: float

    def __post_init__(self) -> None:
        value: object = self.value
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"a score must be a finite number, not {self.value!r}; use Unscored(reason) instead")
        # Numbers of other libraries become plain ones, which JSON knows.
        object.__setattr__(self, "value", float(self.value))


@dataclass(frozen=True, slots=True)
class Unscored:
    """No score, and why: never 0, never the middle of the scale.

    Parameters
    ----------
    reason : str
        One line, in plain words.
    raw : str
        What the judge said, as it was received.

    Examples
    --------
    >>> Unscored("empty answer").reason
    'empty answer'
    """

    reason: str
    raw: str = ""


Verdict = Score | Unscored
