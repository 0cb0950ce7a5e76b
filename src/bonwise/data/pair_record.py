"""The record of pairs drawn to be judged: which pair an id stands for, and how many pairs it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.numbers import parse_numbers
from bonwise.data.pair_verdicts import PairVerdicts
from bonwise.data.rows import open_rows
from bonwise.data.wording import shown
from bonwise.errors import ColumnError, InputError, RowError

__all__ = ["RECORD_HEADER", "PairRecord"]

RECORD_HEADER = ("pair_id", "prompt_id", "a", "b", "gap_of", "gap", "stratum", "weight", "seed")


@dataclass(frozen=True, eq=False)
class PairRecord:
    """Pairs that were drawn.

    Parameters
    ----------
    source : str
    frame : pandas.DataFrame
        ``pair_id``, ``prompt_id``, ``a``, ``b`` (text) and ``weight``, 1 over the probability of being drawn.
    """

    source: str
    frame: pd.DataFrame = field(repr=False)

    @classmethod
    def read(cls, source: str | Path | pd.DataFrame) -> PairRecord:
        """Read the record that a draw wrote.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, an id that stands twice, or a weight below 1.
        """
        raw, name = open_rows(source, "record")
        words, needed = ("pair_id", "prompt_id", "a", "b"), ("pair_id", "prompt_id", "a", "b", "weight")
        missing = [column for column in needed if column not in raw.columns]
        if missing:
            raise ColumnError(f"{name}: no column {missing[0]}", hint="give the record that lies beside the pairs")
        cells = {one: np.asarray(as_categories(raw[one], role=one, source=name), dtype=object) for one in words}
        weight = parse_numbers(raw["weight"], role="weight", source=name)
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
                f"{name}, row {frame.index[again[0]]}: {shown(frame['pair_id'].iloc[again[0]])} stands twice",
                hint="give the record as it was written",
            )
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
                f"{verdicts.source}, row {first['row']}: {shown(first['prompt_id'])} is a pair of "
                f"{shown(first['a_drawn'])} and {shown(first['b_drawn'])} in {self.source}",
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
