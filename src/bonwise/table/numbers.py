"""Cells to numbers, as people write them: blank is missing, anything else that is not finite is refused by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Mask
from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table.cells import draw_columns
from bonwise.table.store import CodedColumn, Rows

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

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
    """Find the style of most `words`, None where fewer than half fit; with `decimal_comma` ``8,500`` is 8.5."""
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


BLANK = frozenset({"", "nan", "none", "null", "na", "n/a", "<na>"})
"""Words of a cell that say nothing, in lower case."""

_TRUTH = {"true": 1.0, "false": 0.0}

# Squares and their sums must stay finite in double precision, and those of a whole column above 0.
LARGEST, _SMALLEST = 1e100, 1e-152


def parse_numbers(column: CodedColumn | pd.Series, *, role: str, source: str) -> Floats:
    """Parse a column to floats, NaN for blanks; text, infinities and magnitudes beyond 1e100 are a RowError."""
    return read_numbers(column, role=role, source=source)[0]


def read_numbers(column: CodedColumn | pd.Series, *, role: str, source: str) -> tuple[Floats, str]:
    """Do what `parse_numbers` does, and say the style, such as ``percent, 85% = 0.85``; empty where it is plain."""
    column = CodedColumn.of(column)
    values, text, reading = _convert(column)
    if text.any():
        at = int(np.flatnonzero(text)[0])
        others = int(text.sum()) - 1
        more = f" (and {others:,} more rows like it)" if others else ""
        beside = f" where the column is read as {reading}" if reading else ""
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.cell(at))}, "
            f"which is not a number{beside}{more}",
            hint="write a number, or leave the cell blank for none",
        )
    largest = max(abs(float(end.reduce(values, initial=0.0))) for end in (np.fmin, np.fmax))
    if largest > LARGEST or 0 < largest < _SMALLEST:
        sizes = np.nan_to_num(np.abs(values), posinf=np.inf)
        at = int(np.flatnonzero(sizes > (LARGEST if largest > LARGEST else 0))[0])
        kind = "infinite" if np.isinf(values[at]) else f"too {'large' if largest > 1 else 'small'} to square"
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.cell(at))}, which is {kind}",
            hint="write a finite number, or leave the cell blank for none"
            if largest > 1
            else "give the column in a larger unit",
        )
    return values, reading


def plain_numbers(column: CodedColumn) -> Floats:
    """Return the cells that are plain numbers, NaN for others."""
    if column.numbers is not None:
        return column.numbers.astype(np.float64)
    return column.where([_float(word) for word in column.words], np.nan, np.float64)


def check_propensities(values: Floats, rows: npt.NDArray[Any], source: str) -> None:
    """Refuse what is not a probability of being drawn, in (0, 1]; a blank is none."""
    bad = np.flatnonzero((values <= 0) | (values > 1))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: a propensity must lie in (0, 1]",
            hint="it is the probability with which the prompt was drawn for labelling",
        )


def first_text_row(column: CodedColumn | pd.Series) -> Hashable | None:
    """Return the row number of the first cell that is neither blank nor a number."""
    column = CodedColumn.of(column)
    text = None if column.numbers is not None else _of_cells(column)[1]
    return None if text is None or not text.any() else column.index[int(column.marked(text).argmax())]


def is_blank(column: CodedColumn | pd.Series) -> Mask:
    """Tell which cells count as missing: NaN, None, or a word for nothing."""
    column = CodedColumn.of(column)
    if column.kind != "O":
        return column.is_missing()
    return column.marked([word in BLANK for word in column.words], missing=True)


def declared_missing(
    column: CodedColumn | pd.Series, values: Sequence[str]
) -> tuple[CodedColumn, np.typing.NDArray[np.object_]]:
    """Return a column without the cells that hold one of some values, and the value that each of them held."""
    column = CodedColumn.of(column)
    wanted = [(value, value.lower(), _number(value.lower())) for value in values]
    held = [
        next((value for value, text, number in wanted if word == text or _number(word) == number), "")
        for word in column.words
    ]
    which = column.where(held, "", object)
    return column.masked(which != ""), which


def without_missing(frame: Rows, taken: Mapping[str, str], missing: Sequence[str]) -> Rows:
    """Blank the scores that were declared to be none, with the reason in the column ``unscored``."""
    columns = [*(taken.get(role) for role in ("low", "high", "judge_score")), *draw_columns(frame.columns)]
    for name in (str(name) for name in columns if missing and name in frame.columns):
        column, held = declared_missing(frame.columns[name], missing)
        stated = frame.columns["unscored"].to_numpy() if "unscored" in frame.columns else [None] * len(frame)
        reasons = [f"declared missing ({why})" if why else own for why, own in zip(held, stated, strict=True)]
        frame = frame.assign({name: column, "unscored": CodedColumn.of_cells(reasons, frame.index)})
    return frame


def distinct(column: CodedColumn | pd.Series) -> tuple[npt.NDArray[Any], npt.NDArray[np.object_]]:
    """Return a code for each cell, -1 where it is missing, and the distinct cells as they appear."""
    column = CodedColumn.of(column)
    return column.codes.astype(np.int64), column.cells


class _Converted(NamedTuple):
    """The values of a column, NaN where there is none; which cells hold text; and how the numbers are written."""

    values: Floats
    text: Mask
    reading: str


def _convert(column: CodedColumn) -> _Converted:
    if column.numbers is not None:
        return _Converted(column.numbers.astype(np.float64), np.zeros(len(column), dtype=bool), "")
    numbers, text, reading = _of_cells(column)
    of_rows = column.marked(text) if text.any() else np.zeros(len(column), dtype=bool)
    return _Converted(column.where(numbers, np.nan, np.float64), of_rows, reading)


def _of_cells(column: CodedColumn) -> _Converted:
    """Convert the distinct cells: few of them are the rule for scores, and each is parsed once."""
    words = column.words
    numbers = np.array([_number(word) for word in words], dtype=np.float64)
    text = np.isnan(numbers) & np.array([word not in BLANK for word in words], dtype=bool)
    reading = _restyle(words, numbers, text, decimal_comma=column.decimal_comma) if text.any() else ""
    return _Converted(numbers, text, reading)


def _restyle(words: list[str], numbers: Floats, text: Mask, *, decimal_comma: bool) -> str:
    """Read the cells in the style of their column, in place, and say which; say nothing where there is none."""
    present = [at for at, word in enumerate(words) if word not in BLANK]
    style = styled([words[at] for at in present], decimal_comma=decimal_comma)
    if style is None:
        return ""
    for at, value in zip(present, style.values, strict=True):
        numbers[at], text[at] = np.nan if value is None else value, value is None
    return style.reading


def _number(word: str) -> float:
    """Return the nearest float, also that of true and false; NaN for no number."""
    return _TRUTH[word] if word in _TRUTH else _float(word)


def _float(word: str) -> float:
    """Return the nearest float, which not every version of pandas finds; NaN for no number."""
    try:
        # Python alone would read 1_000 and the digits of other scripts.
        return float(word) if word.isascii() and "_" not in word else np.nan
    except ValueError:
        return np.nan
