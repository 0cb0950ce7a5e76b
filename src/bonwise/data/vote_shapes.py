"""Files of votes whose verdicts stand in several cells or in lists, brought to one column per verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.column_names import by_key, key_of
from bonwise.data.numbers import is_blank
from bonwise.data.structured_text import StructuredText
from bonwise.data.verdict_words import Side, side_of
from bonwise.data.vote_sides import pair_of

__all__ = ["ShapedVotes", "shaped_votes"]

_GAMES = ("game 1 winner", "game 2 winner")
_BASELINE = "baseline"
_TURNED: Mapping[Side, Side] = {"first": "second", "second": "first", "tie": "tie", "none": "none"}
_TIE_KEYS = ("winnertie", "tie", "winnertied", "tied")


class ShapedVotes(NamedTuple):
    """Rows with one column per verdict, and how they were made; nothing where they stand as they were."""

    frame: pd.DataFrame
    reading: str = ""


def shaped_votes(frame: pd.DataFrame) -> ShapedVotes:
    """Bring the votes of a file to one column per verdict.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `bonwise.data.rows.open_rows` returns it.

    Examples
    --------
    >>> votes = {"model_a": ["x"], "model_b": ["y"], "winner_model_a": [0], "winner_model_b": [1], "winner_tie": [0]}
    >>> shaped_votes(pd.DataFrame(votes)).frame["winner_model_a,winner_model_b,winner_tie"].tolist()
    ['second']
    """
    if "games" in frame.columns and "model" in frame.columns:
        return _of_games(frame)
    return _of_marks(frame)


def _of_games(frame: pd.DataFrame) -> ShapedVotes:
    """Read the games of Arena-Hard: in the first the baseline is A, in the second the model."""
    games = [_games(cell) for cell in frame["games"]]
    if not any(games):
        return ShapedVotes(frame)
    orders = [_scores(games, at) for at in range(max(map(len, games)))][:2]
    shaped = frame.drop(columns="games")
    shaped = shaped.drop(columns=[name for name in ("judgment", "score") if name in shaped.columns])
    if _BASELINE not in shaped.columns:
        shaped[_BASELINE] = _BASELINE
    shaped[_GAMES[0]] = pd.Series(orders[0], index=frame.index, dtype=object)
    if len(orders) > 1:
        turned = [_turned(cell) for cell in orders[1]]
        shaped[_GAMES[1]] = pd.Series(turned, index=frame.index, dtype=object)
    # The baseline is the first side: its column goes before that of the model.
    shaped = shaped.rename(columns={_BASELINE: "model_a", "model": "model_b"})
    return ShapedVotes(
        shaped, "the games of Arena-Hard: model_a is the baseline, shown first in game 1 and second in game 2"
    )


def _games(cell: object) -> list[Any]:
    if type(cell) is StructuredText:
        with suppress(ValueError):
            cell = json.loads(cell)
    found = list(cell) if isinstance(cell, list | tuple | np.ndarray) else []
    return [one if isinstance(one, Mapping) else {} for one in found]


def _scores(games: list[list[Any]], at: int) -> list[object]:
    return [game[at].get("score") if at < len(game) else None for game in games]


def _turned(cell: object) -> object:
    """Return a verdict on the sides in turn; what is not one stays as it is, and is refused with its row."""
    side = None if cell is None else side_of(str(cell))
    return cell if side is None else _TURNED[side]


def _of_marks(frame: pd.DataFrame) -> ShapedVotes:
    """Read a column per outcome, of which one is marked: ``winner_model_a``, ``winner_model_b``, ``winner_tie``."""
    pair = pair_of(frame)
    names = by_key(frame.columns)
    if len(pair) != 2:
        return ShapedVotes(frame)
    marks = [next(iter(names.get(f"winner{key_of(one)}", ())), None) for one in pair]
    tie = next((names[key][0] for key in _TIE_KEYS if key in names), None)
    if None in marks:
        return ShapedVotes(frame)
    columns = [str(one) for one in (*marks, *([] if tie is None else [tie]))]
    marked = [_marked(frame[column]) for column in columns]
    if any(one is None for one in marked):
        return ShapedVotes(frame)
    found = np.column_stack([one for one in marked if one is not None])
    words = np.array([*(("first", "second", "tie")[: len(columns)]), ""], dtype=object)
    # No mark, or more than one, is no verdict.
    which = np.where(found.sum(axis=1) == 1, found.argmax(axis=1), len(columns))
    name = ",".join(columns)
    shaped = frame.drop(columns=columns)
    shaped[name] = pd.Series(words[which], index=frame.index, dtype=object)
    return ShapedVotes(shaped, f"the column of {', '.join(columns)} that is marked")


def _marked(column: pd.Series) -> npt.NDArray[np.bool_] | None:
    """Tell which cells are 1 or true; None where others than 0, 1, true, false and blanks are among them."""
    words = column.astype(str).str.strip().str.lower()
    known = words.isin(["0", "1", "0.0", "1.0", "true", "false"]).to_numpy(dtype=bool) | is_blank(column)
    return words.isin(["1", "1.0", "true"]).to_numpy(dtype=bool) if known.all() else None
