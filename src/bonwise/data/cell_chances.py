"""The part of a record of a draw that is about single candidates: what was drawn whole, and each cell's chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.draw_checks import AS_WRITTEN, draw_numbers
from bonwise.data.numbers import is_blank
from bonwise.data.wording import quoted
from bonwise.errors import RowError

__all__ = ["CHANCE_COLUMNS", "CellChances", "read_chances"]

CHANCE_COLUMNS = ("part", "propensity_top", "propensity_other", "propensity_pair")
"""Columns of a record that was drawn by cell."""

_PARTS = ("", "whole", "pair")

_Floats = npt.NDArray[np.float64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CellChances:
    """What of each prompt was drawn, and the probability with which each of its cells, and each pair, was."""

    whole: _Mask = field(repr=False)
    """Drawn with all candidates."""
    top: _Floats = field(repr=False)
    """Probability of a candidate with the highest score, and of one of the others, to be labelled; NaN of the others
    where the judge ties all.
    """
    other: _Floats = field(repr=False)
    """Probability of a candidate with the highest score, and of one of the others, to be labelled; NaN of the others
    where the judge ties all.
    """
    pair: _Floats = field(repr=False)
    """Probability of a top candidate and another one to be labelled both; NaN where the judge ties all."""

    @classmethod
    def of(
        cls, whole: _Mask, whole_share: _Floats, pair_share: _Floats, tied: _Floats, sizes: npt.NDArray[np.int64]
    ) -> CellChances:
        """Return the chances that follow from the shares of each prompt's stratum that are drawn whole, and as pairs.

        Parameters
        ----------
        whole : ndarray of bool, shape (prompts,)
        whole_share, pair_share : ndarray of float64, shape (prompts,)
        tied : ndarray of float64, shape (prompts,)
            Candidates with the highest score.
        sizes : ndarray of int64, shape (prompts,)

        Examples
        --------
        >>> drawn, sizes = np.array([True]), np.array([8])
        >>> found = CellChances.of(drawn, np.array([0.1]), np.array([0.6]), np.array([2.0]), sizes)
        >>> [round(float(one[0]), 6) for one in (found.top, found.other, found.pair)]
        [0.4, 0.2, 0.15]
        """
        rest = sizes - tied
        apart, others = rest > 0, np.maximum(rest, 1)
        return cls(
            whole,
            whole_share + np.where(apart, pair_share / tied, 0.0),
            np.where(apart, whole_share + pair_share / others, np.nan),
            np.where(apart, whole_share + pair_share / (tied * others), np.nan),
        )

    def columns(self, drawn: _Mask) -> Mapping[str, Sequence[str] | _Floats]:
        """Return the columns of the record."""
        parts = np.where(self.whole, "whole", np.where(drawn, "pair", "")).tolist()
        return dict(zip(CHANCE_COLUMNS, (parts, self.top, self.other, self.pair), strict=True))

    def at(self, order: npt.NDArray[np.int64]) -> CellChances:
        """Return the same of prompts in another order."""
        return CellChances(self.whole[order], self.top[order], self.other[order], self.pair[order])


def read_chances(raw: pd.DataFrame, drawn: _Mask, source: str, *, pools: bool) -> CellChances:
    """Read the columns back.

    Parameters
    ----------
    raw : pandas.DataFrame
        A record that holds `CHANCE_COLUMNS`.
    drawn : ndarray of bool, shape (prompts,)
    source : str
    pools : bool
        Whether whole pools may have been drawn.

    Raises
    ------
    bonwise.errors.RowError
        A part other than ``whole`` and ``pair``, one where nothing was drawn or none where something was, a
        probability outside 0 to 1.
    """
    parts = raw["part"].astype(object).where(raw["part"].notna(), "").astype(str).str.strip().to_numpy()
    allowed = _PARTS if pools else ("", "pair")
    bad = np.flatnonzero(~np.isin(parts, allowed) | ((parts != "") != drawn))
    if bad.size:
        raise RowError(
            f"{source}, row {raw.index[bad[0]]}: part is {quoted(parts[bad[0]])} of a prompt that was "
            f"{'drawn' if drawn[bad[0]] else 'not drawn'}",
            hint=AS_WRITTEN,
        )
    found = [_chances(raw[name], name, source) for name in CHANCE_COLUMNS[1:]]
    return CellChances(parts == "whole", *found)


def _chances(column: pd.Series, name: str, source: str) -> _Floats:
    blank = np.asarray(is_blank(column), dtype=bool)
    found = np.full(len(column), np.nan)
    if not blank.all():
        found[~blank] = draw_numbers(column[~blank], role=name, source=source)
    bad = np.flatnonzero(~blank & ~((found >= 0) & (found <= 1)))
    if bad.size:
        raise RowError(
            f"{source}, row {column.index[bad[0]]}: {name} is {quoted(column.iloc[bad[0]])}",
            hint="a probability lies between 0 and 1",
        )
    return found
