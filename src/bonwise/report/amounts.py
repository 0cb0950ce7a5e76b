"""Amounts in words: counts with their noun, and small figures that must not vanish."""

from __future__ import annotations

__all__ = ["counted", "significant"]

_DIGITS = 3


def counted(number: int, noun: str) -> str:
    """Write a count with its noun in the singular or the plural.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def significant(value: float) -> str:
    """Write a figure to three significant digits, those before the point in full.

    Examples
    --------
    >>> [significant(value) for value in (0.00514, 0.0000102, 1.2, 123.4, 12345.0, 0.0, -0.0)]
    ['0.00514', '1.02e-05', '1.20', '123', '12,345', '0', '0']
    """
    if value == 0:
        return "0"
    if abs(value) >= 10**_DIGITS:
        return f"{value:,.0f}"
    return f"{value:#.{_DIGITS}g}".removesuffix(".")
