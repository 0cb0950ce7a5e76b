"""With which probability each prompt of a table, or each candidate, was drawn for labelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.cells import mean_by_cell, positions
from bonwise.data.wording import quoted
from bonwise.errors import RowError

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.panel import Panel
    from bonwise.data.table import ScoreTable

__all__ = ["candidate_propensities", "differ_within_prompts", "propensities"]

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
