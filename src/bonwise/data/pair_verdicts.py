"""Verdicts on pairs of candidates, as ``bonwise judge --pairs`` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.numbers import distinct, parse_numbers
from bonwise.data.rows import RowSource, open_rows
from bonwise.data.vote_readings import earned_shares
from bonwise.data.wording import listed, quoted
from bonwise.errors import ColumnError, RowError, UsageError

__all__ = ["PairVerdicts"]

_Floats = npt.NDArray[np.float64]

_NEEDED = ("prompt_id", "a", "b", "shown_first", "shown_second")
_TOKENS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, eq=False)
class PairVerdicts:
    """The verdicts of one judge on pairs of candidates."""

    source: str
    judge: str
    frame: pd.DataFrame = field(repr=False)
    """``prompt_id``, ``a`` and ``b`` (text); ``first`` and ``second``: what `a` earned, from 0 to 1, when it was
    shown first and when second, NaN where there is no verdict; ``tokens`` of all the answers on the pair, NaN where
    unknown. The index holds the row numbers of the source.
    """

    @classmethod
    def read(cls, source: RowSource, judge: str | None = None) -> PairVerdicts:
        """Read a file or a frame.

        Parameters
        ----------
        source : str, pathlib.Path, pandas.DataFrame or rows as mappings
            Columns ``prompt_id``, ``a``, ``b``, ``shown_first``, ``shown_second`` and, where there are such,
            ``judge``, and ``input_tokens`` and ``output_tokens`` (or ``tokens``) of the answers on the pair.
        judge : str, optional
            Whose verdicts; needed where the source holds those of several.

        Raises
        ------
        bonwise.errors.InputError
            A column that is absent, a number off [0, 1], a pair judged twice or made of one candidate, or several
            judges and none named.

        Examples
        --------
        >>> row = {"prompt_id": "p", "a": "x", "b": "y", "shown_first": 1, "shown_second": 0}
        >>> PairVerdicts.read(pd.DataFrame([row])).frame["first"].tolist()
        [1.0]
        """
        raw, name = open_rows(source, "verdicts")
        missing = [column for column in _NEEDED if column not in raw.columns]
        if missing:
            raise ColumnError(f"{name}: no column {missing[0]}", hint="give the file of bonwise judge --pairs")
        raw, whose = _one_judge(raw, name, judge)
        ends = {role: as_categories(raw[role], role=role, source=name) for role in ("prompt_id", "a", "b")}
        frame = pd.DataFrame(
            {
                **{role: np.asarray(found, dtype=object) for role, found in ends.items()},
                "first": earned_shares(raw["shown_first"], name),
                "second": earned_shares(raw["shown_second"], name),
                "tokens": _tokens(raw, name),
            },
            index=raw.index,
        )
        _refuse_bad_pairs(frame, name, whose)
        return cls(name, whose, frame)


def _one_judge(raw: pd.DataFrame, source: str, judge: str | None) -> tuple[pd.DataFrame, str]:
    if "judge" not in raw.columns:
        return raw, judge or "pairwise"
    names = as_categories(raw["judge"], role="judge", source=source)
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
    return raw[np.asarray(names == wanted)], wanted


def _token_columns(raw: pd.DataFrame) -> tuple[str, ...] | None:
    """Return the columns whose sum is the tokens of a row; None where there are none."""
    if "tokens" in raw.columns:
        return ("tokens",)
    return _TOKENS if set(_TOKENS) <= set(raw.columns) else None


def _tokens(raw: pd.DataFrame, source: str) -> _Floats:
    columns = _token_columns(raw)
    if columns is None:
        return np.full(len(raw), np.nan)
    values: _Floats = np.sum([parse_numbers(raw[name], role=name, source=source) for name in columns], axis=0)
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
    again = pd.DataFrame({name: distinct(column)[0] for name, column in cells}).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        row = frame.iloc[at]
        raise RowError(
            f"{source}, row {frame.index[at]}: {quoted(judge)} judges {quoted(row['a'])} and {quoted(row['b'])} of "
            f"{quoted(row['prompt_id'])} again",
            hint="keep one row per pair, both orders in it",
        )
