"""The rows of a file of votes: verdicts of several cells or lists in one column each, found and read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Mask
from bonwise.errors import UsageError
from bonwise.printable import quoted
from bonwise.table import checks, nested, numbers, roles, store, verdict_words, vote_columns, vote_readings

_GAMES = ("game 1 winner", "game 2 winner")
_BASELINE = "baseline"
_TURNED: Mapping[verdict_words.Side, verdict_words.Side] = {
    "first": "second",
    "second": "first",
    "tie": "tie",
    "none": "none",
}
_STRONG = re.compile("[<>]{2}|[≪≫]")
_OTHER_LETTER = str.maketrans("ABab", "BAba")
_VOTES_OF_STRONG = 3.0
"""Votes that ``A>>B`` counts, as in the script of Arena-Hard that computes its leaderboard."""
_EMPTY = "(no text)"
_TIE_KEYS = ("winnertie", "tie", "winnertied", "tied")


class ShapedVotes(NamedTuple):
    """Rows with one column per verdict, and how they were made; nothing where they stand as they were."""

    frame: pd.DataFrame
    reading: str = ""


def shaped_votes(frame: pd.DataFrame) -> ShapedVotes:
    """Bring the votes of a file, as `bonwise.table.reading.open_frame` returns it, to one column per verdict."""
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
    if type(cell) is store.StructuredText:
        with suppress(ValueError):
            cell = json.loads(cell)
    games = list(cell) if isinstance(cell, list | tuple | np.ndarray) else []
    return [game if isinstance(game, Mapping) else {} for game in games]


def _scores(games: list[list[Any]], at: int) -> list[object]:
    return [game[at].get("score") if at < len(game) else None for game in games]


def _turned(cell: object) -> object:
    """Return a verdict on the sides in turn; what is not one stays as it is, and is refused with its row."""
    side = None if cell is None else verdict_words.side_of(str(cell))
    if side is not None and _STRONG.search(str(cell)):
        return str(cell).translate(_OTHER_LETTER)
    return cell if side is None else _TURNED[side]


def _of_marks(frame: pd.DataFrame) -> ShapedVotes:
    """Read a column per outcome, of which one is marked: ``winner_model_a``, ``winner_model_b``, ``winner_tie``."""
    pair = vote_columns.pair_of(frame)
    names = roles.by_key(frame.columns)
    if len(pair) != 2:
        return ShapedVotes(frame)
    marks = [next(iter(names.get(f"winner{roles.key_of(column)}", ())), None) for column in pair]
    tie = next((names[key][0] for key in _TIE_KEYS if key in names), None)
    if None in marks:
        return ShapedVotes(frame)
    columns = [str(column) for column in (*marks, *([] if tie is None else [tie]))]
    marked = [_marked(frame[column]) for column in columns]
    if any(marks_of_column is None for marks_of_column in marked):
        return ShapedVotes(frame)
    stacked = np.column_stack([marks_of_column for marks_of_column in marked if marks_of_column is not None])
    words = np.array([*(("first", "second", "tie")[: len(columns)]), ""], dtype=object)
    # No mark, or more than one, is no verdict.
    which = np.where(stacked.sum(axis=1) == 1, stacked.argmax(axis=1), len(columns))
    name = ",".join(columns)
    shaped = frame.drop(columns=columns)
    shaped[name] = pd.Series(words[which], index=frame.index, dtype=object)
    return ShapedVotes(shaped, f"the column of {', '.join(columns)} that is marked")


def _marked(column: pd.Series) -> Mask | None:
    """Tell which cells are 1 or true; None where others than 0, 1, true, false and blanks are among them."""
    words = column.astype(str).str.strip().str.lower()
    known = words.isin(["0", "1", "0.0", "1.0", "true", "false"]).to_numpy(dtype=bool) | numbers.is_blank(column)
    return words.isin(["1", "1.0", "true"]).to_numpy(dtype=bool) if known.all() else None


_NO_MAP: Mapping[str, verdict_words.Side] = MappingProxyType({})
_SHOWN = ("shown_first", "shown_second")


@dataclass(frozen=True, eq=False)
class VoteRows:
    """Votes as they stand in a file."""

    source: str
    frame: pd.DataFrame = field(repr=False)
    """The rows; the index holds their numbers."""
    columns: vote_columns.VoteColumns
    worth: Floats = field(repr=False)
    """1 where the first side is preferred, 0 where the second, 1/2 for a tie, NaN where there is no verdict."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """How the file was read, by column; ``columns`` says which play a role."""
    weights: Floats | None = field(default=None, repr=False)
    """As `worth`, a graded preference as the share of a vote that it is; None where none is graded."""
    times: Floats | None = field(default=None, repr=False)
    """As `worth`, how many votes a verdict is; None where each is one."""

    def in_order(self, second_order: checks.SecondOrder | None) -> VoteRows:
        """Return the votes, a second order's turned where it names places; unclear lists of two columns are asked."""
        checks.check_second_order(second_order)
        verdicts = self.columns.verdicts
        if second_order is None and not (len(verdicts) == 2 and nested.are_places(*verdicts)):
            return self
        if len(verdicts) != 2:
            raise UsageError(f"{self.source}: --second-order is of two columns of verdicts", hint="name both")
        first, second = self.worth[:, 0], self.worth[:, 1]
        if second_order is None:
            agree = [int((first == other)[~np.isnan(first + other)].sum()) for other in (1 - second, second)]
            raise UsageError(
                f"{self.source}: the second order may name places (then {agree[0]:,} verdicts are those of the first)"
                f" or answers (then {agree[1]:,} are)",
                hint="say which: --second-order turned (places) or --second-order as-named (answers)",
            )
        named = f"turned round: {verdicts[1]}" if second_order == "turned" else f"as named: {verdicts[1]}"
        worth = np.column_stack([first, 1 - second]) if second_order == "turned" else self.worth
        return replace(self, worth=worth, readings={**self.readings, "second order": named})

    @classmethod
    def of(
        cls,
        raw: pd.DataFrame,
        source: str,
        named: vote_columns.NamedVoteColumns,
        *,
        needed: Sequence[str] = ("verdicts", "pair"),
        verdict_map: Mapping[str, verdict_words.Side] = _NO_MAP,
    ) -> VoteRows:
        """Find the columns of a file, `raw` as `open_frame` of bonwise.table.reading has it, and its verdicts."""
        shaped = shaped_votes(raw)
        if not named.every <= set(shaped.frame.columns) and named.every <= set(raw.columns):
            shaped = ShapedVotes(raw)
        frame = shaped.frame
        columns = vote_columns.find_vote_columns(frame, source, named, needed=needed, verdict_map=verdict_map)
        if columns.names_texts:
            # An empty answer is an answer.
            blank = {column: numbers.is_blank(frame[column]) for column in columns.pair}
            filled = {column: frame[column].astype(object).mask(none, _EMPTY) for column, none in blank.items()}
            frame = frame.assign(**filled)
        sides = frame[list(columns.pair)] if columns.pair else None
        read = {verdict: _read(frame, verdict, columns, sides, source, verdict_map) for verdict in columns.verdicts}
        values: Floats = np.column_stack([np.zeros((len(frame), 0)), *(own.worth for own in read.values())])
        # What a shape made of the cells it says itself.
        readings = {column: own.reading for column, own in read.items() if own.reading and column in raw.columns}
        weights = None
        if any(own.weights is not None for own in read.values()):
            graded = [own.worth if own.weights is None else own.weights for own in read.values()]
            weights = np.column_stack(graded)
        cells = frame[list(columns.verdicts)].astype(str).map(verdict_words.plain_word)
        strong = cells.map(lambda cell: bool(_STRONG.search(cell)) and cell not in verdict_map).to_numpy(dtype=bool)
        times = np.where(strong, _VOTES_OF_STRONG, 1.0) if strong.any() else None
        of_columns = "; ".join(filter(None, [_said(columns, shaped.reading), raw.attrs.get(store.CUT_OFF)]))
        return cls(source, frame, columns, values, {"columns": of_columns, **readings}, weights, times)


