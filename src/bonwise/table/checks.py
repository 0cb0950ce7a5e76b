"""Arguments, refused in one line where they mean nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from bonwise.errors import UsageError
from bonwise.printable import quoted

CONFIDENCE = 0.95
"""Of two-sided intervals, where a user names no other."""

SEED = 0
"""Of what is drawn, where a user names no other."""

Shape = Literal["rectangular", "ragged"]

AnnotatorRule = Literal["mean", "median", "majority"]

SecondOrder = Literal["turned", "as-named"]
"""What the second of two orders names: places, which are those of the first turned round, or answers."""

Unpicked = Literal["random", "first", "drop"]
"""What a prompt is worth of which no candidate has a score: a random pick, its first candidate, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What an argument may be."""

    words: str
    """The same in words, such as ``a number above 0``."""
    fits: Callable[[Any], bool]
    """Tells whether a value is such."""


def number(fits: Callable[[Any], bool], words: str, kind: Any = Real) -> Limit:
    """Limit an argument to finite numbers of a kind that fit."""
    return Limit(words, lambda value: _is_number(value, kind) and fits(value))


def whole(least: int, words: str, kind: Any = Integral) -> Limit:
    """Limit an argument to whole numbers of at least `least`."""
    return number(lambda value: value >= least, words, kind)


def between(low: float, high: float, what: str, kind: Any = int | float) -> Limit:
    """Limit a setting to numbers of a kind from `low` to `high`."""
    return number(lambda value: low <= value <= high, f"{what} from {low:,} to {high:,}", kind)


def _is_number(value: Any, kind: Any) -> bool:
    # A comparison, because a whole number may be larger than any float.
    return isinstance(value, kind) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check(name: str, value: object, limit: Limit, *, said: str = "is", it: str = "") -> None:
    """Refuse an argument that its limit does not hold; the hint names it `it`, and `said` stands before the value."""
    if not limit.fits(value):
        raise UsageError(f"{name} {said} {quoted(value)}", hint=f"{it or name} is {limit.words}")


def check_whole(
    name: str, value: object, *, least: int, most: float = math.inf, kind: Any = int, hint: str = ""
) -> None:
    """Refuse what is no whole number of a kind, from `least` to `most`; `hint` stands in place of the usual one."""
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        usual = f"at least {least}" if most == math.inf else f"{least} to {most}"
        raise UsageError(f"{name} is {value!r}", hint=hint or f"give a whole number of {usual}")


def check_dollars(name: str, value: Any) -> None:
    """Refuse what is no amount of US dollars."""
    if not _is_number(value, Real) or value < 0:
        raise UsageError(f"{name} is {value!r}", hint="give US dollars, a finite number of 0 or more")


_HIGHEST_PRICE = 1e9
"""US dollars per million tokens: a thousand a token."""


def checked_price(name: str, value: Any) -> tuple[float, float] | None:
    """Return US dollars per million tokens of input and of output, None for no price; as text such as 0.25/2."""
    if value is None:
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            value = [float(part) for part in value.split("/")]
    pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
    if not pair or not all(_is_number(dollars, Real) and 0 <= dollars <= _HIGHEST_PRICE for dollars in value):
        raise UsageError(
            f"{name} is {value!r}",
            hint=f"US dollars per million tokens, in and out: {name}=(0.25, 2.0), as text 0.25/2",
        )
    return float(value[0]), float(value[1])


def check_number(name: str, value: object, *, low: float, high: float) -> None:
    """Refuse what is no number of Python's from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}", hint=f"give a number from {low:g} to {high:g}")


def checked_whole(name: str, value: object, least: float, such_as: str) -> int:
    """Return a count or a seed; what is no whole number, or below `least`, is refused."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name} must be a whole number, not {quoted(value)}", hint=f"such as {name}={such_as}")
    if value < least:
        raise UsageError(f"{name} must be at least {least:g}, not {value}", hint=f"such as {name}={such_as}")
    return int(value)


def checked_number(name: str, value: object, such_as: str) -> float:
    """Return a number; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} must be a number, not {quoted(value)}", hint=f"such as {such_as}")
    return float(value)


def check_text(name: str, value: object, such_as: str) -> None:
    """Refuse what is neither a text nor left out."""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {quoted(value)}", hint=f"such as {such_as}")


def check_confidence(confidence: float) -> None:
    """Refuse what is no confidence of a two-sided interval, in [0.5, 1)."""
    if not 0.5 <= checked_number("confidence", confidence, "0.95") < 1:
        raise UsageError(f"confidence must lie in [0.5, 1), not {confidence:g}", hint="such as 0.95")


def check_seed(seed: int) -> None:
    """Refuse what is no seed: a whole number that is not negative."""
    if checked_whole("seed", seed, -math.inf, "0") < 0:
        raise UsageError(f"a seed must not be negative, as {seed} is", hint="such as 0")


def check_share(share: float) -> None:
    """Refuse what is no part of the prompts, between 0 and 1."""
    if not 0 < share < 1:
        raise UsageError(f"a share must lie between 0 and 1, not {share:g}", hint="such as 0.25 for a quarter")


def check_annotator_rule(rule: object) -> None:
    """Refuse what is no rule that makes one label of those of several annotators."""
    if rule is not None and rule not in get_args(AnnotatorRule):
        raise UsageError(f"no rule for annotators named {quoted(rule)}", hint="choose mean, median or majority")


def check_shape(shape: object) -> None:
    """Refuse what is no shape of a table."""
    if shape is not None and shape not in get_args(Shape):
        raise UsageError(f"no shape {quoted(shape)}", hint="choose of rectangular, ragged")


def check_unpicked(unpicked: object) -> None:
    """Refuse what is no rule for prompts without a score."""
    if unpicked not in get_args(Unpicked):
        raise UsageError(
            f"no rule for unpicked prompts named {quoted(unpicked)}", hint="choose random, first or drop"
        )


def check_second_order(order: object) -> None:
    """Refuse what the second of two orders cannot name."""
    if order is not None and order not in get_args(SecondOrder):
        raise UsageError(
            f"second_order is {quoted(order)}",
            hint="turned where the second order names places, as-named where it names answers",
        )


def check_unlabelled_is(value: object) -> None:
    """Refuse what is no label for candidates that have none."""
    if value is not None and not _is_number(value, Real):
        raise UsageError(f"unlabelled_is is {quoted(value)}, not a finite number", hint="such as 0")


def names_of(argument: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names that were given as one, as several, or not at all."""
    names = (given,) if isinstance(given, str) else given or ()
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"{argument} takes a name or several, not {quoted(given)}", hint=f"such as {argument}=['the name']"
        )
    return tuple(names)


def values_of(argument: str, given: str | float | Sequence[str | float]) -> tuple[str, ...]:
    """Return values that were given as one or as several, as they are typed."""
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not all(value if isinstance(value, str) else isinstance(value, Real) for value in several):
        raise UsageError(f"{argument} takes numbers or words, not {quoted(given)}", hint=f"such as {argument}=[-1]")
    return tuple(value.strip() if isinstance(value, str) else f"{float(value):.15g}" for value in several)
