"""The record of pairs drawn to be judged: which pair an id stands for, and how many pairs it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from bonwise.data.draw_checks import AS_WRITTEN, draw_numbers
from bonwise.data.identifiers import as_categories
from bonwise.data.pair_verdicts import PairVerdicts
from bonwise.data.rows import RowSource, open_rows
from bonwise.data.wording import listed, quoted
from bonwise.errors import ColumnError, InputError, RowError

__all__ = ["RECORD_HEADER", "PairRecord"]

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
    def read(cls, source: RowSource) -> PairRecord:
        """Read the record that a draw wrote.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, an id or a pair that occurs twice, a pair of one candidate, a weight below 1, or
            strata whose weights are not those of a draw.
        """
        raw, name = open_rows(source, "record")
        words, needed = ("pair_id", "prompt_id", "a", "b"), ("pair_id", "prompt_id", "a", "b", "weight")
        missing = [column for column in needed if column not in raw.columns]
        if missing:
            raise ColumnError(f"{name}: no column {missing[0]}", hint="give the record that lies beside the pairs")
        cells = {one: np.asarray(as_categories(raw[one], role=one, source=name), dtype=object) for one in words}
        weight = draw_numbers(raw["weight"], role="weight", source=name)
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
                hint=AS_WRITTEN,
            )
        _refuse_pairs(frame, name)
        _refuse_draw(raw, frame, name)
        return cls(name, frame)

    def back(self, verdicts: PairVerdicts) -> tuple[PairVerdicts, Mapping[str, int]]:
        """Return verdicts on the pools of the draw as verdicts on the pairs drawn, and what is missing.

        Raises
        ------
        bonwise.errors.InputError
            No verdict is on a pair of the record, or one names other candidates than its pair.
        """
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
        frame = mine.set_index("row")[["prompt_id_drawn", "a", "b", "first", "second", "tokens", "weight"]]
        frame = frame.rename(columns={"prompt_id_drawn": "prompt_id"})
        return replace(verdicts, frame=frame), {reason: count for reason, count in counts.items() if count}


def _refuse_pairs(frame: pd.DataFrame, source: str) -> None:
    """Refuse a pair of a candidate with itself, and one that occurs twice, whichever comes first."""
    alone = np.flatnonzero(frame["a"] == frame["b"])
    if alone.size:
        raise RowError(
            f"{source}, row {frame.index[alone[0]]}: {quoted(frame['a'].iloc[alone[0]])} is paired with itself",
            hint=AS_WRITTEN,
        )
    sides = frame[["a", "b"]].to_numpy(dtype=object)
    pairs = pd.DataFrame({"prompt_id": frame["prompt_id"], "a": sides.min(axis=1), "b": sides.max(axis=1)})
    again = np.flatnonzero(pairs.duplicated())
    if again.size:
        raise RowError(f"{source}, row {frame.index[again[0]]}: the pair occurs twice", hint=AS_WRITTEN)


def _refuse_draw(raw: pd.DataFrame, frame: pd.DataFrame, source: str) -> None:
    """Refuse what says of the draw what cannot be; a record of other origin may lack these columns."""
    for column in ("gap", "seed"):
        if column in raw.columns:
            values = draw_numbers(raw[column], role=column, source=source)
            bad = np.flatnonzero(~(values >= 0) | ((column == "seed") & (values != np.round(values))))
            if bad.size:
                raise RowError(
                    f"{source}, row {raw.index[bad[0]]}: {column} is {quoted(raw[column].iloc[bad[0]])}",
                    hint=AS_WRITTEN,
                )
    for column, known in (("gap_of", {"oracle", "score"}), ("seed", None)):
        if column in raw.columns:
            words = list(dict.fromkeys(raw[column].astype(str).str.strip()))
            if len(words) > 1 or (known is not None and words[0] not in known):
                raise InputError(f"{source}: {column} holds {listed(words)}", hint=AS_WRITTEN)
    if "stratum" in raw.columns:
        _refuse_weights(raw["stratum"].astype(str), frame["weight"], source)


def _refuse_weights(stratum: pd.Series, weight: pd.Series, source: str) -> None:
    """Refuse a stratum with two weights, or whose pairs do not stand for a whole number of pairs."""
    for name, weights in weight.groupby(stratum, sort=False):
        if weights.max() - weights.min() > _ROUNDING * weights.max():
            raise InputError(
                f"{source}: stratum {quoted(name)} has the weights {weights.min():g} and {weights.max():g}",
                hint=AS_WRITTEN,
            )
        whole = float(weights.sum())
        if abs(whole - round(whole)) > _ROUNDING * whole:
            raise InputError(
                f"{source}: the {len(weights):,} pairs of stratum {quoted(name)} stand for {whole:g} pairs, "
                "which is not a whole number",
                hint=AS_WRITTEN,
            )
