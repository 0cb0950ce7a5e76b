"""The headline metrics by kind of prompt, for every column of the table that says one thing of each prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.auditing.judge_audit import NO_SCORES
from bonwise.auditing.result_exhibits import ColumnLeftOut, Stratum, StratumRow
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.stats.catalog import ESTIMANDS, OF_PICKS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.sums import Floats, prompt_sums
from bonwise.table.numbers import distinct
from bonwise.table.panel import Panel
from bonwise.table.roles import CANDIDATE_ROLES
from bonwise.table.score_table import ScoreTable

__all__ = ["METRICS", "strata"]

METRICS = ("recovery", "within_r", "tie_rate", "top1_accuracy")

_ESTIMANDS = tuple(e for e in ESTIMANDS if e.name in METRICS)
_OF_PICKS = frozenset(e.name for e in OF_PICKS)

_MOST_COLUMNS, _MOST_VALUES, _FEWEST_PROMPTS, _GROUPS = 20, 12, 10, 3

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _ColumnValue:
    value: str
    kind: Literal["value", "range", "blank", "other"]
    mask: npt.NDArray[np.bool_]
    """Which prompts."""


class _LeftOut(Exception):  # noqa: N818 - no error: a column that says nothing here
    """Why a column has no rows."""


def strata(
    table: ScoreTable,
    panel: Panel,
    *,
    confidence: float,
    method: str = "complete",
    logged: bool = False,
    further: Mapping[str, Floats] | None = None,
) -> tuple[list[Stratum], list[ColumnLeftOut]]:
    """Return the headline metrics of a judge by the values of each column that is constant within prompts.

    Parameters
    ----------
    table : ScoreTable
        That the panel was laid out from.
    panel : Panel
        The judge's completely labelled prompts.
    confidence : float
        Of the two-sided intervals.
    method : str
        ``labelled_only`` where the figures of the audit stand for more prompts than these.
    logged : bool
        Whether the scores only say what was picked.
    further : mapping of str to ndarray of float64, shape (prompts,), optional
        Further values of each prompt of the panel, by what they are, such as the mean length of its candidates.

    Returns
    -------
    shown : list of Stratum
    left_out : list of ColumnLeftOut
        The other columns.
    """
    shown: list[Stratum] = []
    left_out: list[ColumnLeftOut] = []
    if not len(panel.sizes):
        reason = "no prompt is labelled completely"
        return shown, [ColumnLeftOut(column=str(column), reason=reason) for column in table.strata]
    sums, rule = (
        prompt_sums(panel.scores, panel.labels, panel.sizes),
        Settings(confidence=confidence).rule(panel.labels, panel.clusters),
    )
    cells = _cells(table, panel)
    known = further or {}
    for column in (*known, *table.strata):
        try:
            room = len(shown) < _MOST_COLUMNS
            rows = (
                list(_rows(pd.Series(known[column])))
                if column in known
                else _rows_of(table, column, cells, room=room)
            )
        except _LeftOut as why:
            left_out.append(ColumnLeftOut(column=str(column), reason=str(why)))
            continue
        figures = [
            _figures(row, estimate(_ESTIMANDS, sums[:, row.mask], rule.keep(row.mask)), method, logged)
            for row in rows
        ]
        shown.append(Stratum(column=str(column), rows=figures))
    return shown, left_out


@dataclass(frozen=True, slots=True)
class _Cells:
    """Rows of the table behind a panel, grouped by prompt."""

    rows: _Ints  # positions in the table
    starts: _Ints  # of each prompt, in the order of the panel


def _cells(table: ScoreTable, panel: Panel) -> _Cells:
    frame = table.frame
    at = panel.prompt_ids.get_indexer(table.prompts)[frame["prompt_id"].cat.codes.to_numpy()]
    used = np.zeros(len(panel.candidates), dtype=bool)
    used[panel.names] = True
    mine = (frame["judge"] == panel.judge).to_numpy() & (at >= 0) & used[frame["candidate"].cat.codes.to_numpy()]
    rows = np.flatnonzero(mine)
    rows = rows[np.argsort(at[rows], kind="stable")]
    return _Cells(rows, np.flatnonzero(np.diff(at[rows], prepend=-1)))


def _rows_of(table: ScoreTable, column: str, cells: _Cells, *, room: bool) -> list[_ColumnValue]:
    if not room:
        raise _LeftOut(f"{_MOST_COLUMNS} columns are shown already")
    return list(_rows(_of_prompts(table.frame[column].iloc[cells.rows], cells)))


def _of_prompts(column: pd.Series, cells: _Cells) -> pd.Series:
    """Return a column's value of each prompt, missing where it is blank."""
    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype(object).map(str, na_action="ignore")
    codes, found = distinct(column)
    blank = np.array([isinstance(one, str) and not one.strip() for one in found] + [True])
    codes = np.where(blank[codes], -1, codes)
    owner = np.repeat(np.arange(len(cells.starts)), np.diff(cells.starts, append=len(cells.rows)))
    if (codes != codes[cells.starts][owner]).any():
        known = "; the part on equal label has it" if column.name in CANDIDATE_ROLES else ""
        raise _LeftOut(f"it differs within prompts{known}")
    return pd.Series(found).reindex(codes[cells.starts]).reset_index(drop=True)


