"""A validated table as a file that every command reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.data.writing import csv_frame

if TYPE_CHECKING:
    from bonwise.data.table import ScoreTable

__all__ = ["score_file"]

_FIRST = ("prompt_id", "candidate", "judge", "judge_score", "oracle_label")


def score_file(table: ScoreTable) -> str:
    """Render a table as CSV, under the names that need no flags; words of prompts and answers are left out.

    Parameters
    ----------
    table : ScoreTable

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.data.table import ScoreTable
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
