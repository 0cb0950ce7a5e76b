"""What is known of every prompt: a tag, a category, a number or the length of its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, InputError, RowError
from bonwise.printable import quoted
from bonwise.table import identifiers, numbers, reading

PropertyKind = Literal["tag", "category", "number", "length"]
"""A ``tag`` is on or off, a ``category`` has a few names, a ``length`` is that of a text in characters."""


@dataclass(frozen=True, eq=False)
class PromptProperty:
    """One column of a table of prompts."""

    name: str
    kind: PropertyKind
    values: np.typing.NDArray[np.float64] = field(repr=False)
    """1 or 0 of a tag, the place in `levels` of a category, characters of a length; NaN where there is none."""
    levels: tuple[str, ...] = ()
    """Names of a category, sorted; empty otherwise."""

    @classmethod
    def of_names(cls, name: str, names: Sequence[str]) -> PromptProperty:
        """Return a category from one name per prompt, blank for none."""
        levels = tuple(sorted({one for one in names if one}))
        place = {level: float(at) for at, level in enumerate(levels)}
        return cls(name, "category", np.array([place.get(one, np.nan) for one in names]), levels)


MOST_LEVELS = 40
"""Different names that a column of text may have to be a category."""

TEXTS = ("prompt", "text", "question", "instruction")
"""Columns that hold the words of a prompt: their length counts."""

_ON = {"1": 1.0, "1.0": 1.0, "true": 1.0, "yes": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0, "no": 0.0}


def read_prompt_properties(
    source: reading.RowSource, prompts: Sequence[str], columns: Sequence[str] | None = None
) -> list[PromptProperty]:
    """Read what is known of each prompt.

    `source` has ``prompt_id``, and columns of 0 and 1 (true and false, yes and no), of numbers, or of at most
    `MOST_LEVELS` names; of `TEXTS` the number of characters counts. Other prompts' rows are ignored, a prompt may
    have none; two rows of one prompt, or none of any, raise `InputError`.
    """
    raw, name = reading.open_frame(source, "prompts")
    identifiers.require_columns(raw, ("prompt_id", *(columns or ())), name)
    ids = identifiers.as_categories(raw["prompt_id"], role="prompt_id", source=name)
    again = pd.Series(ids.codes).duplicated().to_numpy()
    if again.any():
        at = int(np.flatnonzero(again)[0])
        raise RowError(
            f"{name}, row {raw.index[at]}: prompt {quoted(raw['prompt_id'].iloc[at])} has a row already",
            hint="give each prompt one row",
        )
    place = pd.Index(ids.to_numpy()).get_indexer(pd.Index(list(prompts), dtype=object))
    if (place < 0).all():
        raise InputError(
            f"{name}: no row is of a prompt of the fit",
            hint=f"use the prompt_id of the ratings, such as {prompts[0]}",
        )
    wanted = [str(column) for column in raw.columns if column != "prompt_id"] if columns is None else list(columns)
    if not wanted:
        raise ColumnError(f"{name}: no column beside prompt_id", hint="add columns of tags, categories or numbers")
    found = (_property(raw[one], one, name) for one in wanted)
    return [
        PromptProperty(one.name, one.kind, np.append(one.values, np.nan)[place], one.levels)
        for one in found
        if one is not None
    ]


def _property(column: pd.Series, name: str, source: str) -> PromptProperty | None:
    """Return what a column holds, None where all of it is blank."""
    blank = numbers.is_blank(column)
    if blank.all():
        return None
    stated = column[~blank]
    if name.strip().lower() in TEXTS:
        lengths = np.full(len(column), np.nan)
        lengths[~blank] = [len(str(cell)) for cell in stated]
        return PromptProperty(name, "length", lengths)
    on = stated.astype(str).str.strip().str.lower().map(_ON)
    if on.notna().all():
        values = np.full(len(column), np.nan)
        values[~blank] = on.to_numpy(dtype=np.float64)
        return PromptProperty(name, "tag", values)
    if numbers.first_text_row(column) is None:
        return PromptProperty(name, "number", numbers.parse_numbers(column, role=name, source=source))
    named = identifiers.as_categories(stated, role=name, source=source)
    if len(named.categories) > MOST_LEVELS:
        raise ColumnError(
            f"{source}: column {quoted(name)} has {len(named.categories)} different names, too many for a category",
            hint="name the columns to use with --tags, or tags=",
        )
    values = np.full(len(column), np.nan)
    values[~blank] = named.codes
    return PromptProperty(name, "category", values, tuple(str(category) for category in named.categories))
