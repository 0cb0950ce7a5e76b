"""Columns of verdicts as people write them: words, names of the winner, and numbers whose meaning is plain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.arrays import Floats, Mask
from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table import store, verdicts
from bonwise.table.numbers import distinct, is_blank, parse_numbers
from bonwise.table.verdict_words import OPPOSITES, WORTH, Side, plain_word, side_of, words_of

_NO_MAP: Mapping[str, Side] = MappingProxyType({})
_MOST_SHOWN = 8
_SECOND = 2
"""The number of the second side where the first is 1."""

_WON = frozenset({"win", "wins", "won", "winner", "better", "preferred", "prefer", "prefers", "best", "beats"})
_SIDE_BY_WORTH: Mapping[float, Side] = MappingProxyType({1.0: "first", 0.5: "tie", 0.0: "second"})
_FLAG = "--verdict-map"


class ReadVotes(NamedTuple):
    """Verdicts, and how they were read."""

    worth: Floats
    """1 where the first side is preferred, 0 where the second, 1/2 for a tie, NaN where there is no verdict."""
    reading: str
    """What the cells were taken for, such as ``A>>B, A>B: first; B>A: second``."""
    weights: Floats | None = None
    """The share of each vote that is for the first side, where numbers between two sides say so."""


class _Numbers(NamedTuple):
    """What the numbers of a column say: each one's worth, how it is said, and what is asked where it is not known."""

    worth: Mapping[float, float]
    reading: str = ""
    question: str = ""
    is_graded: bool = False
    """Whether they run from 1, all for the first side, to 2, all for the second."""


def read_votes(
    column: pd.Series, source: str, *, sides: pd.DataFrame | None = None, verdict_map: Mapping[str, Side] = _NO_MAP
) -> ReadVotes:
    """Read a column of verdicts, which may name a winner of `sides`, (rows, 2); a RowError may mean either."""
    values, names = verdicts_or_nothing(column, source, sides=sides, verdict_map=verdict_map)
    unknown = np.isnan(values) & ~is_blank(column) & ~_says_none(column, verdict_map)
    if unknown.any():
        _refuse(column, unknown, sides, verdict_map, source)
    weights = None
    if _numbers(column, verdict_map, sides).is_graded:
        codes, cells = distinct(column)
        # Not by their words, which are rounded.
        shares = [np.nan if _number(plain_word(cell)) is None else _SECOND - float(cell) for cell in cells]
        by_cell = np.array([*shares, np.nan])[codes]
        weights = np.where(np.isnan(by_cell), values, by_cell)
    return ReadVotes(values, _reading(column, values, names, verdict_map), weights)


def holds_votes(
    column: pd.Series, *, sides: pd.DataFrame | None = None, verdict_map: Mapping[str, Side] = _NO_MAP
) -> bool:
    """Tell whether half of the cells of a column could be verdicts, numbers that may mean either side too."""
    filled = ~is_blank(column)
    if not filled.any() or _structured(column):
        return False
    column, sides = column[filled], None if sides is None else sides[filled]
    if _numbers(column, verdict_map, sides).question:
        return True
    try:
        values, _ = verdicts_or_nothing(column, "", sides=sides, verdict_map=verdict_map)
    except RowError:
        return True
    known = ~np.isnan(values)
    return bool(known.any() and 2 * (known | _says_none(column, verdict_map)).sum() >= len(column))


def verdicts_or_nothing(
    column: pd.Series,
    source: str,
    *,
    sides: pd.DataFrame | None = None,
    verdict_map: Mapping[str, Side] = _NO_MAP,
    words: Mapping[str, Side] = _NO_MAP,
) -> tuple[Floats, Mask]:
    """Do what `read_votes` does, NaN for what is no verdict; the mask is which cells are the name of one side."""
    codes, cells = distinct(column)
    numbers = _numbers(column, verdict_map, sides)
    worth = [_worth(cell, {**words, **verdict_map}, numbers) for cell in cells]
    # One more, reached by the code -1 of a missing cell.
    by_word = np.array([*worth, np.nan], dtype=np.float64)[codes]
    by_name = _by_name(column, sides, np.isnan(by_word))
    named = ~np.isnan(by_name)
    mapped = np.array([*(plain_word(cell) in verdict_map for cell in cells), False])[codes]
    unlike = named & ~np.isnan(by_word) & (by_word != by_name) & ~mapped
    if unlike.any():
        at = int(np.flatnonzero(unlike)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: {quoted(column.iloc[at])} names one side, and as a word it means the "
            "other",
            hint=f"write model_a, model_b or tie, or say what the words mean: {_FLAG} {quoted_map(column.iloc[at])}",
        )
    return np.where(named & ~mapped, by_name, by_word), named & ~mapped


