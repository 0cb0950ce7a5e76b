"""Scores of other judges, further draws and columns, and propensities, for the cells of one judge's panel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import RowError
from bonwise.printable import quoted
from bonwise.table.cells import averaged, cell_words, draw_columns, mean_by_cell, positions

if TYPE_CHECKING:
    from bonwise.table.panel import Panel
    from bonwise.table.score_table import ScoreTable
    from bonwise.table.store import Categories, Names


def scores_of(table: ScoreTable, panel: Panel, judge: str) -> Floats:
    """Return a judge's scores of the cells of a panel laid out from this table, NaN where it gave none."""
    return mean_of_judge(table, panel, table.rows.columns["judge_score"], judge)


def mean_of_judge(table: ScoreTable, panel: Panel, values: Floats, judge: str) -> Floats:
    """Return values of one judge's rows of a table at the cells of a panel, averaged as `mean_of_rows` does."""
    of_judge = table.rows.columns["judge"].are(judge)
    return mean_of_rows(table, panel, np.where(of_judge, values, np.nan))


def mean_of_rows(table: ScoreTable, panel: Panel, values: Floats) -> Floats:
    """Average `values` (rows), NaN where a row says nothing, by cell (cells), NaN where no row says anything."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    # Candidates of a pool are in the order of their names, prompts in that of their ids: the keys rise.
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    return mean_by_cell(positions(table.cell_keys(), cells), values, len(cells))


def further_scores(table: ScoreTable, panel: Panel) -> dict[str, Floats]:
    """Return the scores of every other judge of the table, by judge."""
    return {judge: scores_of(table, panel, judge) for judge in table.judges if judge != panel.judge}


NOT_SAID = "no reason given"
"""The reason of a candidate without a score of which the table says none."""


def unscored_reasons(table: ScoreTable, panel: Panel, lost: Mask) -> dict[str, int]:
    """Count the cells of a panel that are `lost` by the reason that the table holds, the most frequent first."""
    by_cell: dict[tuple[str, str], str] = {}
    if lost.any() and table.words is not None and "unscored" in table.words.columns:
        rows, reasons = table.rows, table.words.columns["unscored"]
        lacking = rows.columns["judge"].are(panel.judge) & np.isnan(rows.columns["judge_score"])
        for at in np.flatnonzero(lacking).tolist():
            reason = reasons.cell(at)
            if isinstance(reason, str) and reason.strip():
                by_cell[rows.columns["prompt_id"][at], rows.columns["candidate"][at]] = reason
    prompts = np.repeat(panel.prompt_ids.to_numpy(), panel.sizes)[lost]
    names = panel.candidates.to_numpy()[panel.names[lost]]
    return dict(Counter(by_cell.get(cell, NOT_SAID) for cell in zip(prompts, names, strict=True)).most_common())


_ROUNDING = 1e-9
"""By which equal propensities of one candidate may differ."""


def differ_within_prompts(table: ScoreTable) -> bool:
    """Tell whether some prompt states two propensities: then candidates were drawn, not prompts."""
    if "propensity" not in table.rows.columns:
        return False
    least, most = _ends_by_prompt(table)
    return bool((least < most).any())


def _ends_by_prompt(table: ScoreTable) -> tuple[Floats, Floats]:
    """Return the lowest and the highest propensity of each prompt, NaN where it has none."""
    codes, stated = table.rows.columns["prompt_id"].codes, table.rows.columns["propensity"]
    least, most = np.full((2, len(table.prompts)), np.nan)
    np.fmin.at(least, codes, stated)
    np.fmax.at(most, codes, stated)
    return least, most


def candidate_propensities(table: ScoreTable, panel: Panel) -> Floats:
    """Return the propensity of each cell; a candidate without one, or a state with two, is a RowError."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    order = np.argsort(cells, kind="stable")
    at = positions(table.cell_keys(), cells[order])
    stated = table.rows.columns["propensity"]
    chances = np.empty(len(cells))
    chances[order] = mean_by_cell(at, stated, len(cells))
    if (absent := np.isnan(chances)).any():
        raise RowError(
            f"{table.source}: {_cell(panel, absent)} has no propensity, and those of other candidates differ within "
            "prompts",
            hint="give every candidate the probability with which it was drawn for labelling, labelled or not",
        )
    rows = at >= 0
    apart = np.zeros(len(cells), dtype=bool)
    apart[order[at[rows]]] = np.abs(stated[rows] - chances[order[at[rows]]]) > _ROUNDING
    if apart.any():
        raise RowError(
            f"{table.source}: rows of {_cell(panel, apart)} state two propensities",
            hint="a candidate is labelled once for all judges: give each of its rows the same",
        )
    return chances


