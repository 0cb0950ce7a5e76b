"""Files that are no table of scores, told by their columns: which command reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonwise.data.column_names import by_key
from bonwise.errors import ColumnError
from bonwise.printable import shell_path, shell_word

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["other_file", "pools_or_picks"]

_WINNERS = ("winner", "preference", "preferred", "choice", "vote", "verdict", "label", "judgment", "judgement")
_PAIRS = (("modela", "modelb"), ("model1", "model2"), ("left", "right"), ("responsea", "responseb"), ("a", "b"))


def pools_or_picks(frame: pd.DataFrame, source: str) -> ColumnError | None:
    """Return what to say of a file of pools or picks; None for any other."""
    if {"prompt", "candidates"} <= set(frame.columns):
        return ColumnError(
            f"{source}: pools of candidates, not a table of scores",
            hint="score them first: bonwise judge POOLS --judge local:lexical --out scores.csv",
        )
    if {"best", "ids"} <= set(frame.columns):
        return ColumnError(
            f"{source}: picks of bonwise select, not a table of scores",
            hint="picks are audited from their file: bonwise audit PICKS.jsonl --labels LABELS.csv",
        )
    return None


def other_file(frame: pd.DataFrame, source: str) -> ColumnError | None:
    """Return what to say of a file of pools, picks or votes; None for any other."""
    return pools_or_picks(frame, source) or _votes(frame, source)


def _votes(frame: pd.DataFrame, source: str) -> ColumnError | None:
    names = by_key(frame.columns)
    pair = next((pair for pair in _PAIRS if all(key in names for key in pair)), None)
    winner = next((key for key in _WINNERS if key in names), None)
    if pair is None or winner is None:
        return None
    first, second, verdict = (str(names[key][0]) for key in (*pair, winner))
    return ColumnError(
        f"{source}: votes on pairs, not a table of scores",
        hint=f"bonwise preferences {shell_path(source)} --verdict-col {shell_word(verdict)} "
        f"--pair-col {shell_word(f'{first},{second}')}",
    )
