"""Cells to numbers, as people write them: blank is missing, anything else that is not finite is refused by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table.cells import draw_columns

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "DECIMAL_COMMA",
    "LARGEST",
    "StructuredText",
    "Styled",
    "check_propensities",
    "declared_missing",
    "distinct",
    "first_text_row",
    "is_blank",
    "parse_numbers",
    "read_numbers",
    "styled",
    "without_missing",
]

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
        number = self.value(word)
        if number is None and self.beside is not None and self.beside.fullmatch(word):
            return float(word)
        return number


def _percent(word: str) -> float | None:
    match = _PERCENT.fullmatch(word)
    return float(match[1].replace(",", ".")) / 100 if match else None


def _fraction(word: str) -> float | None:
    match = _FRACTION.fullmatch(word) or _OUT_OF.fullmatch(word)
    return float(match[1]) / float(match[2]) if match and float(match[2]) else None


def _stars(word: str) -> float | None:
    if drawn := _SYMBOLS.fullmatch(word):
        return float(len(drawn[1]))
    match = _STARS.fullmatch(word)
    return float(match[1]) if match else None


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
    """Find the style of most `words`, distinct cells in lower case; with `decimal_comma` ``8,500`` is 8.5, not 8500.

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


class StructuredText(str):
    """Text like any other, except where an identifier is wanted.

    Examples
    --------
    >>> StructuredText('{"id": 1}')
    '{"id": 1}'
    """

    __slots__ = ()


_BLANK = frozenset({"", "nan", "none", "null", "na", "n/a", "<na>"})
_TRUTH = {"true": 1.0, "false": 0.0}

DECIMAL_COMMA = "decimal comma"
"""Key of a frame's ``attrs`` that says that its file separates cells by semicolons."""

# Squares and their sums must stay finite in double precision.
LARGEST = 1e100


def parse_numbers(column: pd.Series, *, role: str, source: str) -> np.typing.NDArray[np.float64]:
    """Parse a column to floats, NaN for blanks; text, infinities and magnitudes beyond 1e100 are a RowError."""
    return read_numbers(column, role=role, source=source)[0]


def read_numbers(column: pd.Series, *, role: str, source: str) -> tuple[np.typing.NDArray[np.float64], str]:
    """Do what `parse_numbers` does, and say the style, such as ``percent, 85% = 0.85``; empty where it is plain."""
    values, text, reading = _convert(column)
    if text.any():
        at = int(np.flatnonzero(text)[0])
        others = int(text.sum()) - 1
        more = f" (and {others:,} more rows like it)" if others else ""
        beside = f" where the column is read as {reading}" if reading else ""
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.iloc[at])}, "
            f"which is not a number{beside}{more}",
            hint="write a number, or leave the cell blank for none",
        )
    with np.errstate(invalid="ignore"):
        wild = np.abs(values) > LARGEST
    if wild.any():
        at = int(np.flatnonzero(wild)[0])
        kind = "infinite" if np.isinf(values[at]) else "too large to square"
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.iloc[at])}, which is {kind}",
            hint="write a finite number, or leave the cell blank for none",
        )
    return values, reading


def check_propensities(values: np.typing.NDArray[np.float64], rows: pd.Index, source: str) -> None:
    """Refuse what is not a probability of being drawn, in (0, 1]; a blank is none."""
    bad = np.flatnonzero((values <= 0) | (values > 1))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: a propensity must lie in (0, 1]",
            hint="it is the probability with which the prompt was drawn for labelling",
        )


def first_text_row(column: pd.Series) -> Hashable | None:
    """Return the row number of the first cell that is neither blank nor a number."""
    text = _convert(column).text
    return column.index[int(np.flatnonzero(text)[0])] if text.any() else None


def is_blank(column: pd.Series) -> np.typing.NDArray[np.bool_]:
    """Tell which cells count as missing: NaN, None, or a word for nothing."""
    missing = column.isna().to_numpy(dtype=bool)
    if column.dtype.kind in "iufb":
        return missing
    words = column.astype(str).str.strip().str.lower()
    return missing | words.isin(_BLANK).to_numpy(dtype=bool)


