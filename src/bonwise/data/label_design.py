"""Label designs: which prompts were drawn for labelling, with which probability, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.numbers import parse_numbers
from bonwise.data.reading import read_raw
from bonwise.data.wording import listed, shown
from bonwise.data.writing import csv_frame, write_whole
from bonwise.errors import ColumnError, InputError, RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BY_CANDIDATE", "BY_PROMPT", "LabelDesign"]

BY_PROMPT = ("rule", "uniform", "stratified", "neyman")
"""Rules that draw prompts, all of whose candidates are labelled."""

BY_CANDIDATE = ("pick", "pair")
"""Rules that have the judge's pick of a drawn prompt labelled: alone, or with one other candidate."""

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

_COLUMNS = ("prompt_id", "phase", "propensity", "stratum", "seed", "rule", "judge")
_DRAWN = ("pick", "other")


@dataclass(frozen=True, eq=False)
class LabelDesign:
    """A draw of prompts, or of candidates, from all prompts of a table.

    Parameters
    ----------
    prompt_ids : pandas.Index, shape (prompts,)
        All prompts that could have been drawn.
    phase : ndarray of int64, shape (prompts,)
        Draw in which a prompt was taken: 1, 2, ...; 0 for one that was not.
    propensity : ndarray of float64, shape (prompts,)
        Probability of being drawn, up to the last phase, in (0, 1]; 0 only for a prompt that no draw could take.
    stratum : ndarray of int64, shape (prompts,)
        Prompts of a stratum were drawn alike, a fixed number of them without replacement.
    rule : str
        One of `BY_PROMPT` or `BY_CANDIDATE`.
    seed : int
        Of the last phase.
    judge : str
        Whose scores the rule looked at.
    picks, others : sequence of str
        By candidate: the drawn pick of each prompt, and for ``pair`` the drawn other candidate; empty strings where
        nothing was drawn. Empty for the rules by prompt.
    source : str
        File it was read from.
    """

    prompt_ids: pd.Index = field(repr=False)
    phase: _Ints = field(repr=False)
    propensity: _Floats = field(repr=False)
    stratum: _Ints = field(repr=False)
    rule: str
    seed: int
    judge: str
    picks: Sequence[str] = field(default=(), repr=False)
    others: Sequence[str] = field(default=(), repr=False)
    source: str = "design"

    @property
    def drawn(self) -> npt.NDArray[np.bool_]:
        """Whether each prompt was drawn, shape (prompts,)."""
        return self.phase > 0

    @property
    def by_candidate(self) -> bool:
        """Whether single candidates were drawn, not whole pools."""
        return self.rule in BY_CANDIDATE

    def frame(self) -> pd.DataFrame:
        """Return one row a prompt, in `order`."""
        prompts = len(self.prompt_ids)
        columns = {
            "prompt_id": self.prompt_ids.to_numpy(),
            "phase": self.phase,
            "propensity": self.propensity,
            "stratum": self.stratum,
            "seed": np.full(prompts, self.seed),
            "rule": self.rule,
            "judge": self.judge,
        }
        if self.by_candidate:
            columns |= {"pick": list(self.picks), "other": list(self.others)}
        return pd.DataFrame(columns).iloc[self.order].reset_index(drop=True)

    @property
    def order(self) -> _Ints:
        """Prompts as they are to be labelled: the drawn ones first, phase by phase, each in a random order.

        Whoever labels from the top has labelled prompts in random order whenever they stop.
        """
        mixed = np.random.default_rng(self.seed).permutation(len(self.phase))
        order: _Ints = np.lexsort(
            (np.where(self.drawn, mixed, 0), np.where(self.drawn, self.phase, len(self.phase) + 1))
        )
        return order

    def write(self, path: str | Path) -> None:
        """Write the design as CSV, whole or not at all."""
        write_whole(Path(path), csv_frame(self.frame()))

    @classmethod
    def read(cls, path: str | Path) -> LabelDesign:
        """Read a design that `write` wrote.

        Raises
        ------
        bonwise.errors.InputError
            A column is absent, a rule is unknown, a propensity lies outside (0, 1], or a prompt stands twice.
        """
        source = str(path)
        raw = read_raw(Path(path))
        _require(raw, source)
        rule, judge = (_one(raw, column, source) for column in ("rule", "judge"))
        if rule not in (*BY_PROMPT, *BY_CANDIDATE):
            raise InputError(
                f"{source}: unknown rule {shown(rule)}", hint=f"the rules are {listed((*BY_PROMPT, *BY_CANDIDATE))}"
            )
        by_candidate = rule in BY_CANDIDATE
        if by_candidate:
            _require(raw, source, _DRAWN)
        prompts = as_categories(raw["prompt_id"], role="prompt_id", source=source)
        _refuse_twice(prompts, raw.index, source)
        phase, stratum, seed = (_whole(raw, column, source) for column in ("phase", "stratum", "seed"))
        propensity = parse_numbers(raw["propensity"], role="propensity", source=source)
        _refuse_impossible(propensity, phase, raw.index, source)
        picks, others = (raw[column].fillna("").astype(str).tolist() if by_candidate else () for column in _DRAWN)
        index = pd.Index(prompts.astype(object))
        return cls(index, phase, propensity, stratum, rule, int(seed.max()), judge, picks, others, source)


def _require(raw: pd.DataFrame, source: str, columns: Sequence[str] = _COLUMNS) -> None:
    for column in columns:
        if column not in raw.columns:
            raise ColumnError(
                f"{source}: no column named {shown(column)}, so this is no label design",
                hint="give the file that bonwise labels draw --out wrote, or --design uniform",
            )
    if not len(raw):
        raise InputError(f"{source}: the design holds no prompt", hint="draw it again with bonwise labels draw")


def _one(raw: pd.DataFrame, column: str, source: str) -> str:
    found = raw[column].fillna("").astype(str).str.strip().unique()
    if len(found) > 1:
        raise InputError(
            f"{source}: {column} holds {shown(found[0])} and {shown(found[1])}",
            hint="a design is one draw by one rule for one judge: keep its file as it was written",
        )
    return str(found[0])


def _refuse_twice(prompts: pd.Categorical, rows: pd.Index, source: str) -> None:
    again = np.flatnonzero(pd.Series(prompts.codes).duplicated())
    if again.size:
        raise RowError(
            f"{source}, row {rows[again[0]]}: {shown(prompts[again[0]])} stands in the design twice",
            hint="keep one row a prompt",
        )


def _whole(raw: pd.DataFrame, column: str, source: str) -> _Ints:
    values = parse_numbers(raw[column], role=column, source=source)
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0) | (values != np.round(values)))
    if bad.size:
        raise RowError(
            f"{source}, row {raw.index[bad[0]]}: {column} is {shown(raw[column].iloc[bad[0]])}",
            hint=f"{column} is a whole number, 0 or more",
        )
    return values.astype(np.int64)


def _refuse_impossible(propensity: _Floats, phase: _Ints, rows: pd.Index, source: str) -> None:
    possible = (propensity > 0) & (propensity <= 1)
    bad = np.flatnonzero(~np.where(phase > 0, possible, possible | (propensity == 0)))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: a propensity of {propensity[bad[0]]:g} is no probability of being drawn",
            hint="a drawn prompt has a propensity above 0 and at most 1",
        )
