"""Properties of prompts as columns that gaps are regressed on, and as groups of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.factors import human_view, prompt_properties
from bonwise.printable import listed, quoted

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource

FEWEST = 5
"""Prompts with a tag, and without it, below which nothing is said of the tag."""

_FEWEST_PROMPTS = 20
_PER_COLUMN = 3
CATEGORY = "category"


def properties_of_prompts(
    view: human_view.HumanView, prompts: RowSource | None, tags: Sequence[str] | None
) -> tuple[list[prompt_properties.PromptProperty], list[str]]:
    """Return what is known of the prompts, and what a reader should know of that; `InputError` where nothing is.

    Categories of the ratings are one property, unless a column of `prompts` has that name. `tags` None takes all.
    """
    rated = any(view.prompt_categories)
    if prompts is None and not rated:
        raise UsageError(
            "nothing is known of the prompts",
            hint="give a table with prompt_id and columns of tags: --prompts FILE, or give the ratings a category",
        )
    found: list[prompt_properties.PromptProperty] = []
    notes: list[str] = []
    if prompts is not None:
        named = tags if tags is None or not rated else [tag for tag in tags if tag != CATEGORY] or None
        if tags is None or named is not None:
            found = prompt_properties.read_prompt_properties(prompts, view.prompts, named)
    elif tags is not None and (absent := [tag for tag in tags if tag != CATEGORY]):
        raise UsageError(
            f"no column named {quoted(absent[0])}", hint="give the table that holds it: --prompts FILE, or prompts="
        )
    if rated and (tags is None or CATEGORY in tags):
        if any(one.name == CATEGORY for one in found):
            notes.append("The categories of the prompts are those of the table of prompts, not of the ratings.")
        else:
            found.insert(0, prompt_properties.PromptProperty.of_names(CATEGORY, view.prompt_categories))
    return found, notes


@dataclass(frozen=True, eq=False)
class PromptColumn:
    """One column of the regression."""

    name: str
    """Of the property."""
    level: str
    """Of a category; blank otherwise."""
    kind: prompt_properties.PropertyKind
    unit: str
    """What a coefficient is per: the baseline of a category, or the step of a number."""
    values: Floats = field(repr=False)
    count: int
    """Prompts that have the tag or are in the category; of a number, all."""
    base: str = ""
    """The baseline of a category."""
    centre: float = 0.0
    scale: float = 1.0
    """Both: what a number, or the doublings of a length, was reduced by, and then divided by."""

    @property
    def indicates(self) -> bool:
        """Whether values are 1 and 0."""
        return self.kind in ("tag", "category")


@dataclass(frozen=True, eq=False)
class PromptColumns:
    """Columns for a regression, and what was left out."""

    rows: Ints = field(repr=False)
    """Prompts that count."""
    columns: tuple[PromptColumn, ...]
    """Over these prompts."""
    left_out: dict[str, int]
    """Prompts that do not count, by reason."""
    notes: tuple[str, ...]
    """Columns that were left out, with the reason."""

    @property
    def design(self) -> Floats:
        """The constant and the columns, shape (prompts, columns + 1)."""
        return np.column_stack([np.ones(len(self.rows)), *(column.values for column in self.columns)])

    @classmethod
    def of(cls, properties: Sequence[prompt_properties.PromptProperty], prompts: int) -> PromptColumns:
        """Return the columns of some properties; `InputError` where none is left, or prompts are too few for so many.

        A prompt without a value, or in a category with fewer than `FEWEST`, does not count. A column that is the same
        on nearly all prompts, or that follows from those before it, is left out.
        """
        known, left_out = _known(properties, prompts)
        rows = np.flatnonzero(known)
        made = [column for one in properties for column in _columns(one, rows)]
        kept: list[PromptColumn] = []
        notes: list[str] = []
        stacked = np.ones((len(rows), 1))
        for column in made:
            reason = _unfit(column, stacked)
            if reason:
                notes.append(f"{quoted(_said(column))} is left out: {reason}.")
                continue
            kept.append(column)
            stacked = np.column_stack([stacked, column.values])
        if not kept:
            why = " ".join(notes) or "No prompt has a value in every column."
            raise InputError(f"nothing to explain gaps by. {why}", hint="name other columns with --tags, or tags=")
        needed = max(_FEWEST_PROMPTS, _PER_COLUMN * (len(kept) + 1))
        if len(rows) < needed:
            raise InputError(
                f"{len(rows)} prompts are too few for {len(kept)} columns: at least {needed}",
                hint="name fewer columns with --tags, or tags=",
            )
        return cls(rows, tuple(kept), left_out, tuple(notes))


def prompt_groups(
    properties: Sequence[prompt_properties.PromptProperty],
) -> tuple[list[tuple[str, str, Floats]], list[str]]:
    """Return groups (name, level, 1 in it, 0 outside, NaN unknown), and sentences about what makes none."""
    groups: list[tuple[str, str, Floats]] = []
    small: list[str] = []
    for one in properties:
        if one.kind in ("number", "length"):
            continue
        known = ~np.isnan(one.values)
        for at, level in enumerate(one.levels or ("",)):
            inside = np.where(known, one.values == (at if one.levels else 1), np.nan)
            count = int(np.nansum(inside))
            if min(count, int(known.sum()) - count) < FEWEST:
                small.append(f"{one.name} = {level}" if level else one.name)
            else:
                groups.append((one.name, level, inside))
    notes = [f"Left out, because fewer than {FEWEST} prompts are in or outside it: {listed(small)}."] if small else []
    return groups, notes


def _known(properties: Sequence[prompt_properties.PromptProperty], prompts: int) -> tuple[Mask, dict[str, int]]:
    known = np.ones(prompts, dtype=bool)
    left_out: dict[str, int] = {}
    for one in properties:
        blank = known & np.isnan(one.values)
        if blank.any():
            left_out[f"no {one.name}"] = int(blank.sum())
        known &= ~blank
    for one in properties:
        if one.kind != "category":
            continue
        counts = np.bincount(one.values[known].astype(np.int64), minlength=len(one.levels))
        rare = known.copy()
        rare[known] = counts[one.values[known].astype(np.int64)] < FEWEST
        if rare.any():
            left_out[f"{one.name} with fewer than {FEWEST} prompts"] = int(rare.sum())
        known &= ~rare
    return known, left_out


def _columns(one: prompt_properties.PromptProperty, rows: Ints) -> Iterator[PromptColumn]:
    values = one.values[rows]
    if one.kind == "tag":
        yield PromptColumn(one.name, "", one.kind, "with the tag", values, int(values.sum()))
    elif one.kind == "category":
        places, counts = np.unique(values, return_counts=True)
        base = places[np.argmax(counts)] if len(places) else 0.0
        for place, count in zip(places, counts, strict=True):
            if place != base:
                level, rest = one.levels[int(place)], one.levels[int(base)]
                inside = (values == place).astype(np.float64)
                yield PromptColumn(one.name, level, one.kind, f"instead of {rest}", inside, int(count), rest)
    else:
        length = one.kind == "length"
        values = np.log2(np.maximum(values, 1)) if length else values
        spread = 1.0 if length else float(values.std()) if len(rows) else 0.0
        unit = "per doubling of the length" if length else f"per standard deviation, {spread:.3g}"
        centre = float(values.mean()) if len(rows) else 0.0
        scaled = (values - centre) / spread if spread > 0 else np.zeros(len(rows))
        yield PromptColumn(one.name, "", one.kind, unit, scaled, len(rows), "", centre, spread or 1.0)


def _unfit(column: PromptColumn, before: Floats) -> str:
    """Return why a column cannot be used; blank where it can."""
    if column.kind in ("tag", "category"):
        inside = int(column.values.sum())
        if min(inside, len(column.values) - inside) < FEWEST:
            return f"fewer than {FEWEST} prompts have it, or lack it"
    elif not column.values.any():
        return "it is the same on every prompt"
    fitted = before @ np.linalg.lstsq(before, column.values, rcond=None)[0]
    rest = float(((column.values - fitted) ** 2).sum())
    if rest < 1e-8 * float(((column.values - column.values.mean()) ** 2).sum()):
        return "it follows from the columns before it"
    return ""


def _said(column: PromptColumn) -> str:
    return f"{column.name} = {column.level}" if column.level else column.name