def earned_shares(column: pd.Series, source: str) -> Floats:
    """Read what the first side earned, from 0 to 1, as ``judge --pairs`` writes it; another cell is a RowError."""
    values = parse_numbers(column, role=str(column.name), source=source)
    off = (values < 0) | (values > 1)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: {column.name} is {values[at]:g}",
            hint="write a number from 0 to 1, blank for none",
        )
    return values


def votes_of_shares(column: pd.Series, source: str) -> ReadVotes:
    """Read what the first side earned as a verdict: above 1/2 it is preferred."""
    values = earned_shares(column, source)
    votes = np.array([np.nan if np.isnan(value) else (verdicts.preferred(value) + 1) / 2 for value in values])
    return ReadVotes(votes, "above 0.5: first; 0.5: tie; below 0.5: second")


def quoted_map(cell: object) -> str:
    """Return a flag's value that says what a cell means, with both answers."""
    word = plain_word(cell)[:20]
    return f"{word}=first (or second)"


def _worth(cell: object, sides: Mapping[str, Side], numbers: _Numbers) -> float:
    word = plain_word(cell)
    if word in sides:
        return WORTH[sides[word]]
    number = _number(word)
    if number is not None:
        return numbers.worth.get(number, np.nan)
    side = side_of(str(cell))
    return np.nan if side is None else WORTH[side]


def _number(word: str) -> float | None:
    if word in ("true", "false"):
        return float(word == "true")
    try:
        number = float(word) if word.isascii() and "_" not in word else np.nan
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _structured(column: pd.Series) -> bool:
    return any(isinstance(cell, store.StructuredText | list | dict | np.ndarray) for cell in column.iloc[:20])


def _says_none(column: pd.Series, verdict_map: Mapping[str, Side]) -> Mask:
    """Tell which cells say that there is no verdict, such as ``error``."""
    codes, cells = distinct(column)
    sides = [verdict_map.get(plain_word(cell)) or side_of(str(cell)) for cell in cells]
    return np.asarray(np.array([*(side == "none" for side in sides), False], dtype=bool)[codes])


def _by_name(column: pd.Series, sides: pd.DataFrame | None, unread: Mask) -> Floats:
    """Return 1 where a cell is the name of the first side, 0 where of the second; capitals matter only to words."""
    if sides is None:
        return np.full(len(column), np.nan)
    won, *names = (_texts(part) for part in (column, sides.iloc[:, 0], sides.iloc[:, 1]))
    exact = _equal(won, names)
    loose = _equal(_folded(won), [_folded(name) for name in names])
    return np.where(np.isnan(exact) & unread, loose, exact)


def _equal(won: npt.NDArray[np.object_], names: Sequence[npt.NDArray[np.object_]]) -> Floats:
    first, second = (np.asarray(won == name, dtype=bool) & (won != "") for name in names)
    return np.where(first & ~second, 1.0, np.where(second & ~first, 0.0, np.nan))


def _texts(column: pd.Series) -> npt.NDArray[np.object_]:
    """Return the cells as identifiers are compared: without blanks around them, 1.0 as 1, nothing for a blank."""
    codes, cells = distinct(column)
    texts = [str(cell).strip() for cell in cells]
    plain = [text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text for text in texts]
    return np.asarray(np.array([*plain, ""], dtype=object)[codes])