def declared_missing(column: pd.Series, values: Sequence[str]) -> tuple[pd.Series, np.typing.NDArray[np.object_]]:
    """Return a column without the cells that hold one of some values, and the value that each of them held."""
    codes, cells = distinct(column)
    wanted = [(value, value.lower(), _number(value.lower())) for value in values]
    held = [
        next((value for value, text, number in wanted if word == text or _number(word) == number), "")
        for word in (str(cell).strip().lower() for cell in cells)
    ]
    which = np.array([*held, ""], dtype=object)[codes]
    return column.mask(which != ""), which


def without_missing(frame: pd.DataFrame, taken: Mapping[str, str], missing: Sequence[str]) -> pd.DataFrame:
    """Blank the scores that were declared to be none, with the reason in the column ``unscored``."""
    columns = [*(taken.get(role) for role in ("low", "high", "judge_score")), *draw_columns(frame.columns)]
    for name in (str(name) for name in columns if missing and name in frame.columns):
        column, held = declared_missing(frame[name], missing)
        reasons = pd.Series([f"declared missing ({value})" for value in held], index=frame.index, dtype=object)
        stated = frame["unscored"] if "unscored" in frame.columns else pd.Series(None, frame.index, dtype=object)
        frame = frame.assign(**{name: column, "unscored": stated.where(held == "", reasons)})
    return frame


def distinct(column: pd.Series) -> tuple[np.typing.NDArray[np.intp], pd.Index]:
    """Return a code for each cell, -1 where it is missing, and the distinct cells as they appear."""
    try:
        return _factorized(column)
    except TypeError:  # lists and the like cannot be looked up: they are told apart by their words
        return _factorized(pd.Series([_hashable(cell) for cell in column.astype(object)], dtype=object))


def _factorized(column: pd.Series) -> tuple[np.typing.NDArray[np.intp], pd.Index]:
    if not isinstance(column.array, pd.arrays.NumpyExtensionArray) or column.dtype.kind != "O":
        codes, cells = pd.factorize(column)
        return codes, pd.Index(cells)
    # pandas 2 compares cells up to the first NUL where all of them are text, which a missing one beside them is not.
    codes, values = pd.factorize(np.append(column.to_numpy(dtype=object), np.array([None])))
    return codes[:-1], pd.Index(values, dtype=object)


def _hashable(cell: object) -> object:
    """Return a cell as it is, or its words where it cannot be looked up."""
    try:
        hash(cell)
    except TypeError:
        return StructuredText(cell)
    return cell


class _Converted(NamedTuple):
    """The values of a column, NaN where there is none; which cells hold text; and how the numbers are written."""

    values: np.typing.NDArray[np.float64]
    text: np.typing.NDArray[np.bool_]
    reading: str


def _convert(column: pd.Series) -> _Converted:
    if column.dtype.kind in "iufb":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        return _Converted(values, np.zeros(len(column), dtype=bool), "")
    # Few distinct cells is the rule for scores: parse each distinct one once.
    codes, cells = distinct(column)
    words = [str(cell).strip().lower() for cell in cells]
    numbers = np.array([_number(word) for word in words], dtype=np.float64)
    text = np.isnan(numbers) & np.array([word not in _BLANK for word in words], dtype=bool)
    reading = ""
    if text.any():
        reading = _restyle(words, numbers, text, decimal_comma=bool(column.attrs.get(DECIMAL_COMMA)))
    # One slot more, reached by the code -1 of a missing cell.
    numbers, text = np.append(numbers, np.nan), np.append(text, False)
    return _Converted(numbers[codes], text[codes], reading)


def _restyle(
    words: list[str],
    numbers: np.typing.NDArray[np.float64],
    text: np.typing.NDArray[np.bool_],
    *,
    decimal_comma: bool,
) -> str:
    """Read the cells in the style of their column, in place, and say which; say nothing where there is none."""
    present = [at for at, word in enumerate(words) if word not in _BLANK]
    style = styled([words[at] for at in present], decimal_comma=decimal_comma)
    if style is None:
        return ""
    for at, value in zip(present, style.values, strict=True):
        numbers[at], text[at] = np.nan if value is None else value, value is None
    return style.reading


def _number(word: str) -> float:
    """Return the nearest float, which not every version of pandas finds; NaN for no number."""
    try:
        # Python alone would read 1_000 and the digits of other scripts.
        return float(word) if word.isascii() and "_" not in word else np.nan
    except ValueError:
        return _TRUTH.get(word, np.nan)
