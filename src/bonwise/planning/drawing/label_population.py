"""The prompts that could be labelled: one judge's pools, and what further judges say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bonwise.data.labels import join_labels
from bonwise.data.panel import Panel, Shape, lay_out
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, shown
from bonwise.errors import UsageError
from bonwise.stats.sums import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelPopulation", "label_population"]


@dataclass(frozen=True, eq=False)
class LabelPopulation:
    """All prompts of a table as a label design sees them.

    Parameters
    ----------
    table : ScoreTable
    panel : Panel
        Of the audited judge; labels are NaN where they were not asked for.
    further : tuple of str
        The other judges of the table.
    others : tuple of ndarray of float64, shape (cells,)
        Their scores of the panel's cells, NaN where they gave none.
    labels_in_table : bool
        Whether the table came with labels of its own.
    """

    table: ScoreTable = field(repr=False)
    panel: Panel = field(repr=False)
    further: tuple[str, ...]
    others: tuple[Floats, ...] = field(repr=False)
    labels_in_table: bool

    @property
    def second(self) -> Floats | None:
        """Mean score of the further judges that scored all candidates of a prompt, NaN where none did."""
        sizes = self.panel.sizes
        starts = np.cumsum(sizes) - sizes
        total, judges = np.zeros(int(sizes.sum())), np.zeros(len(sizes))
        for scores in self.others:
            whole = np.logical_and.reduceat(np.isfinite(scores), starts)
            total += np.where(np.repeat(whole, sizes), scores, 0.0)
            judges += whole
        if not judges.any():
            return None
        cells = np.repeat(judges, sizes)
        mean: Floats = np.divide(total, cells, out=np.full(len(total), np.nan), where=cells > 0)
        return mean

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Whether all candidates of each prompt are labelled, shape (prompts,)."""
        done: npt.NDArray[np.bool_] = self.panel.labelled_cells == self.panel.sizes
        return done

    def settings(self) -> dict[str, Any]:
        """Return what a document repeats of the table."""
        return {
            "source": self.table.source,
            "judge": self.panel.judge,
            "further_judges": list(self.further),
            "shape": self.panel.shape,
            "labels_in_table": self.labels_in_table,
        }

    def counts(self) -> dict[str, Any]:
        """Return the counts that a document repeats, and the prompts left out, each with its reason."""
        return {
            "prompts": len(self.panel.sizes),
            "cells": len(self.panel.scores),
            "dropped": [{"prompt_id": one.prompt_id, "reason": one.reason} for one in self.panel.dropped],
        }


def label_population(  # noqa: PLR0913 - what two front doors share; all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    judge: str | None = None,
    exclude: str | Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
    labels: str | Path | pd.DataFrame | None = None,
    with_labels: bool = False,
) -> LabelPopulation:
    """Lay out one judge's pools.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
    judge : str, optional
        The audited one; needed where the table holds several.
    exclude, shape, columns, judge_scale, label_scale
        As in `bonwise.audit`.
    labels : str, pathlib.Path or pandas.DataFrame, optional
        Labels from elsewhere.
    with_labels : bool
        Otherwise the labels of the table are not looked at.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; several judges and none named.
    """
    table = _table(source, columns, judge_scale, label_scale, apart=labels is not None)
    own = table.has_labels
    if not with_labels:
        table = replace(table, frame=table.frame.assign(oracle_label=np.nan))
    elif labels is not None:
        table = join_labels(table, labels, columns=columns, label_scale=label_scale)
    name = _audited(table, judge)
    panels = lay_out(table, exclude=(exclude,) if isinstance(exclude, str) else tuple(exclude), shape=shape)
    mine = next(panel for panel in panels if panel.judge == name)
    others = [panel for panel in panels if panel.judge != name]
    return LabelPopulation(
        table, mine, tuple(one.judge for one in others), tuple(_aligned(mine, one) for one in others), own
    )


def _table(
    source: str | Path | pd.DataFrame | ScoreTable,
    columns: Mapping[str, str] | None,
    judge_scale: Mapping[str, Scale] | Scale | None,
    label_scale: Scale | None,
    *,
    apart: bool,
) -> ScoreTable:
    if isinstance(source, ScoreTable):
        if columns or judge_scale:
            raise UsageError("columns and scales of a ScoreTable are fixed", hint="give them to ScoreTable.read")
        return source
    # A column named for the labels stands in the label file where there is one.
    own = {role: name for role, name in (columns or {}).items() if not (apart and role == "oracle_label")}
    scale = None if apart else label_scale
    if isinstance(source, str | Path):
        return ScoreTable.read(source, columns=own, judge_scale=judge_scale, label_scale=scale)
    return ScoreTable.from_frame(source, columns=own, judge_scale=judge_scale, label_scale=scale)


def _audited(table: ScoreTable, judge: str | None) -> str:
    if judge is None and len(table.judges) == 1:
        return table.judges[0]
    if judge is None:
        raise UsageError(
            f"{table.source} holds {len(table.judges)} judges, and labels are drawn for the audit of one",
            hint=f"name it with --judge (judge=): {listed(table.judges)}; the others then help to choose the prompts",
        )
    if judge not in table.judges:
        raise UsageError(
            f"{table.source}: no judge named {shown(judge)}", hint=f"the judges are {listed(table.judges)}"
        )
    return judge


def _aligned(mine: Panel, other: Panel) -> Floats:
    """Return another judge's scores of this panel's cells, NaN where it did not score the whole prompt."""
    shared = np.asarray(mine.prompt_ids.isin(other.prompt_ids), dtype=bool)
    found = np.full(len(mine.scores), np.nan)
    found[np.repeat(shared, mine.sizes)] = other.keep(
        np.asarray(other.prompt_ids.isin(mine.prompt_ids), dtype=bool)
    ).scores
    return found
