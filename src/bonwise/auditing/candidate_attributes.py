"""What a table tells of candidates beside their scores: length, family, and place before the judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.settings import Settings
from bonwise.errors import UsageError
from bonwise.printable import listed, quoted
from bonwise.table import cell_scores, score_table, store, words
from bonwise.table.panel import Panel

_MOST_FAMILIES = 12


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of the candidates of a panel."""

    name: Literal["length", "family", "position"]
    source: str
    """The column that says it, or ``text``."""
    contrast: str
    """What a difference of 1 in the values is."""
    values: Floats = field(repr=False)
    """Doublings of length, 1 for the judge's own family, or 1 for the first place; NaN where it is not known."""
    groups: tuple[str, ...]
    codes: Ints = field(repr=False)
    """The group of each candidate, -1 for none."""
    reason: str = ""
    """Why nothing can be told; empty where something may be."""
    caveat: str = ""
    """What the attribute cannot be told from; empty where there is nothing."""


def tells_of_candidates(table: score_table.ScoreTable, settings: Settings) -> bool:
    """Tell whether a table has texts or columns of candidates to look into."""
    named = any(name in table.columns for name in ("length", "family", "position"))
    return named or settings.pools is not None or words.holds_texts(table)


def check_judge_family(table: score_table.ScoreTable, settings: Settings) -> None:
    """Refuse a family of a judge that the table has no use for."""
    stated = settings.judge_family
    if stated and "family" not in table.columns:
        raise UsageError(
            f"{table.source}: a family of the judge is given, and no column holds the families of candidates",
            hint="name it with --family-col COLUMN",
        )
    unknown = [name for name in stated if name and name not in table.judges]
    if unknown:
        raise UsageError(
            f"{table.source}: a family is given for {quoted(unknown[0])}, which is not a judge of this table",
            hint=f"the judges are {listed(table.judges)}",
        )


def attributes_of(table: score_table.ScoreTable, panel: Panel, settings: Settings) -> Iterator[Attribute]:
    """Yield what is known of the candidates of a panel; `bonwise.errors.InputError` for pools that do not fit."""
    lengths = candidate_lengths(table, panel, settings.pools)
    if lengths is not None:
        yield _length(lengths, table.columns.get("length", "text"), panel.sizes)
    if "family" in table.columns:
        yield _family(table, panel, settings.judge_family)
    if "position" in table.columns:
        yield _position(table, panel)


def candidate_lengths(table: score_table.ScoreTable, panel: Panel, pools: str | Path | None = None) -> Floats | None:
    """Return the length of each cell, by its column or in characters; NaN where unknown, None if all are."""
    if "length" in table.columns:
        return cell_scores.mean_of_judge(table, panel, table.rows.columns["length"], panel.judge)
    if pools is None and not words.holds_texts(table):
        return None
    # An empty answer has no logarithm: it counts as one of one character.
    return np.maximum(words.text_lengths(table, panel, pools), 1.0)


def _length(lengths: Floats, source: str, sizes: Ints) -> Attribute:
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(lengths > 0, np.log2(lengths), np.nan)
    starts = np.cumsum(sizes) - sizes
    longest, shortest = (np.repeat(end.reduceat(values, starts), sizes) for end in (np.maximum, np.minimum))
    codes = np.where(values == longest, 0, np.where(values == shortest, 2, 1))
    codes[np.isnan(longest) | (longest == shortest)] = -1
    groups = ("longest of its prompt", "in between", "shortest of its prompt")
    return Attribute("length", source, "per doubling of length", values, groups, codes)


def _family(table: score_table.ScoreTable, panel: Panel, stated: Mapping[str, str]) -> Attribute:
    mine = table.rows.columns["judge"].are(panel.judge)
    column = _names(table.rows.column("family"))
    own, reason = _own_family(table, panel.judge, mine, stated)
    codes, found = column.codes, column.cells
    code_of = cell_scores.mean_of_judge(table, panel, np.where(codes >= 0, codes, np.nan), panel.judge)
    mixed = np.isnan(code_of) | (code_of % 1 > 0)
    family = np.where(mixed, -1, np.nan_to_num(code_of)).astype(np.int64)
    names = [str(name) for name in found]
    if not reason and own.casefold() not in {name.casefold() for name in names}:
        reason = f"no candidate is of the judge's family {quoted(own)}; the families are {listed(names)}"
    is_own = np.array([name.casefold() == own.casefold() for name in names] + [False], dtype=np.float64)
    values = np.where(mixed, np.nan, is_own[family])
    groups, codes = _largest(names, family)
    return Attribute("family", table.columns["family"], "own family against others", values, groups, codes, reason)


def _names(column: store.CodedColumn) -> store.CodedColumn:
    """Return the names of a column without spaces around them, missing where they are blank."""
    return column.with_cells([_name(cell) for cell in column.cells])


def _name(cell: object) -> str | None:
    # A column of whole numbers with a blank among them holds floats.
    text = f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)
    return text.strip() or None


def _own_family(table: score_table.ScoreTable, judge: str, mine: Mask, stated: Mapping[str, str]) -> tuple[str, str]:
    """Return the family of a judge, as it was stated or as its column has it, or why it is not known."""
    if judge in stated or "" in stated:
        return stated.get(judge, stated.get("", "")), ""
    if "judge_family" not in table.columns:
        return "", "the judge's own family is not stated: give it with --judge-family NAME"
    found = _names(table.rows.column("judge_family")).take(mine).cells
    if len(found) == 1:
        return str(found[0]), ""
    column = quoted(table.columns["judge_family"])
    return "", f"{column} gives the judge {'no family' if not len(found) else f'several families: {listed(found)}'}"


def _largest(names: list[str], family: Ints) -> tuple[tuple[str, ...], Ints]:
    """Return the families with most candidates, and the code of each candidate among them."""
    counts = np.bincount(family[family >= 0], minlength=len(names))
    by_size = sorted(np.flatnonzero(counts).tolist(), key=lambda at: (-counts[at], names[at]))[:_MOST_FAMILIES]
    place = np.full(len(names) + 1, -1)
    place[by_size] = np.arange(len(by_size))
    return tuple(names[at] for at in by_size), place[family]


def _position(table: score_table.ScoreTable, panel: Panel) -> Attribute:
    places = np.where(table.rows.columns["judge"].are(panel.judge), table.rows.columns["position"], np.nan)
    prompts = table.rows.columns["prompt_id"].codes
    first = np.full(len(table.prompts), np.inf)
    known = ~np.isnan(places)
    np.minimum.at(first, prompts[known], places[known])
    values = cell_scores.mean_of_rows(table, panel, np.where(known, places == first[prompts], np.nan))
    codes = np.where(values == 1, 0, np.where(values == 0, 1, -1))
    least, most = np.full((2, len(panel.candidates)), np.nan)
    np.fmin.at(least, panel.names, values)
    np.fmax.at(most, panel.names, values)
    fixed = panel.shape == "rectangular" and bool((least == most)[np.unique(panel.names)].all())
    caveat = (
        "Each candidate name always has the same place, so that place and name cannot be told apart." if fixed else ""
    )
    groups = ("first place", "later places")
    contrast = "first place against later ones"
    return Attribute("position", table.columns["position"], contrast, values, groups, codes, caveat=caveat)