def _read(
    frame: pd.DataFrame,
    column: str,
    columns: vote_columns.VoteColumns,
    sides: pd.DataFrame | None,
    source: str,
    verdict_map: Mapping[str, verdict_words.Side],
) -> vote_readings.ReadVotes:
    if column in columns.pair:
        filled = ~numbers.is_blank(frame[columns.pair[0]]) & ~numbers.is_blank(frame[columns.pair[1]])
        won = 1.0 if column == columns.pair[0] else 0.0
        return vote_readings.ReadVotes(np.where(filled, won, np.nan), "the name of the winner")
    if tuple(columns.verdicts) == _SHOWN:
        return vote_readings.votes_of_shares(frame[column], source)
    return vote_readings.read_votes(frame[column], source, sides=sides, verdict_map=verdict_map)


def _said(columns: vote_columns.VoteColumns, shape: str) -> str:
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


def one_verdict(values: Floats) -> Floats:
    """Return one verdict per row of those in both orders: the same one, or a tie where they differ."""
    alike = (values == values[:, :1]).all(axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, np.where(alike, values[:, 0], 0.5))


def check_verdict_map(verdict_map: Mapping[str, str] | None) -> Mapping[str, verdict_words.Side]:
    """Return what verdicts say, by their plain words; no mapping, or what is no side, is a UsageError."""
    if verdict_map is None:
        return {}
    if not isinstance(verdict_map, Mapping):
        raise UsageError(f"verdict_map is {quoted(verdict_map)}", hint="such as {1: 'first', 0: 'second'}")
    sides: dict[str, verdict_words.Side] = {}
    for word, stated in verdict_map.items():
        side = next((known_side for known_side in verdict_words.SIDES if known_side == stated), None)
        if side is None:
            raise UsageError(
                f"verdict_map says {quoted(stated)} of {quoted(word)}",
                hint=f"choose of {', '.join(verdict_words.SIDES)}",
            )
        sides[verdict_words.plain_word(word)] = side
    return sides
