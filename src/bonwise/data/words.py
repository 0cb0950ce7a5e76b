"""The words behind a table: prompts, texts and what judges said, looked up for the prompts that are shown."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bonwise.data.pool_file import read_pools
from bonwise.errors import InputError

if TYPE_CHECKING:
    from bonwise.data.table import ScoreTable

__all__ = ["PromptWords", "Words", "text_of"]


@dataclass(frozen=True, slots=True)
class PromptWords:
    """The words of one prompt."""

    prompt: str | None = None
    """None where no source holds it."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By candidate."""
    raw: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """What a judge said, by judge and candidate; several draws stand one below the other."""


@dataclass(frozen=True, eq=False)
class Words:
    """Words from the columns of a table, from a file of pools, or from both; the file goes before the column.

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.data.table import ScoreTable
    >>> frame = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [1, 0],
    ...                       "prompt": "Say hi", "text": ["hi", "no"]})
    >>> Words(ScoreTable.from_frame(frame)).of(["p"])["p"].texts
    {'a': 'hi', 'b': 'no'}
    """

    table: ScoreTable = field(repr=False)
    pools: str | Path | None = None
    """JSONL, a pool a line; read anew at each look-up, and never held whole."""

    def of(self, prompt_ids: Iterable[str]) -> dict[str, PromptWords]:
        """Return the words of some prompts; a prompt of which no word is known is absent.

        Raises
        ------
        bonwise.errors.InputError
            The file of pools cannot be read, or holds none of the table's prompts.
        """
        wanted = frozenset(prompt_ids)
        found = _of_columns(self.table, wanted)
        for name, one in self._of_pools(wanted):
            held = found.get(name, PromptWords())
            found[name] = PromptWords(one.prompt, {**held.texts, **one.texts}, held.raw)
        return found

    def _of_pools(self, wanted: frozenset[str]) -> Iterator[tuple[str, PromptWords]]:
        if self.pools is None:
            return
        fitting = False
        for pool in read_pools(self.pools):
            fitting = fitting or pool.prompt_id in self.table.prompts
            if pool.prompt_id in wanted:
                yield pool.prompt_id, PromptWords(pool.prompt, {one.id: one.text for one in pool.candidates})
        if not fitting:
            raise InputError(
                f"{self.pools}: no prompt of {self.table.source} is in it",
                hint="give the pools whose candidates the table scores, under the same prompt_id",
            )


def _of_columns(table: ScoreTable, wanted: frozenset[str]) -> dict[str, PromptWords]:
    words = table.words
    if words is None or not wanted:
        return {}
    prompts: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    raw: dict[str, dict[tuple[str, str], list[str]]] = {}
    rows = table.frame.loc[table.frame["prompt_id"].isin(list(wanted)), ["prompt_id", "candidate", "judge"]]
    spoken = words.loc[rows.index]
    keys = zip(*(rows[role].astype(object) for role in rows), strict=True)
    for (name, candidate, judge), line in zip(keys, spoken.to_dict("records"), strict=True):
        # An empty answer is an answer; only a cell that is not there says nothing.
        said = {str(role): text for role, cell in line.items() if (text := text_of(cell)) is not None}
        if "prompt" in said:
            prompts.setdefault(name, said["prompt"])
        text = said.get("text", said.get("response"))
        if text is not None:
            texts.setdefault(name, {}).setdefault(candidate, text)
        if "raw" in said:
            raw.setdefault(name, {}).setdefault((judge, candidate), []).append(said["raw"])
    return {
        name: PromptWords(
            prompts.get(name),
            texts.get(name, {}),
            {key: "\n\n".join(draws) for key, draws in raw.get(name, {}).items()},
        )
        for name in {*prompts, *texts, *raw}
    }


def text_of(cell: Any) -> str | None:
    """Return the words of a cell, those of lists and mappings as the reader of JSON Lines has them; None for none."""
    if isinstance(cell, list | tuple | dict | np.ndarray):
        try:
            return json.dumps(cell, default=_listed)
        except (TypeError, ValueError, RecursionError):  # keys that JSON does not know, or a list that holds itself
            return reprlib.repr(cell)
    return None if pd.api.types.is_scalar(cell) and pd.isna(cell) else str(cell)


def _listed(value: Any) -> Any:
    # Parquet makes arrays of lists.
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
