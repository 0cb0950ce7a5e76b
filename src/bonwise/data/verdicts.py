"""What a judge returns: scores, preferences, and the reason where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real

__all__ = ["Preference", "Score", "Unscored", "Verdict"]


@dataclass(frozen=True, slots=True)
class Score:
    """A judge's score of one candidate.

    Parameters
    ----------
    value : float
        Finite; higher is better. The built-in judges score in [0, 1].
    low, high : float, optional
        Ends of an interval around the value: elicited from the judge, or from repeated draws.
    draws : tuple of float or None
        The single draws behind a mean, in the order of their sample index; None where one is unscored.

    Examples
    --------
    >>> Score(0.7).value
    0.7
    >>> Score(0.7, low=0.6, high=0.9).width is None, Score(0.7).width is None
    (False, True)
    """

    value: float
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    draws: tuple[float | None, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        value: object = self.value
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"a score must be a finite number, not {self.value!r}; use Unscored(reason) instead")
        # Numbers of other libraries become plain ones, which JSON knows.
        object.__setattr__(self, "value", float(self.value))

    @property
    def width(self) -> float | None:
        """Width of the interval, None without one."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class Unscored:
    """No score, and why: never 0, never the middle of the scale.

    Parameters
    ----------
    reason : str
        One line, in plain words.
    raw : str
        What the judge said, as it was received.
    owed : bool
        Whether the judge was never heard: a later run asks again. An answer that was received and could
        not be used is not owed.

    Examples
    --------
    >>> Unscored("empty answer").reason
    'empty answer'
    """

    reason: str
    raw: str = ""
    owed: bool = field(default=False, repr=False)


Verdict = Score | Unscored


@dataclass(frozen=True, slots=True)
class Preference:
    """How one candidate fared against another, in each order in which they were shown.

    Parameters
    ----------
    a, b : int
        Positions of the two candidates, ``a < b``.
    shown_first : float, Unscored or None
        What `a` earned when it was shown first: 1 won, 0 lost, 0.5 tied, or the stated probability that it
        is better. None where this order was not asked.
    shown_second : float, Unscored or None
        What `a` earned when it was shown second.
    confidence : tuple of int or None
        Stated confidence (1 to 5) of the two orders, None where there is none.

    Examples
    --------
    >>> pair = Preference(0, 1, shown_first=1.0, shown_second=0.0)
    >>> pair.value, pair.order_effect
    (0.5, 1.0)
    """

    a: int
    b: int
    shown_first: float | Unscored | None
    shown_second: float | Unscored | None
    confidence: tuple[int | None, int | None] = (None, None)

    @property
    def value(self) -> float | None:
        """What `a` earned on average over the orders that were scored; None where none was."""
        scored = [one for one in (self.shown_first, self.shown_second) if isinstance(one, float)]
        return math.fsum(scored) / len(scored) if scored else None

    @property
    def order_effect(self) -> float | None:
        """How much more `a` earned when shown first; None unless both orders were scored."""
        if isinstance(self.shown_first, float) and isinstance(self.shown_second, float):
            return self.shown_first - self.shown_second
        return None
