"""Columns that hold the labels of several annotators: one each, named alike but for a number or a letter."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Self

import pandas as pd

from bonwise.data.column_names import name_tokens
from bonwise.data.label_words import fits_labels
from bonwise.data.numbers import distinct

__all__ = ["LabelColumns", "label_column_groups", "names_of_columns"]

_PEOPLE = frozenset(
    {
        *("annotator", "annotation", "rater", "labeler", "labeller", "worker", "crowdworker", "reviewer", "assessor"),
        *("coder", "expert"),
    }
)
_WHO = _PEOPLE | {"label", "human", "gold", "golden", "oracle"}
_WHAT = frozenset({"label", "rating", "score", "grade", "verdict", "oracle", "human", "value"})
_MARK = re.compile(r"\d{1,3}|[a-z]")
_MOST = 200
"""Columns that one candidate may have labels in; more are data of another kind."""


class LabelColumns(str):
    """Several columns of labels, each of another annotator, as the column that plays ``oracle_label``.

    The text lists their names.

    Parameters
    ----------
    names : sequence of str
        Two or more.

    Examples
    --------
    >>> LabelColumns.of(["label_1", "label_2"]), LabelColumns.of(["label_1", "label_2"]).names
    ('label_1, label_2', ('label_1', 'label_2'))
    """

    __slots__ = ("names",)
    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return several columns under the list of their names."""
        names = tuple(names)
        found = cls(", ".join(map(str, names)))
        found.names = names
        return found

    @classmethod
    def named(cls, named: str, columns: Collection[object]) -> Self | None:
        """Return the columns that a user named, joined by commas; None where one is not there, or is named twice."""
        parts = [part.strip() for part in named.split(",")]
        several = 1 < len(parts) == len({*parts}) and named not in columns
        return cls.of(parts) if several and all(part in columns for part in parts) else None


def names_of_columns(column: str) -> tuple[str, ...]:
    """Return the name of the column that plays a role, or those of several columns of labels."""
    return column.names if isinstance(column, LabelColumns) else (column,)


def label_column_groups(
    frame: pd.DataFrame, candidate: str | None, worth: Mapping[str, float], taken: Collection[str]
) -> list[LabelColumns]:
    """Return the groups of columns that hold labels of several annotators, such as ``rater_a`` and ``rater_b``.

    Parameters
    ----------
    frame : pandas.DataFrame
    candidate : str, optional
        The column of candidates: the letters of ``label_a`` and ``label_b`` are not annotators where these are names
        of candidates.
    worth : mapping of str to float
        What words among labels are worth.
    taken : collection of str
        Columns that play another role.

    Examples
    --------
    >>> frame = pd.DataFrame({"Rater A": ["yes"], "Rater B": ["no"], "score_1": [1], "score_2": [2]})
    >>> label_column_groups(frame, None, {}, ())
    ['Rater A, Rater B']
    """
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for column in frame.columns:
        if column in taken or (told := _stem_and_mark(column)) is None:
            continue
        groups.setdefault(told[0], {}).setdefault(told[1], column)
    names = _names(frame, candidate)
    return [
        LabelColumns.of(marked.values())
        for stem, marked in groups.items()
        if 2 <= len(marked) <= _MOST
        and (_PEOPLE & {*stem} or not set(marked) <= names)
        and all(fits_labels(frame[column], worth) for column in marked.values())
    ]


def _stem_and_mark(name: object) -> tuple[tuple[str, ...], str] | None:
    """Return a name without the number or letter that marks an annotator, and that mark; None for another name."""
    tokens = name_tokens(re.sub(r"(?<=[a-zA-Z])(?=\d)", " ", str(name)[:_MOST]))
    marks = [token for token in tokens if _MARK.fullmatch(token)]
    stem = tuple(token for token in tokens if token not in marks)
    if len(marks) != 1 or not _WHO & {*stem} or not {*stem} <= _WHO | _WHAT:
        return None
    return stem, marks[0]


def _names(frame: pd.DataFrame, candidate: str | None) -> frozenset[str]:
    if candidate is None or candidate not in frame.columns:
        return frozenset()
    return frozenset(str(cell).strip().casefold() for cell in distinct(frame[candidate])[1])
