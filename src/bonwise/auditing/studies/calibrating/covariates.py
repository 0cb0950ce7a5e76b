"""What a calibration may know of a candidate beside its score: columns of the table, and the length of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.data.cells import mean_by_cell, positions
from bonwise.data.numbers import first_text_row, parse_numbers
from bonwise.data.panel import Panel, PromptLeftOut
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.data.words import Words
from bonwise.errors import ColumnError, UsageError
from bonwise.stats.sums import Floats

__all__ = ["LENGTH", "Covariates", "covariates_of"]

LENGTH = "length"

_NO_COVARIATES = frozenset({"prompt_id", "candidate", "judge", "judge_score", "oracle_label", "draw", "propensity"})


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of a study.

    Parameters
    ----------
    table : ScoreTable
    names : tuple of str
        Columns of the table, and ``length``: the characters of the candidate's text, where no column has that name.
    lengths : mapping of str to mapping of str to int
        By prompt and candidate; empty where the length is not asked for.
    """

    table: ScoreTable = field(repr=False)
    names: tuple[str, ...] = ()
    lengths: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)

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
        return _column(self.table, panel, name) if name in self.table.frame.columns else self._lengths(panel)

    def _lengths(self, panel: Panel) -> Floats:
        names = panel.candidates[panel.names].astype(str)
        prompts = np.repeat(panel.prompt_ids.astype(str), panel.sizes)
        found = [self.lengths.get(prompt, {}).get(name, np.nan) for prompt, name in zip(prompts, names, strict=True)]
        return np.array(found, dtype=np.float64)


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
    with_texts = pools is not None or (
        table.words is not None and bool({"text", "response"} & {*table.words.columns})
    )
    names = tuple(dict.fromkeys(named)) or ((LENGTH,) if with_texts else ())
    for name in names:
        _refuse(table, name, with_texts=with_texts)
    if LENGTH not in names or LENGTH in table.frame.columns:
        return Covariates(table, names)
    words = Words(table, pools).of(table.prompts)
    lengths = {prompt: {one: len(text) for one, text in found.texts.items()} for prompt, found in words.items()}
    return Covariates(table, names, lengths)


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
    rows: npt.NDArray[np.int64] = np.flatnonzero((table.frame["judge"] == panel.judge).to_numpy())
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    values = parse_numbers(table.frame[name].iloc[rows], role=name, source=table.source)
    # Candidates of a pool are in the order of their names, prompts in that of their ids: the keys rise.
    return mean_by_cell(positions(table.cell_keys()[rows], cells), values, len(cells))
