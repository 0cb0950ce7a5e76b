"""What a judge returns: scores, preferences, the reason where there is none; and when two numbers are equal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bonwise.errors import UsageError
from bonwise.flags import TIE_DECIMALS, decimals_of_pool, plain_numbers
from bonwise.printable import quoted

_NO_DECIMALS = 1e24  # from here on doubles have no digits left to round


def rounded(score: float, decimals: int = TIE_DECIMALS) -> float:
    """Return a score as it is compared, among others by their `pool_decimals`."""
    # The audit's rounding (numpy's), to the last bit: Python's own differs half way between decimals.
    scale = 10.0**decimals
    return score if abs(score) * scale > _NO_DECIMALS else round(score * scale) / scale


def pool_decimals(scores: Iterable[float | None]) -> int:
    """Return the decimals by which the scores of one pool are compared, see `bonwise.flags.decimals_of_pool`."""
    known = [score for score in scores if score is not None]
    if not known:
        return TIE_DECIMALS
    return decimals_of_pool(min(known), max(known))


def compared(scores: Sequence[float | None]) -> list[float | None]:
    """Return the scores of one pool as they are compared."""
    decimals = pool_decimals(scores)
    return [None if score is None else rounded(score, decimals) for score in scores]


def preferred(earned: float) -> int:
    """Return whom a verdict prefers: 1 the first candidate (it `earned` above 1/2), -1 the second, 0 neither."""
    lead = rounded(earned - 0.5)
    return (lead > 0) - (lead < 0)


LONGEST_RAW = 10_000
"""Characters of a reply that an `Unscored` keeps."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Score:
    """A judge's score of one candidate.

    Parameters
    ----------
    value : float
        Finite; higher is better. The built-in judges score in [0, 1].
    low, high : float, optional
        Ends of an interval that holds the value: elicited from the judge, of draws, or of unsent probabilities.
    draws : tuple of float or None
        The single draws behind a mean, in the order of their sample index; None where one is unscored.
    raw : str
        What the judge said, as it was received; see `kept`. Empty where it said nothing of this candidate alone.
    p_best : float, optional
        Probability that the candidate is the best of its pool, where the judge states it.
    expected_regret : float, optional
        By how much the label of the best candidate is expected to exceed that of this one, where the judge states it.
    filled : tuple of str
        Of a judge that is made of several: those of them that have no score of this candidate.

    Raises
    ------
    ValueError
        Something that is not a finite number, a value outside its interval, or a probability outside [0, 1].

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
    raw: str = field(default="", repr=False, compare=False)
    p_best: float | None = field(default=None, repr=False)
    expected_regret: float | None = field(default=None, repr=False)
    filled: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        bare = self.low is None and self.high is None and type(self.draws) is tuple and not self.draws
        bare = bare and self.p_best is None and self.expected_regret is None
        if bare and type(self.value) is float and math.isfinite(self.value):
            return  # nearly every score: there is nothing to make plain
        value = plain_number(self.value)
        if value is None:
            raise ValueError(f"value must be a finite number, not {quoted(self.value)}; use Unscored(reason) instead")
        low, high = (
            None if end is None else _finite(end, name) for name, end in (("low", self.low), ("high", self.high))
        )
        if (low is not None and low > value + _ROUNDING) or (high is not None and high < value - _ROUNDING):
            raise ValueError(f"a score must lie in its interval: {value} does not lie in {low} to {high}")
        draws = tuple(None if draw is None else _finite(draw, "each of draws") for draw in self.draws)
        for name, plain in (("value", value), ("low", low), ("high", high), ("draws", draws)):
            object.__setattr__(self, name, plain)
        if self.p_best is not None:
            object.__setattr__(self, "p_best", _share(self.p_best, "p_best"))
        if self.expected_regret is not None:
            object.__setattr__(self, "expected_regret", _finite(self.expected_regret, "expected_regret"))

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
        What the judge said, as it was received; see `kept`.
    owed : bool
        Whether the judge was never heard: a later run asks again. An answer that was received and could
        not be used is not owed.
    alone : bool
        Whether there was no other candidate to compare this one with.

    Examples
    --------
    >>> Unscored("empty answer").reason
    'empty answer'
    """

    reason: str
    raw: str = ""
    owed: bool = field(default=False, repr=False)
    alone: bool = field(default=False, repr=False, compare=False)


