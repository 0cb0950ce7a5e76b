"""Arguments of a draw and of a comparison, refused in one line where they are of the wrong kind."""

from __future__ import annotations

from numbers import Integral, Real

from bonwise.data.wording import quoted
from bonwise.errors import UsageError

__all__ = ["number", "text_or_none", "whole_number"]


def whole_number(name: str, value: object, least: float, such_as: str) -> int:
    """Return a count or a seed.

    Raises
    ------
    bonwise.errors.UsageError
        It is not a whole number, or below `least`.

    Examples
    --------
    >>> whole_number("draws", 200, 2, "200")
    200
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name} must be a whole number, not {quoted(value)}", hint=f"such as {name}={such_as}")
    if value < least:
        raise UsageError(f"{name} must be at least {least:g}, not {value}", hint=f"such as {name}={such_as}")
    return int(value)


def number(name: str, value: object, such_as: str) -> float:
    """Return a number.

    Raises
    ------
    bonwise.errors.UsageError
        It is none.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} must be a number, not {quoted(value)}", hint=f"such as {such_as}")
    return float(value)


def text_or_none(name: str, value: object, such_as: str) -> None:
    """Refuse what is neither a text nor left out.

    Raises
    ------
    bonwise.errors.UsageError
        With the argument.
    """
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {quoted(value)}", hint=f"such as {such_as}")
