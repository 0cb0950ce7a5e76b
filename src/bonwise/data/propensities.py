"""The probability with which each prompt of a table was drawn for labelling, as the table states it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.wording import quoted
from bonwise.errors import RowError

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.table import ScoreTable

__all__ = ["propensities"]


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
            hint="a prompt is drawn for labelling as a whole: give each of its rows the same",
        )
    found: npt.NDArray[np.float64] = least[at]
    return found
