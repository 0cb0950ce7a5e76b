"""A stack of judges at a table.

The features of its candidates, its utilities as scores of a further judge, and the file that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.errors import InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.stacks.fitted_stack import JudgeStack, StackFeature
from bonwise.table.cell_scores import cell_repeats, mean_of_rows
from bonwise.table.cells import draw_columns
from bonwise.table.panel import Panel, lay_out
from bonwise.table.words import text_lengths
from bonwise.table.writing import csv_frame

if TYPE_CHECKING:
    from bonwise.table.checks import Shape
    from bonwise.table.score_table import ScoreTable

__all__ = ["STACK", "feature_values", "score_file", "with_judge", "with_stack"]

STACK = "stack"
"""What a stack is called as a judge of a table."""

_Floats = npt.NDArray[np.float64]


def feature_values(table: ScoreTable, panels: Mapping[str, Panel], features: Sequence[StackFeature]) -> _Floats:
    """Return the features of every cell, NaN where the table has none.

    Parameters
    ----------
    table : ScoreTable
    panels : mapping of str to Panel
        By judge, with the same cells: ``lay_out(table, complete=False)``.
    features : sequence of StackFeature
        A judge without a panel has none of its features.

    Returns
    -------
    ndarray of float64, shape (cells, features)
    """
    anyone = next(iter(panels.values()))
    columns = [_column(table, panels.get(one.judge, anyone), one, known=one.judge in panels) for one in features]
    return np.stack(columns, axis=1)


def _column(table: ScoreTable, panel: Panel, feature: StackFeature, *, known: bool) -> _Floats:
    if feature.kind == "length":
        return _lengths(table, panel)
    if not known:
        return np.full(len(panel.scores), np.nan)
    if feature.kind == "score":
        return panel.scores
    found = cell_repeats(table, panel)
    if feature.kind == "width":
        return np.full(len(panel.scores), np.nan) if found.width is None else found.width
    return np.full(len(panel.scores), np.nan) if found.draws is None else _spread(found.draws)


def _spread(draws: _Floats) -> _Floats:
    """Return the standard deviation of the draws of each candidate, NaN where there are fewer than two."""
    known = ~np.isnan(draws)
    count = known.sum(axis=1)
    mean = np.where(known, draws, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = np.where(known, (draws - mean[:, None]) ** 2, 0.0).sum(axis=1)
    found: _Floats = np.sqrt(squares / np.maximum(count - 1, 1))
    return np.where(count > 1, found, np.nan)


def _lengths(table: ScoreTable, panel: Panel) -> _Floats:
    """Return the logarithm of the length of each text, as its column has it or in characters."""
    if "length" in table.columns:
        lengths = mean_of_rows(table, panel, table.frame["length"].to_numpy(dtype=np.float64))
    else:
        lengths = text_lengths(table, panel)
    # An empty answer has no logarithm: it counts as one of one character.
    return np.log(np.maximum(lengths, 1.0))


def with_judge(table: ScoreTable, panel: Panel, scores: _Floats, name: str = STACK) -> ScoreTable:
    """Return the table with the scores of a further judge.

    Parameters
    ----------
    table : ScoreTable
    panel : Panel
        One of `lay_out(table)`, whose cells the scores are of.
    scores : ndarray of float64, shape (cells,)
        NaN where there is none: such a cell has no row.
    name : str

    Raises
    ------
    bonwise.errors.UsageError
        A judge of the table has this name.
    """
    if name in table.judges:
        raise UsageError(
            f"{table.source}: a judge is called {quoted(name)} already",
            hint="give the stack another name with --name",
        )
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    keys = table.cell_keys()
    order = np.argsort(keys, kind="stable")
    first = order[np.searchsorted(keys[order], cells)]
    scored = ~np.isnan(scores)
    rows = table.frame.iloc[first[scored]].copy()
    known = sorted([*table.judges, name])
    rows["judge"] = pd.Categorical([name] * len(rows), categories=known)
    rows["judge_score"] = scores[scored]
    # A label stands in the row of one judge or of several: here it is that of the cell.
    rows["oracle_label"] = panel.labels[scored]
    of_one_judge = {"draw", "low", "high", "ci_width", "judge_family", *draw_columns(table.frame.columns)}
    own = [column for column in rows.columns if column not in of_one_judge]
    others = table.frame.assign(judge=table.frame["judge"].cat.set_categories(known))
    frame = pd.concat([others, rows[own]])
    for column in table.frame.columns:
        # Rows of a judge without draws lack what the others have; categories stay categories.
        if isinstance(table.frame[column].dtype, pd.CategoricalDtype) and column != "judge":
            frame[column] = frame[column].astype(table.frame[column].dtype)
    return replace(table, frame=frame)


def with_stack(
    table: ScoreTable,
    stack: JudgeStack,
    *,
    name: str = STACK,
    exclude: Sequence[str] = (),
    shape: Shape | None = None,
) -> tuple[ScoreTable, tuple[str, ...]]:
    """Return the table with the utilities of a stack as the scores of a further judge.

    Parameters
    ----------
    table : ScoreTable
    stack : JudgeStack
    name : str
        Of the further judge.
    exclude : sequence of str
        Candidates that get no utility.
    shape : {"rectangular", "ragged"}, optional

    Returns
    -------
    ScoreTable
    tuple of str
        Judges of the stack that the table lacks: their scores are filled by what is to be expected of them given the
        others.

    Raises
    ------
    bonwise.errors.InputError
        The table has none of its judges.
    """
    lacking = tuple(judge for judge in stack.judges if judge not in table.judges)
    if len(lacking) == len(stack.judges):
        raise InputError(
            f"{table.source}: none of the judges of the stack has scores there",
            hint=f"the stack takes {listed(stack.judges)}; the table has {listed(table.judges)}",
        )
    panels = {one.judge: one for one in lay_out(table, exclude=exclude, shape=shape, complete=False)}
    anyone = next(iter(panels.values()))
    scores = stack.utilities(feature_values(table, panels, stack.features), anyone.sizes)
    return with_judge(table, anyone, scores, name), lacking


_FIRST = ("prompt_id", "candidate", "judge", "judge_score", "oracle_label")


def score_file(table: ScoreTable) -> str:
    """Render a table as CSV, under the names that need no flags; words of prompts and answers are left out.

    Parameters
    ----------
    table : ScoreTable

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.table.score_table import ScoreTable
    >>> table = ScoreTable.from_frame(pd.DataFrame({
    ...     "item_id": ["p1", "p1"], "model": ["=a", "b"], "score": [0.9, 0.4]}))
    >>> print(score_file(table), end="")
    prompt_id,candidate,judge,judge_score
    p1,'=a,judge,0.9
    p1,b,judge,0.4
    """
    frame = table.frame
    known = [name for name in _FIRST if name in frame.columns]
    order = [*known, *(name for name in frame.columns if name not in known)]
    said = [name for name in order if not frame[name].isna().all()]
    return csv_frame(frame[said])
