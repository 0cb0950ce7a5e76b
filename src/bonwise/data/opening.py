"""From what a user names, a file, a frame or a table, to the validated table with its labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.data.labels import join_labels
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.errors import InputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["open_table"]


def open_table(
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    labels: str | Path | pd.DataFrame | None = None,
    oracle: str | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
) -> ScoreTable:
    """Return a table of scores with oracle labels.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Labels from elsewhere, joined on prompt and candidate.
    oracle : str, optional
        ``judge:NAME`` takes one judge of the table as the reference.
    columns : mapping of str to str, optional
        Role to column name.
    judge_scale, label_scale : Scale, optional
        Declared scales.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where there are no labels at all.
    """
    if labels is not None and oracle is not None:
        raise UsageError("two references: a label file and a judge", hint="give --labels or --oracle, not both")
    own_scale = label_scale if labels is None else None
    own_columns = {role: c for role, c in (columns or {}).items() if labels is None or role != "oracle_label"}
    if isinstance(source, ScoreTable):
        if columns or judge_scale or own_scale:
            raise UsageError("columns and scales of a ScoreTable are fixed", hint="give them to ScoreTable.read")
        table = source
    elif isinstance(source, str | Path):
        table = ScoreTable.read(source, columns=own_columns, judge_scale=judge_scale, label_scale=own_scale)
    else:
        table = ScoreTable.from_frame(source, columns=own_columns, judge_scale=judge_scale, label_scale=own_scale)
    if labels is not None:
        table = join_labels(table, labels, columns=columns, label_scale=label_scale)
    if oracle is not None:
        kind, _, name = oracle.partition(":")
        if kind != "judge" or not name:
            raise UsageError(f"not a reference: {oracle!r}", hint="write judge:NAME")
        table = table.with_reference(name)
    if not table.has_labels:
        raise InputError(
            f"{table.source}: no oracle labels to compare the judge with",
            hint="add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    return table
