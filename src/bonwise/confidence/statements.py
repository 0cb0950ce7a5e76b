"""Statements of confidence: what a judge said would be the case, beside what was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.errors import ColumnError, InputError, RowError
from bonwise.table.identifiers import as_categories
from bonwise.table.numbers import distinct, parse_numbers
from bonwise.table.opening import join_labels
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable

__all__ = ["Statements", "Ties", "pair_statements", "plain_statements"]

Ties = Literal["exclude", "half"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

LEVELS = 5
"""Stated confidence runs from 1 to this."""


@dataclass(frozen=True, eq=False)
class Statements:
    """Statements of one or several judges."""

    source: str
    judge: pd.Categorical = field(repr=False)
    prompt: _Ints = field(repr=False)
    """The unit of the intervals."""
    stated: _Floats = field(repr=False)
    """Probability from 0 to 1, or a verdict: 1, 0 or 0.5."""
    outcome: _Floats = field(repr=False)
    """1 where it was so, 0 where not, 0.5 for an oracle's tie."""
    level: _Floats = field(repr=False)
    """Stated confidence from 1 to 5, NaN where none was stated."""
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Statements left out, by judge and reason."""
    tied: Mapping[str, int] = field(default_factory=dict)
    """Statements on oracle ties that count half, by judge."""
    labels_left_out: Mapping[str, int] = field(default_factory=dict)
    """As of a `ScoreTable`."""


def plain_statements(raw: pd.DataFrame, source: str, ties: Ties) -> Statements:
    """Read ``probability`` and ``outcome``, and ``prompt_id``, ``judge`` and ``confidence`` where they are there.

    Without a column of prompts every row is a unit of its own.

    Raises
    ------
    bonwise.errors.RowError
        A probability or an outcome off [0, 1], or a confidence that is none of 1 to 5.
    """
    level = _numbers(raw, "confidence", source) if "confidence" in raw.columns else np.full(len(raw), np.nan)
    prompt = (
        np.asarray(as_categories(raw["prompt_id"], role="prompt_id", source=source).codes, dtype=np.int64)
        if "prompt_id" in raw.columns
        else np.arange(len(raw))
    )
    return _checked(
        source,
        _judges(raw, source),
        prompt,
        _unit(raw, "probability", source),
        _unit(raw, "outcome", source),
        _levels(level, raw.index, source),
        ties,
    )


def pair_statements(
    raw: pd.DataFrame, source: str, labels: RowSource, reading: ReadingOptions, ties: Ties
) -> Statements:
    """Read the pairs file of ``bonwise judge --pairs``: each order is a statement on the candidate shown first.

    Parameters
    ----------
    raw : pandas.DataFrame
    source : str
    labels : str, pathlib.Path, pandas.DataFrame or rows as mappings
        Oracle labels of the candidates, joined on prompt and candidate.
    reading : ReadingOptions
        Of the label file.
    ties : {"exclude", "half"}
        What becomes of pairs with equal labels.

    Raises
    ------
    bonwise.errors.InputError
        A column that is absent, a number off its range, or labels that fit nothing.
    """
    missing = [name for name in ("prompt_id", "a", "b", "shown_second") if name not in raw.columns]
    if missing:
        raise ColumnError(f"{source}: no column {missing[0]}", hint="give the file of bonwise judge --pairs")
    (best, worse), left_out = _pair_labels(raw, source, labels, reading)
    won = np.where(np.isnan(best - worse), np.nan, (1 + np.sign(np.round(best - worse, 9))) / 2)
    prompt = np.asarray(as_categories(raw["prompt_id"], role="prompt_id", source=source).codes, dtype=np.int64)
    judge = _judges(raw, source)
    first, second = _unit(raw, "shown_first", source), _unit(raw, "shown_second", source)
    level = [
        _levels(_numbers(raw, name, source), raw.index, source) if name in raw.columns else np.full(len(raw), np.nan)
        for name in ("confidence_first", "confidence_second")
    ]
    found = _checked(
        source,
        pd.Categorical.from_codes(np.concatenate([judge.codes, judge.codes]), judge.categories),
        np.concatenate([prompt, prompt]),
        np.concatenate([first, 1 - second]),
        np.concatenate([won, 1 - won]),
        np.concatenate(level),
        ties,
    )
    return replace(found, labels_left_out=left_out)


def _pair_labels(
    raw: pd.DataFrame, source: str, labels: RowSource, reading: ReadingOptions
) -> tuple[tuple[_Floats, _Floats], Mapping[str, int]]:
    """Return the labels of both candidates of each pair, and how many labels were left out."""
    ends = [raw[["prompt_id", name]].set_axis(["prompt_id", "candidate"], axis=1) for name in ("a", "b")]
    cells = pd.concat(ends, ignore_index=True)
    (prompt, _), (name, names) = (distinct(cells[role].astype(str)) for role in ("prompt_id", "candidate"))
    # Numbered in the order of their appearance, which is that of the rows of the table.
    at, _ = pd.factorize(prompt * (len(names) + 1) + name + 1)
    _, first = np.unique(at, return_index=True)
    table = ScoreTable.from_frame(cells.iloc[first].assign(judge_score=0.0), source=source)
    joined = join_labels(table, labels, reading)
    values = joined.frame["oracle_label"].to_numpy()[at]
    return (values[: len(raw)], values[len(raw) :]), joined.labels_left_out


def _checked(
    source: str,
    judge: pd.Categorical,
    prompt: _Ints,
    stated: _Floats,
    outcome: _Floats,
    level: _Floats,
    ties: Ties,
) -> Statements:
    """Drop what says nothing, each with its reason."""
    tied = outcome == 0.5
    reason = np.where(
        np.isnan(stated),
        "nothing stated",
        np.where(np.isnan(outcome), "no label", np.where(tied & (ties == "exclude"), "oracle tie", "")),
    )
    kept = reason == ""
    if not kept.any():
        raise InputError(f"{source}: no statement with an outcome", hint="check the labels")
    codes = np.asarray(judge.codes)
    names = [str(name) for name in judge.categories]
    dropped = {name: dict(Counter(reason[(codes == k) & ~kept].tolist())) for k, name in enumerate(names)}
    halved = {name: int((tied & kept & (codes == k)).sum()) for k, name in enumerate(names)}
    return Statements(source, judge[kept], prompt[kept], stated[kept], outcome[kept], level[kept], dropped, halved)


def _judges(raw: pd.DataFrame, source: str) -> pd.Categorical:
    if "judge" in raw.columns:
        return as_categories(raw["judge"], role="judge", source=source)
    return pd.Categorical.from_codes(np.zeros(len(raw), dtype=np.int8), pd.Index(["judge"], dtype=object))


def _numbers(raw: pd.DataFrame, name: str, source: str) -> _Floats:
    return parse_numbers(raw[name], role=name, source=source)


def _unit(raw: pd.DataFrame, name: str, source: str) -> _Floats:
    values = _numbers(raw, name, source)
    off = (values < 0) | (values > 1)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {raw.index[at]}: {name} is {values[at]:g}",
            hint="write a number from 0 to 1, blank for none",
        )
    return values


def _levels(values: _Floats, rows: pd.Index, source: str) -> _Floats:
    off = ~np.isnan(values) & ~np.isin(values, np.arange(1, LEVELS + 1))
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {rows[at]}: a stated confidence of {values[at]:g}", hint="write 1, 2, 3, 4 or 5"
        )
    return values
