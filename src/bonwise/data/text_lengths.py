"""How long the texts of candidates are, in characters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.cell_scores import mean_of_rows
from bonwise.data.words import Words, text_of

if TYPE_CHECKING:
    from bonwise.data.panel import Panel
    from bonwise.data.table import ScoreTable

__all__ = ["holds_texts", "text_lengths"]

_Floats = npt.NDArray[np.float64]

_TEXTS = ("text", "response")
"""Columns with the texts of candidates; of two the first goes before."""


def holds_texts(table: ScoreTable) -> bool:
    """Tell whether a table has a column of the candidates' texts."""
    return table.words is not None and any(name in table.words.columns for name in _TEXTS)


def text_lengths(table: ScoreTable, panel: Panel, pools: str | Path | None = None) -> _Floats:
    """Return the characters of the text of each cell of a panel, NaN where it is not known.

    Parameters
    ----------
    table : ScoreTable
        The table that the panel was laid out from.
    panel : Panel
    pools : str or pathlib.Path, optional
        Pools (JSONL) with the texts, which go before those of the table.

    Raises
    ------
    bonwise.errors.InputError
        The pools cannot be read, or hold none of the table's prompts.

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.data.panel import lay_out
    >>> from bonwise.data.table import ScoreTable
    >>> table = ScoreTable.from_frame(pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"],
    ...     "judge_score": [1, 0], "text": ["four", None]}))
    >>> text_lengths(table, lay_out(table)[0]).tolist()
    [4.0, nan]
    """
    found = mean_of_rows(table, panel, _by_row(table))
    if pools is not None:
        in_pools = np.fromiter(_in_pools(Words(table, pools), panel), dtype=np.float64)
        found = np.where(np.isnan(in_pools), found, in_pools)
    return found


def _by_row(table: ScoreTable) -> _Floats:
    out = np.full(len(table.frame), np.nan)
    if table.words is None:
        return out
    rows = table.frame.index
    words = table.words if table.words.index.equals(rows) else table.words.loc[rows]
    for name in reversed(_TEXTS):
        if name in words.columns:
            lengths = np.array([_length(cell) for cell in words[name]], dtype=np.float64)
            out = np.where(np.isnan(lengths), out, lengths)
    return out


def _length(cell: object) -> float:
    text = cell if isinstance(cell, str) else text_of(cell)
    return np.nan if text is None else len(text)


def _in_pools(words: Words, panel: Panel) -> Iterator[float]:
    found = words.of(panel.prompt_ids)
    names = panel.candidates.to_numpy()[panel.names]
    at = 0
    for prompt, size in zip(panel.prompt_ids, panel.sizes.tolist(), strict=True):
        texts = found[prompt].texts if prompt in found else {}
        yield from (len(texts[name]) if name in texts else np.nan for name in names[at : at + size])
        at += size
