"""Verdicts on pairs, as ``bonwise judge --pairs`` writes them, and the draw's record: how many each stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from bonwise.arrays import Floats
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import draw_records, identifiers, numbers, reading, vote_readings

_NEEDED = ("prompt_id", "a", "b", "shown_first", "shown_second")
_TOKENS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, eq=False)
class PairVerdicts:
    """The verdicts of one judge on pairs of candidates."""

    source: str
    judge: str
    frame: pd.DataFrame = field(repr=False)
    """``prompt_id``, ``a`` and ``b`` (text); ``first`` and ``second``: what `a` earned, from 0 to 1, when it was
    shown first and when second, NaN where there is no verdict; ``lost``: whether the file says why one of the orders
    that were asked has none; ``tokens`` of all the answers on the pair, NaN where
    unknown. The index holds the row numbers of the source.
    """

    @classmethod
    def read(cls, source: reading.RowSource, judge: str | None = None) -> PairVerdicts:
        """Read a file or frame of ``prompt_id``, ``a``, ``b``, ``shown_first``, ``shown_second``, of one judge."""
        raw, name = reading.open_frame(source, "verdicts")
        missing = [column for column in _NEEDED if column not in raw.columns]
        if missing:
            raise ColumnError(f"{name}: no column {missing[0]}", hint="give the file of bonwise judge --pairs")
        raw, whose = _one_judge(raw, name, judge)
        ends = {
            role: identifiers.as_categories(raw[role], role=role, source=name) for role in ("prompt_id", "a", "b")
        }
        frame = pd.DataFrame(
            {
                **{role: np.asarray(found, dtype=object) for role, found in ends.items()},
                "first": vote_readings.earned_shares(raw["shown_first"], name),
                "second": vote_readings.earned_shares(raw["shown_second"], name),
                "lost": ~numbers.is_blank(raw["unscored"]) if "unscored" in raw.columns else False,
                "tokens": _tokens(raw, name),
            },
            index=raw.index,
        )
        _refuse_bad_pairs(frame, name, whose)
        return cls(name, whose, frame)


def _one_judge(raw: pd.DataFrame, source: str, judge: str | None) -> tuple[pd.DataFrame, str]:
    if "judge" not in raw.columns:
        return raw, judge or "pairwise"
    names = identifiers.as_categories(raw["judge"], role="judge", source=source)
    if judge is None and len(names.categories) > 1:
        raise UsageError(
            f"{source}: verdicts of {len(names.categories)} judges: {listed(names.categories)}",
            hint="name the one to study (--pairwise NAME)",
        )
    wanted = str(names.categories[0]) if judge is None else judge
    if wanted not in names.categories:
        raise UsageError(
            f"{source}: no verdicts of {quoted(wanted)}", hint=f"there are those of {listed(names.categories)}"
        )
    return raw[names.are(wanted)], wanted


def _token_columns(raw: pd.DataFrame) -> tuple[str, ...] | None:
    """Return the columns whose sum is the tokens of a row; None where there are none."""
    if "tokens" in raw.columns:
        return ("tokens",)
    return _TOKENS if set(_TOKENS) <= set(raw.columns) else None


def _tokens(raw: pd.DataFrame, source: str) -> Floats:
    columns = _token_columns(raw)
    if columns is None:
        return np.full(len(raw), np.nan)
    values: Floats = np.sum([numbers.parse_numbers(raw[name], role=name, source=source) for name in columns], axis=0)
    if (values < 0).any():
        at = int(np.flatnonzero(values < 0)[0])
        raise RowError(f"{source}, row {raw.index[at]}: {values[at]:g} tokens", hint="write 0 or more, or a blank")
    return values


def _refuse_bad_pairs(frame: pd.DataFrame, source: str, judge: str) -> None:
    alike = np.flatnonzero(frame["a"] == frame["b"])
    if alike.size:
        row = frame.iloc[alike[0]]
        raise RowError(
            f"{source}, row {frame.index[alike[0]]}: {quoted(row['a'])} is compared with itself",
            hint="a and b name two candidates",
        )
    swapped = frame["a"] > frame["b"]
    ends = (frame["a"].where(~swapped, frame["b"]), frame["b"].where(~swapped, frame["a"]))
    cells = zip(("prompt", "low", "high"), (frame["prompt_id"], *ends), strict=True)
    again = pd.DataFrame({name: numbers.distinct(column)[0] for name, column in cells}).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        row = frame.iloc[at]
        raise RowError(
            f"{source}, row {frame.index[at]}: {quoted(judge)} judges {quoted(row['a'])} and {quoted(row['b'])} of "
            f"{quoted(row['prompt_id'])} again",
            hint="keep one row per pair, both orders in it",
        )


_ROUNDING = 1e-6
"""Part of a weight by which a spreadsheet may have rounded it."""

RECORD_HEADER = ("pair_id", "prompt_id", "a", "b", "gap_of", "gap", "stratum", "weight", "seed")


@dataclass(frozen=True, eq=False)
class PairRecord:
    """Pairs that were drawn."""

    source: str
    frame: pd.DataFrame = field(repr=False)
    """``pair_id``, ``prompt_id``, ``a``, ``b`` (text) and ``weight``, 1 over the probability of being drawn."""

    @classmethod
    def read(cls, source: reading.RowSource) -> PairRecord:
        """Read the record that a draw wrote; an `InputError` says what in it cannot be that of a draw."""
        raw, name = reading.open_frame(source, "record")
        words, needed = ("pair_id", "prompt_id", "a", "b"), ("pair_id", "prompt_id", "a", "b", "weight")
        missing = [column for column in needed if column not in raw.columns]
        if missing:
            raise ColumnError(f"{name}: no column {missing[0]}", hint="give the record that lies beside the pairs")
        cells = {
            word: np.asarray(identifiers.as_categories(raw[word], role=word, source=name), dtype=object)
            for word in words
        }
        weight = draw_records.draw_numbers(raw["weight"], role="weight", source=name)
        bad = np.flatnonzero(~(weight >= 1))
        if bad.size:
            raise RowError(
                f"{name}, row {raw.index[bad[0]]}: a weight must be 1 or more",
                hint="it is 1 over the probability with which the pair was drawn",
            )
        frame = pd.DataFrame({**cells, "weight": weight}, index=raw.index)
        again = np.flatnonzero(frame["pair_id"].duplicated())
        if again.size:
            raise RowError(
                f"{name}, row {frame.index[again[0]]}: {quoted(frame['pair_id'].iloc[again[0]])} occurs twice",
                hint=draw_records.AS_WRITTEN,
            )
        _refuse_pairs(frame, name)
        _refuse_draw(raw, frame, name)
        return cls(name, frame)

    def back(self, verdicts: PairVerdicts) -> tuple[PairVerdicts, Mapping[str, int]]:
        """Return verdicts on the pools of the draw as verdicts on the pairs drawn, and what is missing."""
        found = verdicts.frame.reset_index(names="row").merge(
            self.frame, left_on="prompt_id", right_on="pair_id", how="left", suffixes=("", "_drawn")
        )
        known = found["pair_id"].notna()
        if not known.any():
            raise InputError(
                f"{verdicts.source}: no verdict on a pair of {self.source}", hint="give the record of these pairs"
            )
        mine = found[known]
        same = (mine["a"] == mine["a_drawn"]) & (mine["b"] == mine["b_drawn"])
        if not same.all():
            first = mine[~same].iloc[0]
            raise RowError(
                f"{verdicts.source}, row {first['row']}: {quoted(first['prompt_id'])} is a pair of "
                f"{quoted(first['a_drawn'])} and {quoted(first['b_drawn'])} in {self.source}",
                hint="give the record of these pairs",
            )
        counts = Counter(
            {
                "not in the record": int((~known).sum()),
                "drawn but not judged": int((~self.frame["pair_id"].isin(mine["pair_id"])).sum()),
            }
        )
        frame = mine.set_index("row")[["prompt_id_drawn", "a", "b", "first", "second", "lost", "tokens", "weight"]]
        frame = frame.rename(columns={"prompt_id_drawn": "prompt_id"})
        return replace(verdicts, frame=frame), {reason: count for reason, count in counts.items() if count}


def _refuse_pairs(frame: pd.DataFrame, source: str) -> None:
    """Refuse a pair of a candidate with itself, and one that occurs twice, whichever comes first."""
    alone = np.flatnonzero(frame["a"] == frame["b"])
    if alone.size:
        raise RowError(
            f"{source}, row {frame.index[alone[0]]}: {quoted(frame['a'].iloc[alone[0]])} is paired with itself",
            hint=draw_records.AS_WRITTEN,
        )
    sides = frame[["a", "b"]].to_numpy(dtype=object)
    pairs = pd.DataFrame({"prompt_id": frame["prompt_id"], "a": sides.min(axis=1), "b": sides.max(axis=1)})
    again = np.flatnonzero(pairs.duplicated())
    if again.size:
        raise RowError(f"{source}, row {frame.index[again[0]]}: the pair occurs twice", hint=draw_records.AS_WRITTEN)


def _refuse_draw(raw: pd.DataFrame, frame: pd.DataFrame, source: str) -> None:
    """Refuse what says of the draw what cannot be; a record of other origin may lack these columns."""
    for column in ("gap", "seed"):
        if column in raw.columns:
            values = draw_records.draw_numbers(raw[column], role=column, source=source)
            bad = np.flatnonzero(~(values >= 0) | ((column == "seed") & (values != np.round(values))))
            if bad.size:
                raise RowError(
                    f"{source}, row {raw.index[bad[0]]}: {column} is {quoted(raw[column].iloc[bad[0]])}",
                    hint=draw_records.AS_WRITTEN,
                )
    for column, known in (("gap_of", {"oracle", "score"}), ("seed", None)):
        if column in raw.columns:
            words = list(dict.fromkeys(raw[column].astype(str).str.strip()))
            if len(words) > 1 or (known is not None and words[0] not in known):
                raise InputError(f"{source}: {column} holds {listed(words)}", hint=draw_records.AS_WRITTEN)
    if "stratum" in raw.columns:
        _refuse_weights(raw["stratum"].astype(str), frame["weight"], source)


def _refuse_weights(stratum: pd.Series, weight: pd.Series, source: str) -> None:
    """Refuse a stratum with two weights, or whose pairs do not stand for a whole number of pairs."""
    for name, weights in weight.groupby(stratum, sort=False):
        if weights.max() - weights.min() > _ROUNDING * weights.max():
            raise InputError(
                f"{source}: stratum {quoted(name)} has the weights {weights.min():g} and {weights.max():g}",
                hint=draw_records.AS_WRITTEN,
            )
        whole = float(weights.sum())
        if abs(whole - round(whole)) > _ROUNDING * whole:
            raise InputError(
                f"{source}: the {len(weights):,} pairs of stratum {quoted(name)} stand for {whole:g} pairs, "
                "which is not a whole number",
                hint=draw_records.AS_WRITTEN,
            )
