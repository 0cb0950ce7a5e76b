"""Strata and columns of a record of a draw that can be true, and the chance of every single candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, RowError
from bonwise.printable import quoted
from bonwise.table.numbers import is_blank, parse_numbers

if TYPE_CHECKING:
    import pandas as pd


AS_WRITTEN = "keep the file as it was written, or draw again"

_ROUNDING = 1e-6
"""Part of a propensity by which a spreadsheet may have rounded it."""

_TRUTH = frozenset({"true", "false"})


def draw_numbers(column: pd.Series, *, role: str, source: str) -> Floats:
    """Parse a column of a record; true and false are no numbers there, and what is not a finite number is refused."""
    truth = column.dtype.kind == "b" or column.astype(str).str.strip().str.lower().isin(_TRUTH)
    bad = np.flatnonzero(np.broadcast_to(np.asarray(truth), len(column)))
    if bad.size:
        raise RowError(
            f"{source}, row {column.index[bad[0]]}: {role} is {quoted(column.iloc[bad[0]])}, which is not a number",
            hint=AS_WRITTEN,
        )
    return parse_numbers(column, role=role, source=source)


def refuse_phases(phase: Ints, source: str) -> None:
    """Refuse a record that drew nothing, and phases that are not numbered 1, 2, ..."""
    known = np.unique(phase[phase > 0])
    if not known.size:
        raise InputError(f"{source}: the design drew no prompt", hint=AS_WRITTEN)
    missing = np.flatnonzero(known != np.arange(1, len(known) + 1))
    if missing.size:
        raise InputError(f"{source}: there is a phase {known[-1]}, and no phase {missing[0] + 1}", hint=AS_WRITTEN)


def refuse_other_seeds(phase: Ints, seeds: Ints, seed: int, rows: pd.Index, source: str) -> None:
    """Refuse a prompt that was not drawn and has another seed than the last phase."""
    bad = np.flatnonzero((phase == 0) & (seeds != seed))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: the prompt was not drawn, and its seed is {seeds[bad[0]]}, not "
            f"that of the last phase, {seed}",
            hint=AS_WRITTEN,
        )


def refuse_split_clusters(
    clusters: Sequence[str], columns: Sequence[npt.NDArray[Any]], rows: pd.Index, source: str
) -> Ints:
    """Return a prompt per cluster (all without clusters); refuse one whose prompts differ in one of `columns`."""
    if not len(clusters):
        return np.arange(len(rows), dtype=np.int64)
    names, first, at = np.unique(np.asarray(clusters, dtype=str), return_index=True, return_inverse=True)
    at = at.reshape(-1)
    bad = np.flatnonzero(np.any([values != values[first][at] for values in columns], axis=0) | (names == "")[at])
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: cluster {quoted(str(names[at[bad[0]]]))} was not drawn as one",
            hint=AS_WRITTEN,
        )
    return first.astype(np.int64)


def refuse_strata(stratum: Ints, propensity: Floats, drawn: Mask, source: str) -> None:
    """Refuse strata (from 0) whose propensity, where above 0, is not the part that was drawn; all are (prompts,)."""
    known, at = np.unique(stratum, return_inverse=True)
    if known[-1] != len(known) - 1:
        raise InputError(
            f"{source}: the {len(known):,} strata are not numbered from 0 to {len(known) - 1:,}", hint=AS_WRITTEN
        )
    possible = propensity > 0
    count, held = np.bincount(at, weights=drawn), np.bincount(at, weights=possible)
    part = np.where(possible, (count / np.maximum(held, 1))[at], 0.0)
    bad = np.flatnonzero(np.abs(propensity - part) > _ROUNDING * part)
    if bad.size:
        h = at[bad[0]]
        raise InputError(
            f"{source}: {count[h]:,.0f} of the {held[h]:,.0f} prompts of stratum {h} were drawn, which is no "
            f"propensity of {propensity[bad[0]]:g}",
            hint=AS_WRITTEN,
        )


def refuse_words(words: Sequence[str], wanted: Mask, *, role: str, rows: pd.Index, source: str) -> None:
    """Refuse a candidate where none was drawn, and none (an empty word) where one was."""
    there = np.array([bool(word.strip()) for word in words], dtype=bool)
    bad = np.flatnonzero(there != wanted)
    if bad.size:
        x = int(bad[0])
        trouble = (
            f"{role} is blank where one was drawn"
            if wanted[x]
            else f"{role} is {quoted(words[x])}, and none was drawn"
        )
        raise RowError(f"{source}, row {rows[x]}: {trouble}", hint=AS_WRITTEN)


CHANCE_COLUMNS = ("part", "propensity_top", "propensity_other", "propensity_pair")
"""Columns of a record that was drawn by cell."""

_PARTS = ("", "whole", "pair")


@dataclass(frozen=True, eq=False)
class CellChances:
    """What of each prompt was drawn, and the probability with which each of its cells, and each pair, was."""

    whole: Mask = field(repr=False)
    """Drawn with all candidates."""
    top: Floats = field(repr=False)
    """Probability of a candidate with the highest score, and of one of the others, to be labelled; NaN of the others
    where the judge ties all.
    """
    other: Floats = field(repr=False)
    """Probability of a candidate with the highest score, and of one of the others, to be labelled; NaN of the others
    where the judge ties all.
    """
    pair: Floats = field(repr=False)
    """Probability of a top candidate and another one to be labelled both; NaN where the judge ties all."""

    @classmethod
    def of(cls, whole: Mask, whole_share: Floats, pair_share: Floats, tied: Floats, sizes: Ints) -> CellChances:
        """Return chances from the shares of strata drawn whole and as pairs, `tied` at the top; all (prompts,)."""
        rest = sizes - tied
        apart, others = rest > 0, np.maximum(rest, 1)
        return cls(
            whole,
            whole_share + np.where(apart, pair_share / tied, 0.0),
            np.where(apart, whole_share + pair_share / others, np.nan),
            np.where(apart, whole_share + pair_share / (tied * others), np.nan),
        )

    def columns(self, drawn: Mask) -> Mapping[str, Sequence[str] | Floats]:
        """Return the columns of the record."""
        parts = np.where(self.whole, "whole", np.where(drawn, "pair", "")).tolist()
        return dict(zip(CHANCE_COLUMNS, (parts, self.top, self.other, self.pair), strict=True))

    def at(self, order: Ints) -> CellChances:
        """Return the same of prompts in another order."""
        return CellChances(self.whole[order], self.top[order], self.other[order], self.pair[order])


def read_chances(raw: pd.DataFrame, drawn: Mask, source: str, *, pools: bool) -> CellChances:
    """Read `CHANCE_COLUMNS` back; a part that does not fit the draw, or is whole without `pools`, is a RowError."""
    parts = raw["part"].astype(object).where(raw["part"].notna(), "").astype(str).str.strip().to_numpy()
    allowed = _PARTS if pools else ("", "pair")
    bad = np.flatnonzero(~np.isin(parts, allowed) | ((parts != "") != drawn))
    if bad.size:
        raise RowError(
            f"{source}, row {raw.index[bad[0]]}: part is {quoted(parts[bad[0]])} of a prompt that was "
            f"{'drawn' if drawn[bad[0]] else 'not drawn'}",
            hint=AS_WRITTEN,
        )
    chances = [_chances(raw[name], name, source) for name in CHANCE_COLUMNS[1:]]
    return CellChances(parts == "whole", *chances)


def _chances(column: pd.Series, name: str, source: str) -> Floats:
    blank = np.asarray(is_blank(column), dtype=bool)
    chances = np.full(len(column), np.nan)
    if not blank.all():
        chances[~blank] = draw_numbers(column[~blank], role=name, source=source)
    bad = np.flatnonzero(~blank & ~((chances >= 0) & (chances <= 1)))
    if bad.size:
        raise RowError(
            f"{source}, row {column.index[bad[0]]}: {name} is {quoted(column.iloc[bad[0]])}",
            hint="a probability lies between 0 and 1",
        )
    return chances
