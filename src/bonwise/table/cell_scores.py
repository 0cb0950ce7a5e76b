"""What a table says of the cells of one judge's panel.

Scores of other judges, further columns, and the chance to be drawn for labelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table.cells import mean_by_cell, positions

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.panel import Panel
    from bonwise.table.score_table import ScoreTable

__all__ = [
    "candidate_propensities",
    "differ_within_prompts",
    "further_scores",
    "mean_of_judge",
    "mean_of_rows",
    "propensities",
    "scores_of",
]

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


_ROUNDING = 1e-9
"""By which equal propensities of one candidate may differ."""


def differ_within_prompts(table: ScoreTable) -> bool:
    """Tell whether some prompt states two propensities: then candidates were drawn, not prompts."""
    if "propensity" not in table.frame.columns:
        return False
    by_prompt = table.frame["propensity"].groupby(table.frame["prompt_id"], observed=False)
    return bool((by_prompt.min() < by_prompt.max()).any())


def candidate_propensities(table: ScoreTable, panel: Panel) -> npt.NDArray[np.float64]:
    """Return the propensity of each cell of a panel.

    Parameters
    ----------
    table : ScoreTable
        With a column ``propensity``; the panel was laid out from it.
    panel : Panel

    Raises
    ------
    bonwise.errors.RowError
        A candidate has none, or rows of one state two.
    """
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    order = np.argsort(cells, kind="stable")
    at = positions(table.cell_keys(), cells[order])
    stated = table.frame["propensity"].to_numpy()
    found = np.empty(len(cells))
    found[order] = mean_by_cell(at, stated, len(cells))
    if (absent := np.isnan(found)).any():
        raise RowError(
            f"{table.source}: {_cell(panel, absent)} has no propensity, and those of other candidates differ within "
            "prompts",
            hint="give every candidate the probability with which it was drawn for labelling, labelled or not",
        )
    rows = at >= 0
    apart = np.zeros(len(cells), dtype=bool)
    apart[order[at[rows]]] = np.abs(stated[rows] - found[order[at[rows]]]) > _ROUNDING
    if apart.any():
        raise RowError(
            f"{table.source}: rows of {_cell(panel, apart)} state two propensities",
            hint="a candidate is labelled once for all judges: give each of its rows the same",
        )
    return found


def _cell(panel: Panel, chosen: npt.NDArray[np.bool_]) -> str:
    first = int(np.flatnonzero(chosen)[0])
    prompt = panel.prompt_ids[int(np.searchsorted(np.cumsum(panel.sizes), first, side="right"))]
    return f"{quoted(prompt)} / {quoted(panel.candidates[panel.names[first]])}"


def propensities(table: ScoreTable, prompt_ids: pd.Index, labelled: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the propensity of some prompts of a table, NaN where an unlabelled one has none.

    Parameters
    ----------
    table : ScoreTable
        With a column ``propensity``.
    prompt_ids : pandas.Index, shape (prompts,)
    labelled : ndarray of bool, shape (prompts,)

    Raises
    ------
    bonwise.errors.RowError
        A labelled prompt has none, or a prompt has two.
    """
    by_prompt = table.frame["propensity"].groupby(table.frame["prompt_id"], observed=False)
    least, most = by_prompt.min().to_numpy(), by_prompt.max().to_numpy()
    at = table.prompts.get_indexer(prompt_ids)
    if (absent := np.isnan(least[at]) & labelled).any():
        raise RowError(
            f"{table.source}: {quoted(prompt_ids[absent][0])} is labelled but has no propensity",
            hint="give each labelled prompt the probability with which it was drawn for labelling",
        )
    if (apart := least[at] < most[at]).any():
        raise RowError(
            f"{table.source}: {quoted(prompt_ids[apart][0])} has two propensities",
            hint="give each row of a prompt the same; bonwise audit reads propensities of candidates",
        )
    found: npt.NDArray[np.float64] = least[at]
    return found
