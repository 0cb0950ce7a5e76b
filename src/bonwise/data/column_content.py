"""What the content of columns says about the role that they play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bonwise.data.numbers import distinct, first_text_row

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["has_numbers", "rows_told_apart", "telling", "tells_more"]


def has_numbers(column: pd.Series) -> bool:
    """Tell whether each cell is a number or blank."""
    return first_text_row(column) is None


def telling(frame: pd.DataFrame, role: str, column: str) -> bool:
    """Tell whether a column says what a role wants: prompts repeat, and candidates differ."""
    if role not in ("prompt_id", "candidate"):
        return True
    codes, cells = distinct(frame[column])
    if role == "candidate":
        return len(cells) > 1
    return len(cells) < int((codes >= 0).sum())


def rows_told_apart(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Tell whether no two rows agree in all of these columns."""
    return not pd.DataFrame(dict(enumerate(_codes(frame, columns)))).duplicated().any()


def tells_more(frame: pd.DataFrame, role: str, columns: list[str], taken: Mapping[str, str]) -> list[str]:
    """Return those of several columns that, with the columns known already, name the candidates of prompts.

    A prompt has several candidates, and each stands in one row per judge and draw. All columns are returned where
    that settles nothing.
    """
    if role == "candidate" and "prompt_id" in taken:
        others = [taken["prompt_id"], *(name for name in ("judge", "draw", "run") if name in frame.columns)]
        apart = [column for column in columns if rows_told_apart(frame, [*others, column])]
        return apart or columns
    return columns


def _codes(frame: pd.DataFrame, columns: Sequence[str]) -> list[npt.NDArray[np.intp]]:
    return [distinct(frame[column])[0] for column in columns]
