"""Numbers as people write them: 85%, 4 stars, 4/5, 8,500 and decimal commas, one style per column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Styled", "styled"]

_DIGITS = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?"
_PLAIN = re.compile(_DIGITS)
_WHOLE = re.compile(r"[+-]?\d+")
_PERCENT = re.compile(rf"({_DIGITS}|[+-]?\d+,(?:\d{{1,2}}|\d{{4,}})) ?%")
_FRACTION = re.compile(rf"({_DIGITS}) ?/ ?(\d+(?:\.\d+)?)")
_OUT_OF = re.compile(rf"({_DIGITS}) out of (\d+(?:\.\d+)?)")
_STARS = re.compile(rf"({_DIGITS}) ?stars?")
_SYMBOLS = re.compile("(\u2605+)(\u2606*)")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:e[+-]?\d{1,3})?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")


@dataclass(frozen=True, slots=True)
class Styled:
    """A column of numbers that are not written plainly."""

    reading: str
    """What one of its cells was taken for, such as ``percent, 85% = 0.85``."""
    values: tuple[float | None, ...]
    """Of each distinct cell in order; None where a cell does not follow the style."""


@dataclass(frozen=True, slots=True)
class _Style:
    """One way of writing numbers."""

    name: str
    value: Callable[[str], float | None]
    """The number that a cell stands for; None for a cell in another style."""
    beside: re.Pattern[str] | None = None
    """Plain cells that may stand beside it; none may where a plain number could be on another scale."""

    def of(self, word: str) -> float | None:
        """Return the number of a cell in the style or of a plain one that may stand beside it."""
        found = self.value(word)
        if found is None and self.beside is not None and self.beside.fullmatch(word):
            return float(word)
        return found


def _percent(word: str) -> float | None:
    found = _PERCENT.fullmatch(word)
    return float(found[1].replace(",", ".")) / 100 if found else None


def _fraction(word: str) -> float | None:
    found = _FRACTION.fullmatch(word) or _OUT_OF.fullmatch(word)
    return float(found[1]) / float(found[2]) if found and float(found[2]) else None


def _stars(word: str) -> float | None:
    if drawn := _SYMBOLS.fullmatch(word):
        return float(len(drawn[1]))
    found = _STARS.fullmatch(word)
    return float(found[1]) if found else None


def _grouped(word: str) -> float | None:
    return float(word.replace(",", "")) if _GROUPED.fullmatch(word) else None


def _decimal_comma(word: str) -> float | None:
    if _GROUPED_BY_POINTS.fullmatch(word):
        word = word.replace(".", "")
    elif not _COMMA.fullmatch(word):
        return None
    return float(word.replace(",", "."))


_STYLES = (
    _Style("percent", _percent),
    _Style("fractions", _fraction),
    _Style("stars", _stars),
    _Style("commas between thousands", _grouped, _PLAIN),
    _Style("decimal commas", _decimal_comma, _WHOLE),
)


def styled(words: Sequence[str], *, decimal_comma: bool = False) -> Styled | None:
    """Find the style in which most cells of a column are written.

    Parameters
    ----------
    words : sequence of str
        The distinct cells that are not blank, in lower case, without blanks around them.
    decimal_comma : bool
        Whether the file separates cells by semicolons: ``8,500`` is then 8.5 and not 8500.

    Returns
    -------
    Styled or None
        None where fewer than half of the cells that are no plain numbers, or than half of all, are in one style.

    Examples
    --------
    >>> styled(["85%", "7.5%"])
    Styled(reading='percent, 85% = 0.85', values=(0.85, 0.075))
    >>> styled(["8,500", "900"]).values, styled(["8,5", "900"]).values
    ((8500.0, 900.0), (8.5, 900.0))
    """
    best: tuple[int, int, _Style] | None = None
    for order, style in enumerate(_STYLES):
        if decimal_comma and style.value is _grouped:
            continue
        needed = [word for word in words if style.value(word) is not None]
        if 2 * len(needed) < len(words) and not all(style.of(word) is not None for word in words):
            continue
        read = sum(style.of(word) is not None for word in words)
        if needed and (best is None or (read, -order) > best[:2]):
            best = (read, -order, style)
    if best is None:
        return None
    style = best[2]
    example = next(word for word in words if style.value(word) is not None)
    return Styled(
        f"{style.name}, {example[:20]} = {style.value(example):.10g}", tuple(style.of(word) for word in words)
    )
