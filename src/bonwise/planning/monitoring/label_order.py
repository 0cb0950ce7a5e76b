"""What labelled prompts add to recovery, in the order in which their labels were completed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.columns import resolve_columns
from bonwise.data.identifiers import as_categories
from bonwise.data.label_design import LabelDesign
from bonwise.data.labels import join_labels
from bonwise.data.numbers import is_blank
from bonwise.data.opening import open_table
from bonwise.data.panel import Dropped, Panel, Shape, lay_out
from bonwise.data.reading import read_raw
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable, counted_rows
from bonwise.data.wording import listed, shown
from bonwise.errors import InputError, UsageError
from bonwise.stats.sums import Floats, Sums, prompt_sums

__all__ = ["LabelledPrompts", "labelled_in_order"]

_Ints = npt.NDArray[np.int64]

_CELL = ("prompt_id", "candidate", "oracle_label")


@dataclass(frozen=True, eq=False)
class LabelledPrompts:
    """Completely labelled prompts, first completed first.

    Parameters
    ----------
    prompt_ids : pandas.Index, shape (prompts,)
    gained, possible : ndarray of float64, shape (prompts,)
        What the judge's pick gains over a random pick, and what the best candidate does.
    judge, source : str
    shape : {"rectangular", "ragged"}
    pools : int
        Prompts of the table, labelled or not, after drops.
    partly : int
        Prompts with labels for some candidates only: not counted yet.
    dropped : tuple of Dropped
    labels_left_out : mapping of str to int
        Labels of prompts that the table does not hold.
    """

    prompt_ids: pd.Index = field(repr=False)
    gained: Floats = field(repr=False)
    possible: Floats = field(repr=False)
    judge: str
    source: str
    shape: Shape
    pools: int
    partly: int
    dropped: tuple[Dropped, ...] = field(repr=False)
    labels_left_out: Mapping[str, int]

    @property
    def sorted_by_id(self) -> bool:
        """Whether the prompts were completed in the order of their ids."""
        return bool(self.prompt_ids.is_monotonic_increasing)


def labelled_in_order(  # noqa: PLR0913 - all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    labels: str | Path | pd.DataFrame | None = None,
    judge: str | None = None,
    exclude: Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    label_scale: Scale | None = None,
    design: str | Path | LabelDesign | None = None,
) -> LabelledPrompts:
    """Read scores and labels; the order of the labels is that of the rows they stand in.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
        Scores, and without `labels` the labels too.
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Labels in the order of labelling.
    judge : str, optional
        Whose picks; needed where the table has several judges.
    exclude : sequence of str
        Candidate names to leave out.
    shape : {"rectangular", "ragged"}, optional
        Forced.
    columns : mapping of str to str, optional
        Role to column name.
    label_scale : Scale, optional
        Declared scale of the labels.
    design : str, pathlib.Path or LabelDesign, optional
        The uniform draw that the labelled prompts come from.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.
    """
    if isinstance(source, ScoreTable) and labels is not None and not columns:
        table = join_labels(source, labels, label_scale=label_scale)
    else:
        table = open_table(source, labels=labels, columns=columns, label_scale=label_scale)
    panel = _of_judge(lay_out(table, exclude=exclude, shape=shape), judge, table.source)
    labelled = panel.labelled_cells == panel.sizes
    partly = int(np.count_nonzero((panel.labelled_cells > 0) & ~labelled))
    done = panel.keep(labelled)
    if design is not None:
        _check_design(design if isinstance(design, LabelDesign) else LabelDesign.read(design), done)
    t = Sums(*prompt_sums(done.scores, done.labels, done.sizes))
    order = np.argsort(_completed(table, done, labels, columns or {}), kind="stable")
    return LabelledPrompts(
        done.prompt_ids[order],
        (t.J - t.R)[order],
        (t.M - t.R)[order],
        panel.judge,
        table.source,
        panel.shape,
        len(panel.sizes),
        partly,
        panel.dropped,
        table.labels_left_out,
    )


def _of_judge(panels: tuple[Panel, ...], judge: str | None, source: str) -> Panel:
    names = [panel.judge for panel in panels]
    if judge is None and len(names) > 1:
        raise UsageError(
            f"{source}: {len(names)} judges, and one sequence of looks is for one",
            hint=f"name it with --judge: {listed(names)}",
        )
    if judge is not None and judge not in names:
        raise UsageError(f"{source}: no judge named {shown(judge)}", hint=f"the judges are {listed(names)}")
    return panels[0 if judge is None else names.index(judge)]


def _check_design(design: LabelDesign, done: Panel) -> None:
    if design.rule != "uniform":
        raise InputError(
            f"{design.source}: drawn by the rule {shown(design.rule)}, with unequal chances",
            hint="repeated looks are for a uniform draw; audit this one: bonwise audit --design",
        )
    strange = ~done.prompt_ids.isin(design.prompt_ids[design.drawn])
    if strange.any():
        raise InputError(
            f"{design.source}: {int(strange.sum())} labelled prompts were not drawn by it, such as "
            f"{shown(done.prompt_ids[strange][0])}",
            hint="leave their labels out, or give the design they come from",
        )


def _completed(
    table: ScoreTable, done: Panel, labels: str | Path | pd.DataFrame | None, columns: Mapping[str, str]
) -> _Ints:
    """Return for each prompt the position of the label that completed it."""
    keys = _own_keys(table) if labels is None else _label_keys(table, labels, columns)
    cells, first = np.unique(keys, return_index=True)
    prompts = table.prompts.get_indexer(done.prompt_ids).astype(np.int64)
    mine = np.repeat(prompts, done.sizes) * len(table.candidates) + done.names
    at = first[np.searchsorted(cells, mine)]
    starts = np.cumsum(done.sizes) - done.sizes
    return np.maximum.reduceat(at, starts) if len(starts) else np.zeros(0, dtype=np.int64)


def _own_keys(table: ScoreTable) -> _Ints:
    """Key the rows of the table, those without a label as no cell."""
    return np.where(table.frame["oracle_label"].notna().to_numpy(), table.cell_keys(), -1)


def _label_keys(table: ScoreTable, labels: str | Path | pd.DataFrame, columns: Mapping[str, str]) -> _Ints:
    """Key the rows of the label file as the table keys its cells."""
    source = "labels" if isinstance(labels, pd.DataFrame) else str(labels)
    raw = counted_rows(labels, source) if isinstance(labels, pd.DataFrame) else read_raw(Path(labels))
    named = {role: column for role, column in columns.items() if role in _CELL and column in raw.columns}
    taken = resolve_columns(raw, named, source=source, required=_CELL, roles=_CELL)
    codes = []
    for role, known in (("prompt_id", table.prompts), ("candidate", table.candidates)):
        found = as_categories(raw[taken[role]], role=role, source=source)
        codes.append(known.get_indexer(found.categories)[found.codes].astype(np.int64))
    unknown = (codes[0] < 0) | (codes[1] < 0) | is_blank(raw[taken["oracle_label"]])
    return np.where(unknown, -1, codes[0] * len(table.candidates) + codes[1])