Verdict = Score | Unscored


def kept(text: str) -> str:
    """Return what a verdict keeps of a reply: of a long one the middle is left out, with a note."""
    left_out = len(text) - LONGEST_RAW
    if left_out <= 0:
        return text
    half = LONGEST_RAW // 2
    return f"{text[:half]}\n[{left_out} characters left out here]\n{text[-half:]}"


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

    Raises
    ------
    ValueError
        Positions in another order, or something that is not a number from 0 to 1.

    Examples
    --------
    >>> pair = Preference(0, 1, shown_first=1.0, shown_second=0.0)
    >>> pair.value, pair.order_effect, pair.verdict_changes
    (0.5, 1.0, True)
    """

    a: int
    b: int
    shown_first: float | Unscored | None
    shown_second: float | Unscored | None
    confidence: tuple[int | None, int | None] = (None, None)

    def __post_init__(self) -> None:
        names = ("a", "b", "confidence")
        try:
            plain = {name: plain_numbers(name, getattr(self, name), whole=True) for name in names}
        except UsageError as error:
            raise ValueError(error.message) from None
        positions = plain["a"], plain["b"]
        if not all(isinstance(position, int) for position in positions) or not 0 <= positions[0] < positions[1]:
            raise ValueError(f"a preference must name two positions, the smaller one first, not {positions}")
        earned = {name: _earned(getattr(self, name), name) for name in ("shown_first", "shown_second")}
        for name, value in (plain | earned).items():
            object.__setattr__(self, name, value)

    @property
    def value(self) -> float | None:
        """What `a` earned on average over the orders that were asked; None where one of them could not be read."""
        asked = [side for side in (self.shown_first, self.shown_second) if side is not None]
        scored = [side for side in asked if isinstance(side, float)]
        # One readable order of two would hand the comparison to whoever the judge likes to see first.
        return math.fsum(scored) / len(scored) if scored and len(scored) == len(asked) else None

    @property
    def lost(self) -> bool:
        """Whether an order that was asked could not be read; not yet so while one is owed."""
        missing = [side for side in (self.shown_first, self.shown_second) if isinstance(side, Unscored)]
        return bool(missing) and not any(side.owed for side in missing)

    @property
    def order_effect(self) -> float | None:
        """How much more `a` earned when shown first; None unless both orders were scored."""
        if isinstance(self.shown_first, float) and isinstance(self.shown_second, float):
            return self.shown_first - self.shown_second
        return None

    @property
    def verdict_changes(self) -> bool | None:
        """Whether one candidate, the other or a tie is the verdict in one order, and another in the other order."""
        if isinstance(self.shown_first, float) and isinstance(self.shown_second, float):
            return preferred(self.shown_first) != preferred(self.shown_second)
        return None


def plain_number(value: object) -> float | None:
    """Return a finite number as a plain one, which JSON knows; None for anything else."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    with suppress(UsageError):
        number = plain_numbers("number", value)
        return float(number) if isinstance(number, int | float) else None
    return None


def _finite(value: object, what: str) -> float:
    number = plain_number(value)
    if number is None:
        raise ValueError(f"{what} must be a finite number, not {quoted(value)}")
    return number


def _share(value: object, what: str) -> float:
    number = plain_number(value)
    if number is None or not 0 <= number <= 1:
        raise ValueError(f"{what} must be a number from 0 to 1, not {quoted(value)}")
    return number


def _earned(value: object, what: str) -> float | Unscored | None:
    return value if value is None or isinstance(value, Unscored) else _share(value, what)
