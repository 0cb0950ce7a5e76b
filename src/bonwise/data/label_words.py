"""Labels that are written as words: pass and fail, yes and no, true and false."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.numbers import distinct, first_text_row, parse_numbers
from bonwise.data.wording import quoted
from bonwise.errors import RowError

__all__ = ["fits_labels", "label_words", "parse_labels"]

_PAIRS: tuple[Mapping[str, float], ...] = tuple(
    MappingProxyType({good: 1.0, bad: 0.0}) for good, bad in (("pass", "fail"), ("yes", "no"), ("true", "false"))
)
_VALUES: Mapping[str, float] = MappingProxyType({word: value for pair in _PAIRS for word, value in pair.items()})


def fits_labels(column: pd.Series) -> bool:
    """Tell whether each cell is blank, a number or one of the words for labels.

    Examples
    --------
    >>> fits_labels(pd.Series(["Pass", "fail", ""])), fits_labels(pd.Series(["pass", "unclear"]))
    (True, False)
    """
    return first_text_row(_as_numbers(column) if label_words(column) else column) is None


def label_words(column: pd.Series) -> Mapping[str, float]:
    """Return what the words of a column of labels stand for; empty where it holds numbers.

    Examples
    --------
    >>> dict(label_words(pd.Series(["PASS", None]))), dict(label_words(pd.Series(["0.5", "1"])))
    ({'pass': 1.0, 'fail': 0.0}, {})
    """
    if column.dtype.kind in "iuf":
        return {}
    if column.dtype.kind == "b":
        return _PAIRS[-1]
    found = [word for word in _words(distinct(column)[1]) if word in _VALUES]
    return next((pair for pair in _PAIRS if found and found[0] in pair), {})


def parse_labels(column: pd.Series, *, source: str) -> npt.NDArray[np.float64]:
    """Parse one column of labels to floats, NaN where the cell is blank.

    Parameters
    ----------
    column : pandas.Series
        Of any dtype; its index holds the row numbers to name in an error.
    source : str
        How to name the file in an error.

    Returns
    -------
    ndarray of float64, shape (rows,)

    Raises
    ------
    bonwise.errors.RowError
        What is neither a number nor one of the words; words of two pairs; words beside numbers other than 0 and 1.

    Examples
    --------
    >>> parse_labels(pd.Series(["PASS", "fail", None]), source="labels.csv").tolist()
    [1.0, 0.0, nan]
    """
    pair = label_words(column)
    if not pair:
        return parse_numbers(column, role="oracle_label", source=source)
    values = parse_numbers(_as_numbers(column), role="oracle_label", source=source)
    strange = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
    if column.dtype.kind != "b":
        codes, cells = distinct(column)
        other = [word in _VALUES and word not in pair for word in _words(cells)]
        strange |= np.array([*other, False])[codes]
    _refuse(column, strange, next(iter(pair)), source)
    return values


def _words(cells: Iterable[object]) -> list[str]:
    return [str(cell).strip().lower() for cell in cells]


def _as_numbers(column: pd.Series) -> pd.Series:
    """Return a column with numbers in place of its words."""
    if column.dtype.kind == "b":
        return column
    codes, cells = distinct(column)
    values = [_VALUES.get(word, cell) for word, cell in zip(_words(cells), cells, strict=True)]
    # One cell more, reached by the code -1 of a missing one.
    replaced = np.empty(len(values) + 1, dtype=object)
    replaced[:-1] = values
    return pd.Series(replaced[codes], index=column.index, name=column.name, dtype=object)


def _refuse(column: pd.Series, strange: npt.NDArray[np.bool_], word: str, source: str) -> None:
    """Refuse a cell that stands beside a word and is on another scale, or may be."""
    if strange.any():
        at = int(np.flatnonzero(strange)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: oracle_label holds {quoted(column.iloc[at])} in a column of "
            f"{word!r} and the like: another scale could be meant",
            hint="write one pair of words (pass/fail, yes/no or true/false), or numbers alone",
        )
