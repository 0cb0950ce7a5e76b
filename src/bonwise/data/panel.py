"""From the long table to what statistics eat: per judge, complete prompts in contiguous cells.

What does not fit is dropped prompt by prompt, each with its reason; nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.table import ScoreTable
from bonwise.errors import InputError, RowError, UsageError

__all__ = ["Dropped", "Panel", "Pools", "Shape", "lay_out"]

Shape = Literal["rectangular", "ragged"]

RECTANGULAR_SHARE = 0.9
"""Share of prompts with exactly the same candidate names from which a table is rectangular."""

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A prompt left out, and why."""

    prompt_id: str
    reason: str


@dataclass(frozen=True)
class Pools:
    """The pools of a table, whoever judged them: cells grouped by prompt, prompts sorted by id.

    Parameters
    ----------
    prompt_ids : pandas.Index, shape (prompts,)
    sizes : ndarray of int64, shape (prompts,)
        Candidates a prompt.
    names : ndarray of int64, shape (cells,)
        Position of each cell's candidate name in `candidates`.
    candidates : pandas.Index
        All candidate names of the table.
    keys : ndarray of int64, shape (cells,)
        The table's cell keys.
    shape : {"rectangular", "ragged"}
    dropped : tuple of Dropped
    """

    prompt_ids: pd.Index
    sizes: _Ints
    names: _Ints
    candidates: pd.Index
    keys: _Ints
    shape: Shape
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True)
class Panel:
    """One judge's scores on the prompts where it scored every candidate.

    Parameters
    ----------
    judge : str
    prompt_ids : pandas.Index, shape (prompts,)
    sizes : ndarray of int64, shape (prompts,)
        Candidates a prompt, 2 or more.
    scores, labels : ndarray of float64, shape (cells,)
        Cells stand grouped by prompt; a label is NaN where there is none.
    names : ndarray of int64, shape (cells,)
        Position of each cell's candidate name in `candidates`.
    candidates : pandas.Index
    shape : {"rectangular", "ragged"}
    dropped : tuple of Dropped
    """

    judge: str
    prompt_ids: pd.Index = field(repr=False)
    sizes: _Ints = field(repr=False)
    scores: _Floats = field(repr=False)
    labels: _Floats = field(repr=False)
    names: _Ints = field(repr=False)
    candidates: pd.Index = field(repr=False)
    shape: Shape
    dropped: tuple[Dropped, ...] = field(repr=False)

    @property
    def labelled_cells(self) -> _Ints:
        """Number of labelled candidates of each prompt, shape (prompts,)."""
        return _sum_by_prompt(~np.isnan(self.labels), self.sizes)

    def keep(self, prompts: npt.NDArray[np.bool_], dropped: Sequence[Dropped] = ()) -> Panel:
        """Return the panel of some prompts only."""
        if prompts.all():
            return self
        cells = np.repeat(prompts, self.sizes)
        return Panel(
            self.judge,
            self.prompt_ids[prompts],
            self.sizes[prompts],
            self.scores[cells],
            self.labels[cells],
            self.names[cells],
            self.candidates,
            self.shape,
            (*self.dropped, *dropped),
        )


def lay_out(table: ScoreTable, *, exclude: Sequence[str] = (), shape: Shape | None = None) -> tuple[Panel, ...]:
    """Lay a table out as one panel a judge.

    Parameters
    ----------
    table : ScoreTable
    exclude : sequence of str
        Candidate names to leave out before anything else.
    shape : {"rectangular", "ragged"}, optional
        Forced; otherwise rectangular when at least 90 % of the prompts carry the same names.

    Raises
    ------
    bonwise.errors.UsageError
        An excluded name that no candidate has.
    bonwise.errors.InputError
        No prompt with two candidates is left.
    """
    rows = np.flatnonzero(_included(table, exclude))
    keys = table.cell_keys()[rows]
    pools = _pools(table, _distinct(keys), shape)
    labels = _cell_labels(table, rows, keys, pools.keys)
    codes = table.frame["judge"].cat.codes.to_numpy()[rows]
    scores = table.frame["judge_score"].to_numpy()[rows]
    panels = []
    for code, judge in enumerate(table.judges):
        mine = codes == code if len(table.judges) > 1 else slice(None)
        found = _mean_by_key(keys[mine], scores[mine], pools.keys)
        panels.append(_panel(judge, pools, found, labels))
    return tuple(panels)


def _included(table: ScoreTable, exclude: Sequence[str]) -> npt.NDArray[np.bool_]:
    unknown = [name for name in exclude if name not in table.candidates]
    if unknown:
        raise UsageError(
            f"{table.source}: no candidate named {unknown[0]!r} to leave out",
            hint=f"the candidates are {', '.join(map(str, table.candidates[:12]))}",
        )
    if not exclude:
        return np.ones(len(table.frame), dtype=bool)
    left_out = np.isin(table.candidates, list(exclude))
    return ~left_out[table.frame["candidate"].cat.codes.to_numpy()]


def _distinct(keys: _Ints) -> _Ints:
    return keys if (np.diff(keys) > 0).all() else np.unique(keys)


