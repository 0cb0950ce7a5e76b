"""What a calibration may know of a candidate beside its score: columns of the table, and the length of its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.data.cell_scores import mean_of_judge
from bonwise.data.numbers import first_text_row, parse_numbers
from bonwise.data.panel import Panel, PromptLeftOut
from bonwise.data.table import ScoreTable
from bonwise.data.text_lengths import holds_texts, text_lengths
from bonwise.data.wording import listed, quoted
from bonwise.errors import ColumnError, UsageError
from bonwise.stats.sums import Floats

__all__ = ["LENGTH", "Covariates", "covariates_of"]

LENGTH = "length"

_NO_COVARIATES = frozenset({"prompt_id", "candidate", "judge", "judge_score", "oracle_label", "draw", "propensity"})


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of a study."""

    table: ScoreTable = field(repr=False)
    names: tuple[str, ...] = ()
    """Columns of the table, and ``length``: the characters of the candidate's text, where no column has that name."""
    pools: str | Path | None = field(default=None, repr=False)
    """Where the texts are; otherwise they are those of the table."""

    def join(self, panel: Panel) -> tuple[Panel, Floats]:
        """Return the prompts of a panel that hold every covariate, and the values, shape (cells, covariates).

        The others are dropped, each with its reason.
        """
        columns = [self._values(panel, name) for name in self.names]
        values = np.column_stack(columns) if columns else np.empty((len(panel.scores), 0))
        starts = np.cumsum(panel.sizes) - panel.sizes
        lacking = np.logical_or.reduceat(np.isnan(values), starts, axis=0)
        complete: npt.NDArray[np.bool_] = ~np.asarray(lacking.any(axis=1))
        dropped = [
            PromptLeftOut(str(panel.prompt_ids[x]), f"no {self.names[int(lacking[x].argmax())]} of a candidate")
            for x in np.flatnonzero(~complete).tolist()
        ]
        return panel.keep(complete, dropped), values[np.repeat(complete, panel.sizes)]

    def _values(self, panel: Panel, name: str) -> Floats:
        if name in self.table.frame.columns:
            return _column(self.table, panel, name)
        return text_lengths(self.table, panel, self.pools)


def covariates_of(table: ScoreTable, named: Sequence[str], pools: str | Path | None) -> Covariates:
    """Find the covariates that were asked for; where none is named, the length, if the texts are known.

    Parameters
    ----------
    table : ScoreTable
    named : sequence of str
        Numeric columns, or ``length``.
    pools : str or pathlib.Path, optional
        Where the texts are; otherwise they are those of a column ``text`` or ``response``.

    Raises
    ------
    bonwise.errors.InputError
        No such column, one without numbers, one that is no covariate, or a length without texts.
    """
    with_texts = pools is not None or holds_texts(table)
    names = tuple(dict.fromkeys(named)) or ((LENGTH,) if with_texts else ())
    for name in names:
        _refuse(table, name, with_texts=with_texts)
    return Covariates(table, names, pools)


def _refuse(table: ScoreTable, name: str, *, with_texts: bool) -> None:
    columns = table.frame.columns
    if name in _NO_COVARIATES:
        raise UsageError(
            f"{table.source}: {name} is no covariate", hint="name what is known of a candidate beside it"
        )
    if name not in columns:
        if name == LENGTH and with_texts:
            return
        if name == LENGTH:
            raise UsageError(
                f"{table.source}: the length needs the texts of the candidates",
                hint="give --pools POOLS.jsonl, or a table with a column text",
            )
        numeric = [one for one in table.strata if first_text_row(table.frame[one]) is None]
        hint = (
            f"the columns of numbers are {listed(numeric)}" if numeric else "the table has no column of numbers left"
        )
        raise ColumnError(f"{table.source}: no column named {quoted(name)} to serve as covariate", hint=hint)
    row = first_text_row(table.frame[name])
    if row is not None:
        raise ColumnError(
            f"{table.source}: the covariate {quoted(name)} holds text in row {row}", hint="a covariate is a number"
        )


def _column(table: ScoreTable, panel: Panel, name: str) -> Floats:
    """Return a column at the cells of a judge, averaged over its rows of a cell as its scores are."""
    values = parse_numbers(table.frame[name], role=name, source=table.source)
    return mean_of_judge(table, panel, values, panel.judge)
