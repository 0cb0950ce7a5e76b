"""A file in any shape, as the rows of the long table that can be told from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd

from bonwise.data.annotator_columns import LabelColumns
from bonwise.data.label_words import read_labels
from bonwise.data.numbers import is_blank, read_numbers
from bonwise.data.reading_options import ReadingOptions, RowKeywords, opens_a_table
from bonwise.data.roles import NUMERIC, ROLES, SPOKEN
from bonwise.data.rows import RowSource, refuse_duplicate_columns
from bonwise.data.sources import OpenedSource, open_source, with_columns
from bonwise.errors import FileError, RowError

__all__ = ["ConvertedTable", "convert"]


@dataclass(frozen=True, eq=False)
class ConvertedTable:
    """The long table of a file."""

    frame: pd.DataFrame
    """Columns under their canonical names; the words of prompts and candidates and other columns after them."""
    said: str
    """How the file was read; empty for a table in the usual shape."""
    lacks: tuple[str, ...]
    """What an audit would need and the file does not hold, a sentence each."""
    left_out: int
    """Rows whose prompt or candidate cannot be told."""


@opens_a_table
def convert(source: RowSource, **reading: Unpack[RowKeywords]) -> ConvertedTable:
    """Return every row of a file whose prompt and candidate can be told.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
        A folder too.
    **reading
        How its columns are read, see `bonwise.data.reading_options.ReadingOptions`.

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read, or of no row prompt and candidate can be told.

    Examples
    --------
    >>> found = convert([{"Task ID": "t", "gpt_score": "85%", "claude_score": "70%"}])
    >>> found.frame.to_numpy().tolist()
    [['t', 'gpt', 0.85], ['t', 'claude', 0.7]]
    """
    options = ReadingOptions.of(convert, reading)
    opened = open_source(source, options.named_columns)
    refuse_duplicate_columns(opened.frame, opened.name)
    opened, taken = with_columns(opened, options, complete=False)
    frame = opened.frame
    told = ~(is_blank_id(frame[taken["prompt_id"]]) | is_blank_id(frame[taken["candidate"]]))
    if not told.any():
        raise FileError(
            f"{opened.name}: no row names a prompt and a candidate",
            hint="name the columns with --prompt-col and --candidate-col",
        )
    frame = frame[told]
    lacks = list(opened.imported.lacks) if opened.imported is not None else []
    columns: dict[str, pd.Series] = {}
    for role in (role for role in ROLES if taken.get(role) in frame.columns):
        column = frame[taken[role]]
        columns[role] = column
        if role in NUMERIC:
            try:
                columns[role] = _as_numbers(column, role, options, opened)
            except RowError as error:
                lacks.append(str(error))
    labels = taken.get("oracle_label", "")
    if isinstance(labels, LabelColumns) and "oracle_label" in options.named_columns:
        # Names under which the columns of several annotators are found again.
        columns |= {f"label_{at}": frame[name] for at, name in enumerate(labels.names, start=1)}
        taken = taken | {f"label {name}": name for name in labels.names}
    used = {*taken.values(), *columns}
    others = [name for name in frame.columns if name not in used]
    for name in sorted(others, key=lambda name: name not in SPOKEN):
        columns[str(name)] = frame[name]
    if "judge_score" not in columns and "oracle_label" in columns:
        # A file that begins with prompt, candidate and label is a label sheet, which nothing writes over.
        columns["oracle_label"] = columns.pop("oracle_label")
    made = pd.DataFrame(columns)
    held = None if not isinstance(labels, LabelColumns) else frame[list(labels.names)]
    lacks += [sentence for sentence in _lacking(made, held) if sentence.partition(":")[0] not in "; ".join(lacks)]
    return ConvertedTable(made, opened.said, tuple(lacks), int((~told).sum()))


def is_blank_id(column: pd.Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which cells are no identifier; NA and null are, because a prompt may be called so."""
    missing = column.isna().to_numpy(dtype=bool)
    return np.asarray(missing | (column.astype(str).str.strip() == "").to_numpy(dtype=bool))


def _as_numbers(column: pd.Series, role: str, reading: ReadingOptions, opened: OpenedSource) -> pd.Series:
    """Return a column as plain numbers where it is written otherwise: a comma means another thing in another file."""
    if role in ("judge_score", "oracle_label"):
        values, words, said = read_labels(column, source=opened.name, worth=reading.word_values, role=role)
    else:
        words = {}
        values, said = read_numbers(column, role=role, source=opened.name)
    return pd.Series(values, index=column.index) if said or words else column


def _lacking(frame: pd.DataFrame, labels: pd.DataFrame | None) -> Iterator[str]:
    """Yield what an audit of these rows would need; labels of several annotators are in columns of their own."""
    pairs = frame[["prompt_id", "candidate"]].astype(str).drop_duplicates()
    if not pairs["prompt_id"].duplicated().any():
        yield "no prompt has a second candidate"
    if "judge_score" not in frame.columns or is_blank(frame["judge_score"]).all():
        yield "no judge's score: score the responses with bonwise judge"
    if labels is None and "oracle_label" in frame.columns:
        labels = frame[["oracle_label"]]
    if labels is None or all(is_blank(labels[name]).all() for name in labels.columns):
        yield "no label of a person: give them with --labels, or compare two judges with --oracle judge:NAME"
