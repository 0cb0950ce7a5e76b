"""The rows of a file of votes: its columns found, its verdicts read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.numbers import is_blank
from bonwise.data.verdict_words import SIDES, Side, plain_word
from bonwise.data.vote_columns import NamedVoteColumns, VoteColumns, find_vote_columns
from bonwise.data.vote_readings import ReadVotes, read_votes, votes_of_shares
from bonwise.data.vote_shapes import ShapedVotes, shaped_votes
from bonwise.data.wording import quoted
from bonwise.errors import UsageError

__all__ = ["VoteRows", "check_verdict_map", "one_verdict"]

_Floats = npt.NDArray[np.float64]
_NO_MAP: Mapping[str, Side] = MappingProxyType({})
_SHOWN = ("shown_first", "shown_second")


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Votes as they stand in a file."""

    source: str
    frame: pd.DataFrame = field(repr=False)
    """The rows; the index holds their numbers."""
    columns: VoteColumns
    worth: _Floats = field(repr=False)
    """1 where the first side is preferred, 0 where the second, 1/2 for a tie, NaN where there is no verdict."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """How the file was read, by column; ``columns`` says which play a role."""

    @classmethod
    def of(
        cls,
        raw: pd.DataFrame,
        source: str,
        named: NamedVoteColumns,
        *,
        needed: Sequence[str] = ("verdicts", "pair"),
        verdict_map: Mapping[str, Side] = _NO_MAP,
    ) -> VoteRows:
        """Find the columns of a file and read its verdicts.

        Parameters
        ----------
        raw : pandas.DataFrame
            As `bonwise.data.rows.open_rows` returns it.
        source : str
            How to name the file in an error.
        named : NamedVoteColumns
        needed : sequence of str
            Roles without which the file is of no use.
        verdict_map : mapping of str to str
            What verdicts say, where the user says it.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, or a verdict that is none.

        Examples
        --------
        >>> frame = pd.DataFrame({"left": ["x"], "right": ["y"], "winner": ["right"]})
        >>> VoteRows.of(frame, "table", NamedVoteColumns()).worth.tolist()
        [[0.0]]
        """
        shaped = shaped_votes(raw)
        if not named.every <= set(shaped.frame.columns) and named.every <= set(raw.columns):
            shaped = ShapedVotes(raw)
        frame = shaped.frame
        columns = find_vote_columns(frame, source, named, needed=needed, verdict_map=verdict_map)
        sides = frame[list(columns.pair)] if columns.pair else None
        read = {one: _read(frame, one, columns, sides, source, verdict_map) for one in columns.verdicts}
        values: _Floats = np.column_stack([np.zeros((len(frame), 0)), *(one.worth for one in read.values())])
        # What a shape made of the cells it says itself.
        readings = {one: found.reading for one, found in read.items() if found.reading and one in raw.columns}
        return cls(source, frame, columns, values, {"columns": _said(columns, shaped.reading), **readings})


def _read(
    frame: pd.DataFrame,
    column: str,
    columns: VoteColumns,
    sides: pd.DataFrame | None,
    source: str,
    verdict_map: Mapping[str, Side],
) -> ReadVotes:
    if column in columns.pair:
        filled = ~is_blank(frame[columns.pair[0]]) & ~is_blank(frame[columns.pair[1]])
        won = 1.0 if column == columns.pair[0] else 0.0
        return ReadVotes(np.where(filled, won, np.nan), "the name of the winner")
    if tuple(columns.verdicts) == _SHOWN:
        return votes_of_shares(frame[column], source)
    return read_votes(frame[column], source, sides=sides, verdict_map=verdict_map)


def _said(columns: VoteColumns, shape: str) -> str:
    """Say which columns play which role."""
    parts = [f"verdicts in {' and '.join(columns.verdicts)}"]
    if columns.pair:
        parts.append(f"the first side in {columns.pair[0]} and the second in {columns.pair[1]}")
    if columns.prompt:
        parts.append(f"prompts in {','.join(columns.prompt)}")
    if columns.judge:
        parts.append(f"judges in {','.join(columns.judge)}")
    if columns.apart:
        parts.append(f"pairs of a prompt told apart by {','.join(columns.apart)}")
    return "; ".join([*([shape] if shape else []), ", ".join(parts)])


def one_verdict(values: _Floats) -> _Floats:
    """Return one verdict per row of those in both orders: the same one, or a tie where they differ.

    Examples
    --------
    >>> one_verdict(np.array([[1.0, 1.0], [1.0, 0.0], [0.5, 0.0], [1.0, np.nan]])).tolist()
    [1.0, 0.5, 0.5, nan]
    """
    alike = (values == values[:, :1]).all(axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, np.where(alike, values[:, 0], 0.5))


def check_verdict_map(verdict_map: Mapping[str, str] | None) -> Mapping[str, Side]:
    """Return what verdicts say, by their plain words.

    Raises
    ------
    bonwise.errors.UsageError
        It is no mapping, or says something else than ``first``, ``second``, ``tie`` or ``none``.

    Examples
    --------
    >>> check_verdict_map({1: "first", "0": "second"})
    {'1': 'first', '0': 'second'}
    """
    if verdict_map is None:
        return {}
    if not isinstance(verdict_map, Mapping):
        raise UsageError(f"verdict_map is {quoted(verdict_map)}", hint="such as {1: 'first', 0: 'second'}")
    found: dict[str, Side] = {}
    for word, said in verdict_map.items():
        side = next((one for one in SIDES if one == said), None)
        if side is None:
            raise UsageError(
                f"verdict_map says {quoted(said)} of {quoted(word)}", hint=f"choose of {', '.join(SIDES)}"
            )
        found[plain_word(word)] = side
    return found