def _cell(panel: Panel, chosen: Mask) -> str:
    first = int(np.flatnonzero(chosen)[0])
    prompt = panel.prompt_ids[int(np.searchsorted(np.cumsum(panel.sizes), first, side="right"))]
    return cell_words(prompt, panel.candidates[panel.names[first]])


def propensities(table: ScoreTable, prompt_ids: Names, labelled: Mask) -> Floats:
    """Return the propensity of prompts, (prompts,), NaN where an unlabelled one has none; two are a RowError."""
    least, most = _ends_by_prompt(table)
    at = table.prompts.get_indexer(prompt_ids)
    if (absent := np.isnan(least[at]) & labelled).any():
        raise RowError(
            f"{table.source}: {quoted(prompt_ids[absent][0])} is labelled but has no propensity",
            hint="give each labelled prompt the probability with which it was drawn for labelling",
        )
    if (apart := least[at] < most[at]).any():
        raise RowError(
            f"{table.source}: {quoted(prompt_ids[apart][0])} has two propensities",
            hint="give each row of a prompt the same; bonwise audit reads propensities of candidates",
        )
    return least[at]


First = Literal["score", "draw_0"]
"""What a judge's first pass says of a candidate: its score, or the first of its draws."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """What one judge said of each candidate besides its score, cell by cell as in its panel."""

    first: Floats = field(repr=False)
    """What the first pass said: the score where the table has one of its own, else the first draw, NaN where the
    judge gave none at that draw.
    """
    draws: Floats | None = field(repr=False)
    """Every draw, in order, NaN where one is absent; None where this judge has no draws."""
    width: Floats | None = field(repr=False)
    """Width of the interval that the judge stated, in the unit of the scores, NaN where it stated none; the mean over
    rows where a candidate has several. None where this judge stated no interval.
    """
    first_of: First = "score"
    """What `first` holds; ``draw_0`` also where the score of the table is the first draw in every cell."""


def cell_repeats(table: ScoreTable, panel: Panel, *, one_draw: bool = False) -> Repeats:
    """Return first pass, draws and interval widths by cell of a panel; `one_draw` takes the first draw first."""
    rows, at = _rows_of(table, panel)
    draws = _wide(table, rows, at, len(panel.scores))
    if draws is None:
        draws = _long(table, rows, at, len(panel.scores))
    width = _width(table, rows, at, len(panel.scores))
    if draws is None:
        return Repeats(panel.scores, None, width)
    own = _has_own_score(table) and not one_draw and not np.array_equal(panel.scores, draws[:, 0])
    return Repeats(panel.scores if own else draws[:, 0], draws, width, "score" if own else "draw_0")


def _has_own_score(table: ScoreTable) -> bool:
    """Tell whether a column holds scores that are neither draws nor their mean."""
    wide = draw_columns(table.rows.columns)
    return bool(wide) and table.columns.get("judge_score") not in {averaged(wide), *wide}


def _rows_of(table: ScoreTable, panel: Panel) -> tuple[Ints, Ints]:
    """Return the rows of the panel's judge that belong to its cells, and the cell of each."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    of_judge = table.rows.columns["judge"].are(panel.judge)
    at = np.where(of_judge, positions(table.cell_keys(), cells), -1)
    rows = np.flatnonzero(at >= 0)
    return rows, at[rows]


def _wide(table: ScoreTable, rows: Ints, at: Ints, count: int) -> Floats | None:
    names = list(draw_columns(table.rows.columns))
    values = np.column_stack([np.empty((len(rows), 0)), *(table.rows.columns[name][rows] for name in names)])
    if np.isnan(values).all():
        return None
    draws = np.full((count, len(names)), np.nan)
    draws[at] = values
    return draws


def _long(table: ScoreTable, rows: Ints, at: Ints, count: int) -> Floats | None:
    if "draw" not in table.rows.columns:
        return None
    column: Categories = table.rows.columns["draw"][rows].used()
    names = list(column.categories)
    if all(name.isdecimal() for name in names):
        names.sort(key=int)
    place = np.array([names.index(name) for name in column.categories])
    draws = np.full((count, len(names)), np.nan)
    draws[at, place[column.codes]] = table.rows.columns["judge_score"][rows]
    return draws


def _width(table: ScoreTable, rows: Ints, at: Ints, count: int) -> Floats | None:
    stated = table.rows
    if "ci_width" in stated.columns:
        values = stated.columns["ci_width"][rows]
    elif {"low", "high"} <= set(stated.columns):
        values = stated.columns["high"][rows] - stated.columns["low"][rows]
    else:
        return None
    return None if np.isnan(values).all() else mean_by_cell(at, values, count)