def _rows(values: pd.Series) -> Iterator[_ColumnValue]:
    """Group prompts by what a column says of them."""
    blank = values.isna().to_numpy()
    _, found = distinct(values[~blank])
    if len(found) > _MOST_VALUES:
        rows = list(_ranges(values, blank))
    else:
        rows = [_ColumnValue(_written(one), "value", (values == one).to_numpy()) for one in sorted(found, key=_order)]
    if len(rows) + bool(blank.any()) < 2:
        raise _LeftOut("it is blank" if not len(found) else "it has the same value for every prompt")
    rare = [row for row in rows if row.mask.sum() < _FEWEST_PROMPTS]
    yield from (row for row in rows if row.mask.sum() >= _FEWEST_PROMPTS)
    if len(rare) == 1:
        yield rare[0]
    elif rare:
        yield _ColumnValue(f"(other {len(rare)} values)", "other", np.any([row.mask for row in rare], axis=0))
    if blank.any():
        yield _ColumnValue("(blank)", "blank", blank)


def _ranges(values: pd.Series, blank: npt.NDArray[np.bool_]) -> Iterator[_ColumnValue]:
    """Cut numbers into three groups of about as many prompts each."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(numbers[~blank]).all():
        raise _LeftOut(f"it has more than {_MOST_VALUES} values, which are not numbers")
    known = numbers[~blank]
    cuts = np.quantile(known, np.arange(1, _GROUPS) / _GROUPS)
    group = np.where(blank, -1, np.searchsorted(cuts, numbers, side="left"))
    for at in range(_GROUPS):
        mine = group == at
        if mine.any():
            ends = (_written(end, digits=4) for end in (numbers[mine].min(), numbers[mine].max()))
            yield _ColumnValue(" to ".join(ends), "range", mine)


def _figures(row: _ColumnValue, found: Mapping[str, Estimate], method: str, logged: bool) -> StratumRow:
    if logged:
        found = {name: e if name in _OF_PICKS else Estimate.undefined(NO_SCORES, e.n) for name, e in found.items()}
    return StratumRow(
        value=row.value,
        kind=row.kind,
        prompts=int(row.mask.sum()),
        metrics={name: EstimateRecord.of(found[name].with_method(method)) for name in METRICS},
    )


def _written(value: Any, *, digits: int = 10) -> str:
    """Write a value as it stands; a number that is not whole to some digits."""
    if not isinstance(value, float | np.floating):
        return str(value)
    return f"{value:.15g}" if float(value).is_integer() else f"{value:.{digits}g}"


def _order(value: Any) -> tuple[int, float, str]:
    """Order values as numbers where they are numbers, and as texts otherwise."""
    try:
        return 0, float(value), str(value)
    except ValueError:
        return 1, 0.0, str(value)
