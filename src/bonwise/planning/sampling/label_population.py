"""The prompts that could be labelled: one judge's pools, and what further judges say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.cell_scores import further_scores
from bonwise.data.checks import check_shape, check_text, names_of
from bonwise.data.labels import join_labels
from bonwise.data.panel import Panel, Shape, lay_out
from bonwise.data.scales import Scale
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.label_population import PopulationSettings
from bonwise.errors import UsageError
from bonwise.stats.partial.label_features import LabelFeatures, label_features, mean_of_judges
from bonwise.stats.sums import Floats

__all__ = ["LabelPopulation", "label_population"]


@dataclass(frozen=True, eq=False)
class LabelPopulation:
    """All prompts of a table as a label design sees them.

    Parameters
    ----------
    table : ScoreTable
    panel : Panel
        Of the audited judge; labels are NaN where they were not asked for.
    further : mapping of str to ndarray of float64, shape (cells,)
        Scores that the other judges of the table gave the panel's cells, NaN where they gave none.
    settings : PopulationSettings
        How the table was read.
    """

    table: ScoreTable = field(repr=False)
    panel: Panel = field(repr=False)
    further: Mapping[str, Floats] = field(repr=False)
    settings: PopulationSettings = field(repr=False)

    @property
    def second(self) -> Floats | None:
        """Mean score of the further judges that scored all candidates of a prompt, NaN where none did."""
        T, scored = mean_of_judges(tuple(self.further.values()), self.panel.sizes)
        return np.where(np.repeat(scored, self.panel.sizes), T, np.nan) if scored.any() else None

    def features(self) -> LabelFeatures:
        """Return what scores say of every prompt; the audited judge is used in its placeself where it is alone."""
        second = self.second
        return label_features(self.panel.scores, self.panel.sizes, (self.panel.scores if second is None else second,))

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Whether all candidates of each prompt are labelled, shape (prompts,)."""
        done: npt.NDArray[np.bool_] = self.panel.labelled_cells == self.panel.sizes
        return done

    @property
    def dropped(self) -> list[DroppedPrompt]:
        """The prompts left out, each with its reason."""
        return [DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in self.panel.dropped]


def label_population(  # noqa: PLR0913 - what two front doors share; all but the source are named
    source: str | Path | pd.DataFrame | ScoreTable,
    *,
    judge: str | None = None,
    exclude: str | Sequence[str] = (),
    shape: Shape | None = None,
    columns: Mapping[str, str] | None = None,
    judge_scale: Mapping[str, Scale] | Scale | None = None,
    label_scale: Scale | None = None,
    label_file: str | Path | pd.DataFrame | None = None,
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
    label_file : str, pathlib.Path or pandas.DataFrame, optional
        Labels from elsewhere.
    with_labels : bool
        Otherwise the labels of the table are not looked at.

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; several judges and none named.
    """
    _refuse_kinds(source, label_file, judge, shape)
    left_out = names_of("exclude", exclude)
    table = _table(source, columns, judge_scale, label_scale, apart=label_file is not None)
    own = table.has_labels
    if not with_labels:
        table = replace(table, frame=table.frame.assign(oracle_label=np.nan))
    elif label_file is not None:
        table = join_labels(table, label_file, columns=columns, label_scale=label_scale)
    name = _audited(table, judge)
    mine = next(panel for panel in lay_out(table, exclude=left_out, shape=shape) if panel.judge == name)
    further = further_scores(table, mine)
    settings = PopulationSettings(
        source=table.source,
        judge=mine.judge,
        further_judges=list(further),
        shape=mine.shape,
        labels_in_table=own,
        label_file="labels"
        if isinstance(label_file, pd.DataFrame)
        else None
        if label_file is None
        else str(label_file),
        exclude=list(left_out),
        shape_asked=shape,
        columns=dict(columns or {}),
        judge_scale={whose: str(scale) for whose, scale in _by_judge(judge_scale).items()},
        label_scale=None if label_scale is None else str(label_scale),
    )
    return LabelPopulation(table, mine, MappingProxyType(further), settings)


def _by_judge(scale: Mapping[str, Scale] | Scale | None) -> Mapping[str, Scale]:
    return {"": scale} if isinstance(scale, Scale) else scale or {}


def _refuse_kinds(source: object, label_file: object, judge: object, shape: object) -> None:
    if not isinstance(source, str | Path | pd.DataFrame | ScoreTable):
        raise UsageError(f"scores are a file or a table, not {quoted(source)}", hint="such as 'scores.csv'")
    if label_file is not None and not isinstance(label_file, str | Path | pd.DataFrame):
        raise UsageError(
            f"label_file is a file or a table, not {quoted(label_file)}", hint="such as label_file='labels.csv'"
        )
    check_text("judge", judge, "judge='first'")
    check_shape(shape)


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
    # A column named for the labels is in the label file where there is one.
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
            hint=f"name it with judge (--judge): {listed(table.judges)}; the others then help to choose the prompts",
        )
    if judge not in table.judges:
        raise UsageError(
            f"{table.source}: no judge named {quoted(judge)}", hint=f"the judges are {listed(table.judges)}"
        )
    return judge
