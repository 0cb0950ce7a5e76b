"""What other judges of a table say of the cells of one judge's panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.cells import mean_by_cell, positions

if TYPE_CHECKING:
    from bonwise.data.panel import Panel
    from bonwise.data.table import ScoreTable

__all__ = ["further_scores", "scores_of"]

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
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    at = np.where((table.frame["judge"] == judge).to_numpy(), positions(table.cell_keys(), cells), -1)
    rows = np.flatnonzero(at >= 0)
    return mean_by_cell(at[rows], table.frame["judge_score"].to_numpy()[rows], len(cells))


def further_scores(table: ScoreTable, panel: Panel) -> dict[str, _Floats]:
    """Return the scores of every other judge of the table, by judge."""
    return {judge: scores_of(table, panel, judge) for judge in table.judges if judge != panel.judge}
