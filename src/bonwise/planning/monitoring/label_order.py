"""What labelled prompts add to recovery, in the order in which their labels were completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.draw_beside import refuse_other_draw
from bonwise.data.easy_candidates import EasyCandidate, easy_candidates
from bonwise.data.labels_in_part import LabelsInPart
from bonwise.data.opening import ScoreSource, open_table
from bonwise.data.panel import Panel, PromptLeftOut, Shape, lay_out
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.errors import UsageError
from bonwise.planning.monitoring.request import MonitorRequest
from bonwise.planning.monitoring.uniform_draw import Described, stated_draw
from bonwise.stats.sums import Floats, Sums, prompt_sums

__all__ = ["LabelledPrompts", "labelled_in_order"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledPrompts:
    """Completely labelled prompts, first completed first."""

    prompt_ids: pd.Index = field(repr=False)
    gained: Floats = field(repr=False)
    """What the judge's pick gains over a random pick, and what the best candidate does."""
    possible: Floats = field(repr=False)
    """What the judge's pick gains over a random pick, and what the best candidate does."""
    judge: str
    source: str
    shape: Shape
    columns: Mapping[str, str] = field(repr=False)
    """What the columns of both files were taken for."""
    described: Described
    """Which prompts of the table, after drops, they stand for."""
    partly: int
    """Prompts with labels for some candidates only: not counted yet."""
    dropped: tuple[PromptLeftOut, ...] = field(repr=False)
    labels_left_out: Mapping[str, int]
    """Labels of prompts that the table does not hold."""
    easy: tuple[EasyCandidate, ...] = ()
    """Candidates that are worst almost everywhere, and that the request does not keep."""
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of the prompts labelled in part."""
    clusters: _Ints | None = field(default=None, repr=False)
    """The cluster of each prompt, where the table names clusters."""
    units_per_prompt: float = 1.0
    """Clusters of the whole table, labelled or not, per prompt; 1 without clusters."""

    @property
    def sorted_by_id(self) -> bool:
        """Whether the prompts were completed in the order of their ids."""
        return bool(self.prompt_ids.is_monotonic_increasing)


def labelled_in_order(source: ScoreSource, request: MonitorRequest) -> LabelledPrompts:
    """Read scores and labels; the order of the labels is that of the rows they stand in.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        Scores, and without a label file the labels too.
    request : MonitorRequest

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.
    """
    table = open_table(source, request.reading)
    left_out = (*request.reading.exclude, *request.control)
    refuse_other_draw(request.design, source if request.reading.labels is None else request.reading.labels, table)
    panels = lay_out(table, exclude=left_out, shape=request.reading.shape)
    _refuse_kept(request, table)
    panel = _of_judge(panels, request.judge, table.source)
    labelled = panel.labelled_cells == panel.sizes
    stated = stated_draw(request.design, table, panel, labelled)
    done = panel.keep(labelled)
    t = Sums(*prompt_sums(done.scores, done.labels, done.sizes))
    order = np.argsort(_completed(table, done), kind="stable")
    return LabelledPrompts(
        done.prompt_ids[order],
        (t.J - t.R)[order],
        (t.M - t.R)[order],
        panel.judge,
        table.source,
        panel.shape,
        MappingProxyType({**table.columns, **request.reading.named_columns}),
        Described(len(order), len(panel.sizes), stated),
        int(np.count_nonzero((panel.labelled_cells > 0) & ~labelled)),
        panel.dropped,
        table.labels_left_out,
        tuple(one for one in easy_candidates(done, done.labels) if one.name not in request.keep_easy),
        LabelsInPart.of_panel(panel),
        None if done.clusters is None else done.clusters[order],
        1.0 if panel.clusters is None else len(np.unique(panel.clusters)) / max(len(panel.clusters), 1),
    )


def _refuse_kept(request: MonitorRequest, table: ScoreTable) -> None:
    """Refuse a name to keep that is left out as well, or that no candidate has."""
    for name in request.keep_easy:
        if name in (*request.reading.exclude, *request.control):
            raise UsageError(
                f"{name!r} is left out and kept", hint="give --keep-easy, or --control or --exclude, not both"
            )
        if name not in table.candidates:
            raise UsageError(
                f"{table.source}: no candidate named {quoted(name)} to keep",
                hint=f"the candidates are {listed(table.candidates)}",
            )


def _of_judge(panels: tuple[Panel, ...], judge: str | None, source: str) -> Panel:
    names = [panel.judge for panel in panels]
    if judge is None and len(names) > 1:
        raise UsageError(
            f"{source}: {len(names)} judges, and one sequence of looks is for one",
            hint=f"name it, judge (--judge): {listed(names)}",
        )
    if judge is not None and judge not in names:
        raise UsageError(f"{source}: no judge named {quoted(judge)}", hint=f"the judges are {listed(names)}")
    return panels[0 if judge is None else names.index(judge)]


def _completed(table: ScoreTable, done: Panel) -> _Ints:
    """Return for each prompt the position of the label that completed it."""
    keys = _own_keys(table) if table.label_rows is None else table.label_rows.index.to_numpy()
    cells, first = np.unique(keys, return_index=True)
    prompts = table.prompts.get_indexer(done.prompt_ids).astype(np.int64)
    mine = np.repeat(prompts, done.sizes) * len(table.candidates) + done.names
    at = first[np.searchsorted(cells, mine)]
    starts = np.cumsum(done.sizes) - done.sizes
    return np.maximum.reduceat(at, starts) if len(starts) else np.zeros(0, dtype=np.int64)


def _own_keys(table: ScoreTable) -> _Ints:
    """Key the rows of the table, those without a label as no cell."""
    return np.where(table.frame["oracle_label"].notna().to_numpy(), table.cell_keys(), -1)
