"""The table that was understood of a file, as rows that every command reads without a flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.report import numbers
from bonwise.table import cells, reading_options, roles, scales, store

if TYPE_CHECKING:
    from bonwise.table.score_table import ScoreTable


def table_rows(table: ScoreTable) -> store.Rows:
    """Return a table under canonical names, directions, scales and missing values settled, a column an annotator."""
    held = dict(table.rows.columns)
    wide = cells.draw_columns(held)
    if wide and table.columns.get("judge_score") == cells.averaged(wide):
        del held["judge_score"]
    if len(table.judges) == 1 and "judge" not in table.columns:
        del held["judge"]
    if not table.has_labels:
        del held["oracle_label"]
    elif _keeps_annotators(table):
        del held["oracle_label"]
        held |= _labels_of_annotators(table)
    order = [role for role in roles.ROLES if role in held] + [name for name in held if name not in roles.ROLES]
    words = {} if table.words is None else {n: c for n, c in table.words.columns.items() if n not in held}
    return store.Rows({**{name: held[name] for name in order}, **words}, table.rows.index)


def reading_of_written(table: ScoreTable, reading: reading_options.ReadingOptions) -> reading_options.ReadingOptions:
    """Return how what `table_rows` makes is read: what its values do not show is said again, in their unit."""
    scale, unlabelled = table.label_scale, table.unlabelled if _keeps_annotators(table) else None
    low, width = (0.0, 1.0) if scale is None else (scale.low, scale.high - scale.low)
    return reading_options.ReadingOptions(
        annotator_rule=reading.annotator_rule,
        label_scale=None if scale is None else scales.Scale(0, 1),
        unlabelled_is=None if unlabelled is None else (unlabelled.value - low) / width,
    )


def labels_lost(table: ScoreTable) -> Iterator[str]:
    """Say how many labels are of what the table does not hold, and are not written with it."""
    beyond = 0 if table.unretrieved is None else len(table.unretrieved.labels)
    if count := beyond or table.labels_left_out.get("rows", 0):
        use = "; nDCG and recall of an audit count them: for these keep --labels" if beyond else ""
        yield f"Not written: {numbers.counted(count, 'label')} of what the table does not hold{use}."


def _keeps_annotators(table: ScoreTable) -> bool:
    """Tell whether the labels of each annotator are written, and no label that was made of them."""
    return table.annotators is not None and not table.annotators.stated


def _labels_of_annotators(table: ScoreTable) -> dict[str, Any]:
    """Return what each annotator said of the candidate of each row, under names that are found again."""
    labels = table.annotators
    if labels is None:
        return {}
    keys = labels.cell_keys(table.prompts, table.candidates)
    made = {}
    for at in range(len(labels.names)):
        of_one = (labels.annotators == at) & (keys >= 0)
        own = keys[of_one]
        order = np.argsort(own, kind="stable")
        values = np.append(labels.values[of_one][order], np.nan)
        made[f"label_{at + 1}"] = values[cells.positions(table.cell_keys(), own[order])]
    return made