def _folded(texts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    return np.array([text.casefold() for text in texts], dtype=object)


def _numbers(column: pd.Series, verdict_map: Mapping[str, Side], sides: pd.DataFrame | None) -> _Numbers:
    """Tell what the numbers of a column say, by all of them together and by the names of the columns."""
    blank = is_blank(column)
    words = {plain_word(cell) for cell in distinct(column[~blank])[1]}
    values = sorted({number for word in words - verdict_map.keys() if (number := _number(word)) is not None})
    if not values:
        return _Numbers({})
    columns = [] if sides is None else [str(name) for name in sides.columns]
    numbers = frozenset(values)
    scale = _told_by_names(numbers, str(column.name), columns) or _told_by_range(numbers)
    return _Numbers({}, question=_question(numbers)) if scale is None else scale


def _told_by_names(numbers: frozenset[float], name: str, pair: Sequence[str]) -> _Numbers | None:
    """Read 0 and 1 where a column says whose win it holds, or where the sides themselves are numbered 0 and 1."""
    if numbers <= {0.0, 0.5, 1.0} and (wins := _side_that_wins(name, pair)) is not None:
        return _Numbers({number: number if wins == "first" else 1 - number for number in numbers}, f"1: {wins} wins")
    if numbers <= {0.0, 1.0} and _numbered_from_0(pair):
        return _Numbers({0.0: 1.0, 1.0: 0.0}, "0: first, 1: second")
    return None


def _told_by_range(numbers: frozenset[float]) -> _Numbers | None:
    """Read numbers of which each has one usual meaning."""
    if numbers <= {0.5, 1.0, 2.0}:
        return _Numbers({1.0: 1.0, 0.5: 0.5, 2.0: 0.0}, "1: first, 0.5: tie, 2: second")
    if numbers <= {-1.0, 0.0, 1.0} and -1.0 in numbers:
        return _Numbers({1.0: 1.0, 0.0: 0.5, -1.0: 0.0}, "1: first, 0: tie, -1: second")
    if min(numbers) >= 1 and max(numbers) <= _SECOND:
        # What lies between is a preference that a judge's probabilities were averaged to.
        middle = (1 + _SECOND) / 2
        return _Numbers(
            {number: 0.5 if number == middle else float(number < middle) for number in numbers},
            "below 1.5: first, 1.5: tie, above: second",
            is_graded=True,
        )
    return None


def _question(numbers: frozenset[float]) -> str:
    """Return the flag that settles what numbers say; nothing where they are no votes under any reading."""
    if numbers <= {0.0, 0.5, 1.0}:
        return f"{_FLAG} 1=first,0=second or {_FLAG} 0=first,1=second"
    if numbers <= {0.0, 1.0, 2.0}:
        return f"{_FLAG} 1=first,2=second,0=tie or {_FLAG} 0=first,1=tie,2=second"
    return f"{_FLAG} 1=first,2=second,3=tie" if numbers <= {1.0, 2.0, 3.0} else ""


def _side_that_wins(name: str, pair: Sequence[str]) -> Side | None:
    """Return whose win a column tells by its name, such as ``a_wins``, ``winner_model_a`` or ``left better``."""
    words = words_of(name)
    if not _WON & set(words):
        return None
    named = [column for column in pair if set(words_of(column)) <= set(words)]
    if len(named) == 1:
        return "first" if named[0] == pair[0] else "second"
    side = side_of(name)
    return side if side in ("first", "second") else None


def _numbered_from_0(pair: Sequence[str]) -> bool:
    """Tell whether the columns of the two sides are numbered 0 and 1."""
    return bool(pair) and all(end in words_of(name) for end, name in zip(OPPOSITES[-1], pair, strict=True))


def _reading(column: pd.Series, values: Floats, named: Mask, verdict_map: Mapping[str, Side]) -> str:
    """Say what the cells were taken for."""
    numbers = _numbers(column, verdict_map, None)
    by_side: dict[str, list[str]] = {}
    codes, cells = distinct(column)
    first_rows = pd.Series(np.arange(len(codes)))[~named].groupby(codes[~named]).first()
    for code, row in first_rows.items():
        cell = "" if code == -1 else str(cells[int(str(code))]).strip()
        side = _SIDE_BY_WORTH.get(float(values[row]))
        if cell and side is not None:
            by_side.setdefault(side, []).append(cell[:24])
    graded = sum(map(len, by_side.values())) > _MOST_SHOWN and bool(numbers.reading)
    readings = ["the name of the winner"] if named.any() else []
    if graded:
        return "; ".join([*readings, numbers.reading])
    return "; ".join([*readings, *(f"{_some(by_side[side])}: {side}" for side in by_side_order(by_side))])


def by_side_order(by_side: Iterable[str]) -> list[str]:
    """Return the sides that occur, the first one first."""
    return [side for side in _SIDE_BY_WORTH.values() if side in set(by_side)]


def _some(cells: Sequence[str]) -> str:
    more = f" and {len(cells) - _MOST_SHOWN} more" if len(cells) > _MOST_SHOWN else ""
    return ", ".join(cells[:_MOST_SHOWN]) + more


def _refuse(
    column: pd.Series, unknown: Mask, sides: pd.DataFrame | None, verdict_map: Mapping[str, Side], source: str
) -> None:
    """Refuse the first cell that is not a verdict, or numbers that may mean either side."""
    rows = np.flatnonzero(unknown)
    numbers = _numbers(column, verdict_map, sides)
    # Of numbers the first one that is neither 1 nor 2 is what makes them doubtful.
    odd = [row for row in rows if _number(plain_word(column.iloc[row])) not in (1.0, 2.0)]
    at = int((odd or [*rows])[0])
    where, cell = f"{source}, row {column.index[at]}", column.iloc[at]
    if numbers.question and _number(plain_word(cell)) is not None:
        raise RowError(
            f"{where}: {quoted(column.name)} is {quoted(cell)}, which may be a vote for either side",
            hint=f"say what the numbers mean: {numbers.question}",
        )
    more = " the name of the winner," if sides is not None else ""
    raise RowError(
        f"{where}: {quoted(column.name)} is {quoted(cell)}, which is not a verdict",
        hint=f"write 1 or 2, a or b, left or right, model_a or model_b,{more} A>B or tie, and leave the cell blank "
        f"for none; or say what your words mean: {_FLAG} WORD=first,OTHER=second,THIRD=tie",
    )
