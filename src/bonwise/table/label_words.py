"""Labels and scores that are written as words: pass and fail, yes and no, or words that the user gives a worth."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.errors import RowError, UsageError
from bonwise.printable import quoted, shell_word
from bonwise.table.numbers import BLANK, first_text_row, is_blank, read_numbers
from bonwise.table.store import CodedColumn

if TYPE_CHECKING:
    import pandas as pd


_GOOD_AND_BAD = (
    *(("pass", "fail"), ("passed", "failed"), ("yes", "no"), ("y", "n"), ("true", "false"), ("correct", "incorrect")),
    *(("right", "wrong"), ("accept", "reject"), ("accepted", "rejected"), ("thumbs up", "thumbs down")),
    ("\U0001f44d", "\U0001f44e"),
)
_PAIRS: tuple[Mapping[str, float], ...] = tuple(
    MappingProxyType({good: 1.0, bad: 0.0}) for good, bad in _GOOD_AND_BAD
)
_TRUTH = _PAIRS[_GOOD_AND_BAD.index(("true", "false"))]

_GRADES = (
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "ok", "good", "great"),
    ("very unsatisfied", "unsatisfied", "neutral", "satisfied", "very satisfied"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very low", "low", "medium", "high", "very high"),
    ("unacceptable", "poor", "acceptable", "good", "excellent"),
    ("wrong", "partially correct", "correct"),
    ("incorrect", "partially correct", "correct"),
)
"""Words of rating scales from the worst to the best: proposed in a message, never taken for numbers."""

_MOST_PROPOSED = 8


class ReadLabels(NamedTuple):
    """A column of labels as numbers."""

    values: Floats
    """NaN where the cell is blank."""
    words: Mapping[str, float]
    """What its words were taken for; empty where it holds numbers."""
    reading: str
    """How its numbers are written where that is not plain, such as ``percent, 85% = 0.85``."""


def parse_word_values(text: str) -> dict[str, float]:
    """Read ``WORD=NUMBER,WORD=NUMBER``; a part without a number, or a word that is given two, is a UsageError."""
    worths: dict[str, float] = {}
    for part in text.split(","):
        word, _, number = part.rpartition("=")
        word = word.strip().lower()
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not word or not np.isfinite(value):
            raise UsageError(f"not a worth of a word: {quoted(part)}", hint="such as poor=1,fair=2,good=3")
        if worths.setdefault(word, value) != value:
            raise UsageError(f"{quoted(word)} is given two numbers", hint="give each word one")
    return worths


def fits_labels(column: CodedColumn | pd.Series, worth: Mapping[str, float] = MappingProxyType({})) -> bool:
    """Tell whether each cell is blank, a number or one of the words for labels."""
    column = CodedColumn.of(column)
    if first_text_row(column) is None:
        return True
    words = label_words(column, worth)
    return bool(words) and first_text_row(_as_numbers(column, words)) is None


def label_words(column: CodedColumn, worth: Mapping[str, float] = MappingProxyType({})) -> Mapping[str, float]:
    """Return what the words of a column of labels stand for; empty where it holds numbers."""
    if column.kind != "O":
        return _TRUTH if column.kind == "b" else {}
    words = column.words
    if any(word in worth for word in words):
        return worth
    first = next((word for word in words if any(word in pair for pair in _PAIRS)), None)
    return next((pair for pair in _PAIRS if first in pair), {})


def parse_labels(column: CodedColumn | pd.Series, *, source: str) -> Floats:
    """Parse one column of labels to floats, see `read_labels`."""
    values, _, _ = read_labels(column, source=source)
    return values


def read_labels(
    column: CodedColumn | pd.Series,
    *,
    source: str,
    worth: Mapping[str, float] = MappingProxyType({}),
    role: str = "oracle_label",
) -> ReadLabels:
    """Parse a column of labels or scores and say how; RowErrors are unknown words, two pairs, words and numbers."""
    column = CodedColumn.of(column)
    try:
        if role == "judge_score":
            with suppress(RowError):
                values, reading = read_numbers(column, role=role, source=source)
                return ReadLabels(values, {}, reading)
        return _read(column, source, worth, role)
    except RowError as error:
        _propose_worth(column, worth, role, source)
        if role == "judge_score":
            hint = f"{error.hint}; --missing VALUE says that a value means no score"
            raise RowError(error.message, hint=hint) from error
        raise


def _read(column: CodedColumn, source: str, worth: Mapping[str, float], role: str) -> ReadLabels:
    words = label_words(column, worth)
    if not words:
        values, reading = read_numbers(column, role=role, source=source)
        return ReadLabels(values, {}, reading)
    if words is worth:
        return _worth_of(column, worth, role, source)
    values, _ = read_numbers(_as_numbers(column, words), role=role, source=source)
    strange = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
    if column.kind != "b":
        other = [word not in words and any(word in pair for pair in _PAIRS) for word in column.words]
        strange |= column.marked(other)
    _refuse(column, strange, next(iter(words)), role, source)
    return ReadLabels(values, words, "")


def _worth_of(column: CodedColumn, worth: Mapping[str, float], role: str, source: str) -> ReadLabels:
    """Read words by their worth; a word without one is refused, and so is a number, which could be another scale."""
    words = column.words
    values = column.where([worth.get(word, np.nan) for word in words], np.nan, np.float64)
    unknown = np.isnan(values) & ~is_blank(column)
    if unknown.any():
        at = int(np.flatnonzero(unknown)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.cell(at))}, "
            "to which --label-map gives no number",
            hint="give every word of the column a number, such as --label-map poor=1,fair=2,good=3",
        )
    return ReadLabels(values, {word: worth[word] for word in worth if word in words}, "")


def _propose_worth(column: CodedColumn, worth: Mapping[str, float], role: str, source: str) -> None:
    """Refuse ratings in words (half of the few distinct cells or more) with the flag that says their worth."""
    words = column.words
    if any(word in worth for word in words):
        return
    scale = max(_GRADES, key=lambda grades: sum(word in grades for word in words))
    known = [word for word in scale if word in words]
    others = [word for word in words if word not in BLANK]
    if not known or 2 * len(known) < len(others):
        return
    at = int(np.isin(column.codes, [words.index(word) for word in known]).argmax())
    rest = [word for word in others if word not in known][:_MOST_PROPOSED]
    given = [*(f"{word}={rank}" for rank, word in enumerate(known, start=1)), *(f"{word[:20]}=?" for word in rest)]
    raise RowError(
        f"{source}, row {column.index[at]}: {role} holds {quoted(column.cell(at))}: words, whose worth is not known",
        hint=f"say what each is worth, such as --label-map {shell_word(','.join(given))}",
    )


def _as_numbers(column: CodedColumn, values: Mapping[str, float]) -> CodedColumn:
    """Return a column with numbers in place of its words."""
    if column.kind == "b":
        return column
    every = {word: value for pair in _PAIRS for word, value in pair.items()} | dict(values)
    return column.with_cells([every.get(word, cell) for word, cell in zip(column.words, column.cells, strict=True)])


def _refuse(column: CodedColumn, strange: Mask, word: str, role: str, source: str) -> None:
    """Refuse a cell that stands beside a word and is on another scale, or may be."""
    if strange.any():
        at = int(np.flatnonzero(strange)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.cell(at))} in a column of "
            f"{word!r} and the like: another scale could be meant",
            hint="write one pair of words, such as pass/fail, yes/no or true/false, or numbers alone",
        )
