"""The prompts that could be labelled: a judge's pools, further judges' scores, and what is drawn as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import UsageError
from bonwise.labels.result import PopulationSettings
from bonwise.printable import listed, quoted
from bonwise.stats import clusters, sums
from bonwise.stats.partial.label_features import LabelFeatures, label_features, mean_of_judges
from bonwise.table import cell_scores, checks, facts, opening, reading_options, score_table
from bonwise.table.panel import Panel, lay_out
from bonwise.table.reading import name_of

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class DrawnUnits:
    """The units of a draw, numbered from 0."""

    of_prompts: Ints = field(repr=False)
    """The unit of each prompt."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """Of clusters; empty where each prompt is a unit of its own."""

    @classmethod
    def prompts(cls, count: int) -> DrawnUnits:
        """Return prompts drawn one by one."""
        return cls(np.arange(count, dtype=np.int64))

    @classmethod
    def clusters(cls, of_prompts: Ints, names: Sequence[str]) -> DrawnUnits:
        """Return clusters that are drawn as a whole; `of_prompts` holds any codes, one a prompt, into `names`."""
        codes, _ = clusters.cluster_codes(of_prompts)
        return cls(codes, tuple(str(names[code]) for code in np.unique(of_prompts).tolist()))

    @property
    def clustered(self) -> bool:
        """Whether units are clusters."""
        return bool(self.names)

    @cached_property
    def sizes(self) -> Ints:
        """Prompts of each unit."""
        return np.bincount(self.of_prompts).astype(np.int64)

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.sizes)

    def mean(self, values: Floats) -> Floats:
        """Return the mean over the prompts of each unit."""
        return np.bincount(self.of_prompts, weights=values, minlength=self.count) / self.sizes

    def first(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Return what the first prompt of each unit has."""
        return values[np.unique(self.of_prompts, return_index=True)[1]]

    def of(self, prompts: int) -> int:
        """Return how many units of average size make that many prompts, at most."""
        return prompts * self.count // len(self.of_prompts)


@dataclass(frozen=True, eq=False)
class LabelPopulation:
    """All prompts of a table as a label design sees them."""

    table: score_table.ScoreTable = field(repr=False)
    panel: Panel = field(repr=False)
    """Of the audited judge; labels are NaN where they were not asked for."""
    further: Mapping[str, Floats] = field(repr=False)
    """Scores that the other judges of the table gave the panel's cells, NaN where they gave none."""
    settings: PopulationSettings = field(repr=False)
    """How the table was read."""

    @property
    def second(self) -> Floats | None:
        """Mean score of the further judges that scored all candidates of a prompt, NaN where none did."""
        T, scored = mean_of_judges(tuple(self.further.values()), self.panel.sizes)
        return np.where(np.repeat(scored, self.panel.sizes), T, np.nan) if scored.any() else None

    def features(self) -> LabelFeatures:
        """Return what scores say of every prompt; the audited judge is used in its placeself where it is alone."""
        second = self.second
        return label_features(
            self.panel.scores,
            self.panel.sizes,
            (sums.filled_scores(self.panel.scores, self.panel.sizes) if second is None else second,),
            self.panel.ranked,
        )

    @cached_property
    def units(self) -> DrawnUnits:
        """What is drawn as a whole: clusters where the table names them, else prompts."""
        if self.panel.clusters is None:
            return DrawnUnits.prompts(len(self.panel.sizes))
        return DrawnUnits.clusters(self.panel.clusters, self.table.rows.columns["cluster"].categories.tolist())

    @property
    def complete(self) -> Mask:
        """Whether all candidates of each prompt are labelled, shape (prompts,)."""
        done: Mask = self.panel.labelled_cells == self.panel.sizes
        return done

    @property
    def dropped(self) -> list[facts.DroppedPrompt]:
        """The prompts left out, each with its reason."""
        return [facts.DroppedPrompt(prompt_id=lost.prompt_id, reason=lost.reason) for lost in self.panel.dropped]


def label_population(
    source: opening.ScoreSource,
    reading: reading_options.ReadingOptions = reading_options.AS_IT_STANDS,
    *,
    judge: str | None = None,
    with_labels: bool = False,
) -> LabelPopulation:
    """Lay out one judge's pools; labels are read only if `with_labels`: the label file's, else the table's own."""
    label_file = reading.labels
    _refuse_kinds(source, label_file, judge)
    table = opening.open_scores(source, reading)
    own = table.has_labels
    if not with_labels:
        table = replace(table, rows=table.rows.assign({"oracle_label": np.full(len(table.rows), np.nan)}))
    elif label_file is not None:
        table = opening.join_labels(table, label_file, reading)
    name = _audited(table, judge)
    own_panel = next(
        panel for panel in lay_out(table, exclude=reading.exclude, shape=reading.shape) if panel.judge == name
    )
    further = cell_scores.further_scores(table, own_panel)
    settings = PopulationSettings(
        source=table.source,
        judge=own_panel.judge,
        further_judges=list(further),
        shape=own_panel.shape,
        labels_in_table=own,
        label_file=None if label_file is None else name_of(label_file, "labels"),
        exclude=list(reading.exclude),
        shape_asked=reading.shape,
        columns=dict(reading.named_columns),
        judge_scale={whose: str(scale) for whose, scale in reading.judge_scales.items()},
        label_scale=None if reading.label_scale is None else str(reading.label_scale),
        **reading_options.values_read(table),
    )
    return LabelPopulation(table, own_panel, MappingProxyType(further), settings)


def _refuse_kinds(source: object, label_file: object, judge: object) -> None:
    if not isinstance(
        source, str | Path | pd.DataFrame | list | tuple | opening.HoldsScores | score_table.ScoreTable
    ):
        raise UsageError(f"scores are a file or a table, not {quoted(source)}", hint="such as 'scores.csv'")
    if label_file is not None and not isinstance(label_file, str | Path | pd.DataFrame | list | tuple):
        raise UsageError(
            f"label_file is a file or a table, not {quoted(label_file)}", hint="such as label_file='labels.csv'"
        )
    checks.check_text("judge", judge, "judge='first'")


def _audited(table: score_table.ScoreTable, judge: str | None) -> str:
    if judge is None and len(table.judges) == 1:
        return table.judges[0]
    if judge is None:
        raise UsageError(
            f"{table.source} holds {len(table.judges)} judges, and labels are drawn for the audit of one",
            hint=f"name it with judge (--judge): {listed(table.judges)}; the others then help to choose the prompts",
        )
    if judge not in table.judges:
        raise UsageError(
            f"{table.source}: no judge named {quoted(judge)}", hint=f"the judges are {listed(table.judges)}"
        )
    return judge
