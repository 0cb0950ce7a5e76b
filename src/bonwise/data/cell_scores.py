"""What a table says of the cells of one judge's panel: scores of other judges, and further columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.cells import mean_by_cell, positions

if TYPE_CHECKING:
    from bonwise.data.panel import Panel
    from bonwise.data.table import ScoreTable

__all__ = ["further_scores", "mean_of_judge", "mean_of_rows", "scores_of"]

_Floats = npt.NDArray[np.float64]


def scores_of(table: ScoreTable, panel: Panel, judge: str) -> _Floats:
    """Return a judge's scores of a panel's cells, NaN where it gave none.

    Parameters
    ----------
    table : ScoreTable
        The table that the panel was laid out from.
    panel : Panel
    judge : str

    Returns
    -------
    ndarray of float64, shape (cells,)
    """
    return mean_of_judge(table, panel, table.frame["judge_score"].to_numpy(), judge)


def mean_of_judge(table: ScoreTable, panel: Panel, values: _Floats, judge: str) -> _Floats:
    """Return values of one judge's rows of a table at the cells of a panel, averaged as `mean_of_rows` does."""
    mine = (table.frame["judge"] == judge).to_numpy()
    return mean_of_rows(table, panel, np.where(mine, values, np.nan))


def mean_of_rows(table: ScoreTable, panel: Panel, values: _Floats) -> _Floats:
    """Return values of the rows of a table at the cells of a panel, averaged over the rows of a cell.

    Parameters
    ----------
    table : ScoreTable
        The table that the panel was laid out from.
    panel : Panel
    values : ndarray of float64, shape (rows,)
        NaN in rows that say nothing.

    Returns
    -------
    ndarray of float64, shape (cells,)
        NaN where no row says anything.
    """
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    # Candidates of a pool are in the order of their names, prompts in that of their ids: the keys rise.
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    return mean_by_cell(positions(table.cell_keys(), cells), values, len(cells))


def further_scores(table: ScoreTable, panel: Panel) -> dict[str, _Floats]:
    """Return the scores of every other judge of the table, by judge."""
    return {judge: scores_of(table, panel, judge) for judge in table.judges if judge != panel.judge}
