"""Oracle labels from a second file, joined on prompt AND candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.columns import resolve_columns
from bonwise.data.identifiers import as_categories
from bonwise.data.numbers import parse_numbers, shown
from bonwise.data.reading import read_raw
from bonwise.data.scales import Scale, to_unit
from bonwise.data.table import ScoreTable
from bonwise.errors import InputError, RowError

__all__ = ["join_labels"]

_REQUIRED = ("prompt_id", "candidate", "oracle_label")


def join_labels(
    table: ScoreTable,
    labels: str | Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    label_scale: Scale | None = None,
) -> ScoreTable:
    """Return the table with the labels of a second file.

    Parameters
    ----------
    table : ScoreTable
        Without labels of its own.
    labels : str, pathlib.Path or pandas.DataFrame
        Columns ``prompt_id``, ``candidate``, ``oracle_label`` or their aliases; a blank label is none.
    columns : mapping of str to str, optional
        Role to column, where the label file uses other names.
    label_scale : Scale, optional
        Declared scale of the labels.

    Raises
    ------
    bonwise.errors.InputError
        The table has labels already; a label row is a duplicate or matches nothing (rows named).
    """
    if table.has_labels:
        raise InputError(
            f"{table.source} has oracle labels of its own, and a second set was given",
            hint="drop its label column, or leave the second file out",
        )
    source = "labels" if isinstance(labels, pd.DataFrame) else str(labels)
    raw = (
        labels.set_axis(pd.RangeIndex(len(labels)), axis=0)
        if isinstance(labels, pd.DataFrame)
        else read_raw(Path(labels))
    )
    wanted = {role: column for role, column in (columns or {}).items() if column in raw.columns}
    taken = resolve_columns(raw, wanted, source=source, required=_REQUIRED)
    prompts = as_categories(raw[taken["prompt_id"]], role="prompt_id", source=source)
    names = as_categories(raw[taken["candidate"]], role="candidate", source=source)
    values = parse_numbers(raw[taken["oracle_label"]], role="oracle_label", source=source)
    values = to_unit(values, label_scale, rows=raw.index, role="oracle_label", source=source)
    keys = _keys_in(table, prompts, names)
    _refuse_unmatched(table, raw, prompts, names, keys, source)
    _refuse_repeated(raw, prompts, names, keys, source)
    found = pd.Series(values, index=keys).reindex(table.cell_keys()).to_numpy()
    frame = table.frame.assign(oracle_label=found)
    return replace(table, frame=frame, label_scale=label_scale)


def _keys_in(table: ScoreTable, prompts: pd.Categorical, names: pd.Categorical) -> npt.NDArray[np.int64]:
    """Key each label row as the table keys its cells; -1 where either name is unknown."""
    prompt = table.prompts.get_indexer(prompts.categories)[prompts.codes].astype(np.int64)
    name = table.candidates.get_indexer(names.categories)[names.codes].astype(np.int64)
    keys = np.where((prompt < 0) | (name < 0), -1, prompt * len(table.candidates) + name)
    return np.where(np.isin(keys, table.cell_keys()), keys, -1)


def _refuse_unmatched(
    table: ScoreTable,
    raw: pd.DataFrame,
    prompts: pd.Categorical,
    names: pd.Categorical,
    keys: npt.NDArray[np.int64],
    source: str,
) -> None:
    lost = np.flatnonzero(keys < 0)
    if not lost.size:
        return
    at = int(lost[0])
    pair = f"{shown(prompts[at])} / {shown(names[at])}"
    if lost.size == len(raw):
        raise RowError(
            f"{source}: none of its {len(raw)} rows matches a scored candidate (row {raw.index[at]}: {pair})",
            hint="check --prompt-col and --candidate-col, and that both files name prompts and candidates alike",
        )
    rows = ", ".join(str(row) for row in raw.index[lost[:5]]) + ("" if lost.size <= 5 else ", ...")
    raise RowError(
        f"{source}: {lost.size} label rows match no scored candidate of {table.source} (rows {rows}; "
        f"the first is {pair})",
        hint="remove these rows, or score the candidates they label",
    )


def _refuse_repeated(
    raw: pd.DataFrame,
    prompts: pd.Categorical,
    names: pd.Categorical,
    keys: npt.NDArray[np.int64],
    source: str,
) -> None:
    again = pd.Series(keys).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        first = int(np.flatnonzero(keys == keys[at])[0])
        raise RowError(
            f"{source}, row {raw.index[at]}: {shown(prompts[at])} / {shown(names[at])} is labelled again "
            f"(first in row {raw.index[first]})",
            hint="keep one label a candidate",
        )
