"""What a pilot has taught, from tables of draws and to small files; and what is assumed without one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bonwise.data.writing import write_whole
from bonwise.documents.draw_model import DrawModelDocument
from bonwise.documents.reading import read_document
from bonwise.errors import ColumnError, UsageError
from bonwise.release import release
from bonwise.stats.draw_model import DrawModel
from bonwise.stats.sums import Floats

if TYPE_CHECKING:  # a strategy that reads a model loads no table, and no pandas
    import pandas as pd

    from bonwise.data.table import ScoreTable

__all__ = ["Pilot", "assumed_model", "learnt_from", "load_model", "read_pilot", "save_model"]

_KEYS = ("prompt_id", "candidate")
_HINT = "learn it again: bonwise learn SCORES.csv --save FILE"


class Pilot(NamedTuple):
    """Draws of one judge."""

    draws: Floats
    """The first call of each candidate, then the later ones; NaN where there is none, also where a pool is smaller.

    """
    judge: str
    """Whose they are."""
    first: str
    """Where the first calls stand: ``draw_0``, or the name of a judge."""


def save_model(model: DrawModel, path: str | Path) -> None:
    """Write a small JSON file, whole or not at all.

    Raises
    ------
    bonwise.errors.FileError
        The folder is absent or not writable.
    """
    document = DrawModelDocument.of(model, release()).to_dict()
    write_whole(Path(path), json.dumps(document, indent=1, allow_nan=False) + "\n")


def load_model(path: str | Path) -> DrawModel:
    """Read what `save_model` wrote.

    Raises
    ------
    bonwise.errors.FileError
        No such file, or one that holds something else; the message names the key that is wrong.
    """
    return read_document(path, DrawModelDocument, hint=_HINT).model()


@cache
def assumed_model() -> DrawModel:
    """Return what is assumed of a judge that nothing was learnt of: scores in [0, 1] that scatter as simulated ones.

    Learnt from 5,000 prompts each of the simulated populations ``pilot`` and ``one_model`` of `bonwise.testing`, in
    pools of four.

    Examples
    --------
    >>> assumed_model().low, assumed_model().high, assumed_model().max_draws
    (0.0, 1.0, 8)
    """
    text = resources.files("bonwise.selection").joinpath("assumed_draws.json").read_text(encoding="utf-8")
    return DrawModel.from_dict(json.loads(text))


def learnt_from(
    table: ScoreTable, *, judge: str | None = None, max_draws: int = 8, seed: int = 0
) -> tuple[Pilot, DrawModel]:
    """Learn from the draws of one judge in a table; its labels are not looked at.

    Parameters
    ----------
    table, judge
        As in `read_pilot`.
    max_draws, seed
        As in `bonwise.stats.draw_model.DrawModel.fit`.

    Raises
    ------
    bonwise.errors.InputError
        As `read_pilot`, or draws of which nothing can be learnt.
    """
    pilot = read_pilot(table, judge)
    try:
        return pilot, DrawModel.fit(pilot.draws, max_draws=max_draws, seed=seed)
    except ValueError as error:
        hint = "redraw at a temperature above 0, each candidate 3 times or more"
        raise UsageError(f"{table.source}: nothing can be learnt: {error}", hint=hint) from error


def read_pilot(table: ScoreTable, judge: str | None = None) -> Pilot:
    """Take the draws of one judge out of a table.

    Draws are in columns ``draw_0``, ``draw_1`` ..., as ``bonwise judge --judge resampled,...`` writes them, or in
    rows that the column ``draw`` tells apart. Where the table also holds the scores of the judge that was resampled,
    these are the first calls and all draws are later ones; otherwise ``draw_0`` is the first call.

    Parameters
    ----------
    table : ScoreTable
    judge : str, optional
        Whose draws, where several judges have some.

    Raises
    ------
    bonwise.errors.ColumnError
        No draws, or fewer than three of each candidate, the first call among them.
    bonwise.errors.UsageError
        Several judges have draws and none is named, or the named one has none.
    """
    every = {str(name): _draws(rows) for name, rows in table.frame.groupby("judge", observed=True)}
    drawn = {name: found for name, found in every.items() if found.shape[1] > 1}
    if not drawn:
        raise ColumnError(
            f"{table.source}: no candidate has more than one draw",
            hint="redraw the pools: bonwise judge POOLS --judge resampled,draws=5,of=JUDGE --out SCORES.csv",
        )
    chosen = _chosen(drawn, judge, table.source)
    wide, first = drawn[chosen], "draw_0"
    single = table.frame[table.frame["judge"] == chosen.partition(",of=")[2]]
    if len(single) and single["judge_score"].notna().any():
        first = str(single["judge"].iloc[0])
        scores = _keyed(single).set_index(list(_KEYS))["judge_score"].reindex(wide.index)
        wide = wide.copy()
        wide.insert(0, "first", scores)
    if wide.shape[1] < 3:
        raise ColumnError(f"{table.source}: {wide.shape[1]} draws of a candidate", hint="learn from 3 or more")
    return Pilot(_stacked(wide), chosen, first)


def _draws(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per candidate and one column per draw."""
    wide = sorted((c for c in rows.columns if c.startswith("draw_") and c[5:].isdigit()), key=lambda c: int(c[5:]))
    keyed = _keyed(rows)
    if wide:
        found = keyed.set_index(list(_KEYS))[wide]
        return found.loc[:, found.notna().any()]
    ordered = keyed.assign(number=keyed.groupby(list(_KEYS)).cumcount())
    return ordered.pivot_table(index=_KEYS, columns="number", values="judge_score", sort=False, dropna=False)


def _keyed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose prompts and candidates are numbers, which the table gives to all its rows."""
    return rows.assign(**{key: rows[key].cat.codes for key in _KEYS})


def _chosen(drawn: Iterable[str], judge: str | None, source: str) -> str:
    names = list(drawn)
    if judge is None and len(names) == 1:
        return names[0]
    if judge is None:
        raise UsageError(f"{source}: draws of {len(names)} judges", hint=f"name one: --judge {names[0]}")
    if judge not in names:
        raise UsageError(f"{source}: no draws of the judge {judge!r}", hint=f"choose from {', '.join(names)}")
    return judge


def _stacked(wide: pd.DataFrame) -> Floats:
    """Return prompts x candidates x draws, smaller pools filled up with NaN."""
    values: Any = wide.to_numpy(dtype=np.float64)
    prompt = wide.index.get_level_values(0)
    codes = {name: at for at, name in enumerate(dict.fromkeys(prompt))}
    row = np.array([codes[name] for name in prompt])
    position = wide.groupby(level=0, sort=False).cumcount().to_numpy()
    found = np.full((len(codes), int(position.max()) + 1, values.shape[1]), np.nan)
    found[row, position] = values
    return found