def _pools(table: ScoreTable, keys: _Ints, shape: Shape | None) -> Pools:
    width = len(table.candidates)
    codes, names = keys // width, keys % width
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    sizes = np.diff(starts, append=len(keys))
    prompts = table.prompts[codes[starts]]
    common = _most_common_set(names, starts, sizes)
    taken: Shape = shape or ("rectangular" if common.mean() >= RECTANGULAR_SHARE else "ragged")
    kept = common if taken == "rectangular" else sizes >= 2
    if taken == "rectangular" and common.any() and sizes[common][0] < 2:
        kept = np.zeros(len(sizes), dtype=bool)
    dropped = tuple(
        Dropped(str(prompts[x]), _shape_reason(table.candidates, names, starts, sizes, common, x, taken))
        for x in np.flatnonzero(~kept)
    )
    if not kept.any():
        raise InputError(
            f"{table.source}: no prompt has two candidates to choose between",
            hint="check --prompt-col and --candidate-col; best of n needs n of 2 or more",
        )
    cells = np.repeat(kept, sizes)
    return Pools(prompts[kept], sizes[kept], names[cells], table.candidates, keys[cells], taken, dropped)


def _most_common_set(names: _Ints, starts: _Ints, sizes: _Ints) -> npt.NDArray[np.bool_]:
    """Mark the prompts that carry the most common set of candidate names."""
    # A sum of random 64-bit tokens identifies a set without building one a prompt.
    tokens = np.random.default_rng(0).integers(0, 2**63, size=int(names.max()) + 1, dtype=np.uint64)
    sums = np.add.reduceat(tokens[names], starts) + sizes.astype(np.uint64)
    _, inverse, counts = np.unique(sums, return_inverse=True, return_counts=True)
    marked: npt.NDArray[np.bool_] = inverse == counts.argmax()
    return marked


def _shape_reason(
    candidates: pd.Index,
    names: _Ints,
    starts: _Ints,
    sizes: _Ints,
    common: npt.NDArray[np.bool_],
    x: int,
    shape: Shape,
) -> str:
    if shape == "ragged" or sizes[x] < 2:
        return "one candidate"
    model = int(np.flatnonzero(common)[0])
    usual = set(names[starts[model] : starts[model] + sizes[model]])
    mine = set(names[starts[x] : starts[x] + sizes[x]])
    if lacking := sorted(usual - mine):
        return "lacks " + ", ".join(str(candidates[name]) for name in lacking)
    return "has extra " + ", ".join(str(candidates[name]) for name in sorted(mine - usual))


def _cell_labels(table: ScoreTable, rows: _Ints, keys: _Ints, cells: _Ints) -> _Floats:
    """Return one label a cell; several rows of a cell may repeat it but not contradict it."""
    values = table.frame["oracle_label"].to_numpy()[rows]
    if len(keys) == len(cells) and np.array_equal(keys, cells):
        return values
    labels = _mean_by_key(keys, values, cells)
    at = np.searchsorted(cells, keys).clip(max=len(cells) - 1)
    differs = (cells[at] == keys) & (np.abs(values - labels[at]) > 1e-9)
    if differs.any():
        row = table.frame.iloc[rows[int(np.flatnonzero(differs)[0])]]
        raise RowError(
            f"{table.source}, row {row.name}: {row['prompt_id']!r} / {row['candidate']!r} carries two different "
            "oracle labels",
            hint="give a candidate the same label in each of its rows, or in one of them",
        )
    return labels


def _mean_by_key(keys: _Ints, values: _Floats, cells: _Ints) -> _Floats:
    """Average the values of each cell, blanks left out; NaN where a cell has none."""
    if len(keys) == len(cells) and np.array_equal(keys, cells):
        return values
    at = np.searchsorted(cells, keys).clip(max=len(cells) - 1)
    used = (cells[at] == keys) & ~np.isnan(values)
    sums = np.bincount(at[used], weights=values[used], minlength=len(cells))
    counts = np.bincount(at[used], minlength=len(cells))
    # A single value is kept to the bit, which a sum that starts at 0.0 does.
    return np.divide(sums, counts, out=np.full(len(cells), np.nan), where=counts > 0)


def _panel(judge: str, pools: Pools, scores: _Floats, labels: _Floats) -> Panel:
    whole = Panel(
        judge,
        pools.prompt_ids,
        pools.sizes,
        scores,
        labels,
        pools.names,
        pools.candidates,
        pools.shape,
        pools.dropped,
    )
    blank = np.isnan(scores)
    if not blank.any():
        return whole
    owner = np.repeat(np.arange(len(pools.sizes)), pools.sizes)
    reasons: dict[int, list[str]] = {}
    for cell in np.flatnonzero(blank):
        reasons.setdefault(int(owner[cell]), []).append(str(pools.candidates[pools.names[cell]]))
    dropped = [Dropped(str(pools.prompt_ids[x]), f"no score for {', '.join(names)}") for x, names in reasons.items()]
    complete = np.ones(len(pools.sizes), dtype=bool)
    complete[list(reasons)] = False
    return whole.keep(complete, dropped)


def _sum_by_prompt(cells: npt.NDArray[np.bool_], sizes: _Ints) -> _Ints:
    starts = np.cumsum(sizes) - sizes
    return np.add.reduceat(cells.astype(np.int64), starts) if len(sizes) else np.zeros(0, dtype=np.int64)
