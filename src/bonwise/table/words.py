"""The words behind a table: prompts, texts and what judges said of the prompts that are shown, and lengths."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import InputError
from bonwise.table import cell_scores, pools, retrieval, store

if TYPE_CHECKING:
    from bonwise.table.panel import Panel
    from bonwise.table.pools import Pool
    from bonwise.table.score_table import ScoreTable


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
    """Words from the columns of a table, from a file of pools, or from both; the file goes before the column."""

    table: ScoreTable = field(repr=False)
    pools: str | Path | None = None
    """JSONL, a pool a line, or a folder of BEIR; read anew at each look-up, and never held whole."""

    def of(self, prompt_ids: Iterable[str]) -> dict[str, PromptWords]:
        """Return the words of prompts that have any; bad pools, or of other prompts, are an InputError."""
        wanted = frozenset(prompt_ids)
        by_prompt = _of_columns(self.table, wanted)
        for name, words in self._of_pools(wanted):
            held = by_prompt.get(name, PromptWords())
            by_prompt[name] = PromptWords(words.prompt, {**held.texts, **words.texts}, held.raw)
        return by_prompt

    def _of_pools(self, wanted: frozenset[str]) -> Iterator[tuple[str, PromptWords]]:
        if self.pools is not None:
            every = self._every_pool(self.pools, wanted)
            yield from words_of_pools(self.pools, wanted, self.table.prompts, self.table.source, every)

    def _every_pool(self, path: str | Path, wanted: frozenset[str]) -> Iterator[Pool]:
        """Yield the pools of a file, or those of wanted prompts with the texts of a folder of BEIR."""
        if not Path(path).is_dir():
            return pools.read_pools(path)
        prompts, names = (self.table.rows.columns[role] for role in ("prompt_id", "candidate"))
        held: dict[str, dict[str, None]] = {}
        for at in np.flatnonzero(self.table.prompts.isin(wanted)[prompts.codes]).tolist():
            held.setdefault(prompts[at], {})[names[at]] = None
        return retrieval.pools_of_beir(Path(path), held)


def words_of_pools(
    path: str | Path, wanted: Container[str], known: Container[str], source: str, every: Iterable[Pool] | None = None
) -> Iterator[tuple[str, PromptWords]]:
    """Yield the words of wanted prompts in pools; an InputError where none of them is known to `source`."""
    fitting = False
    for pool in pools.read_pools(path) if every is None else every:
        fitting = fitting or pool.prompt_id in known
        if pool.prompt_id in wanted:
            texts = {candidate.id: candidate.text for candidate in pool.candidates}
            yield pool.prompt_id, PromptWords(pool.prompt, texts)
    if not fitting:
        raise InputError(
            f"{path}: no prompt of {source} is in it",
            hint="give the pools whose candidates the table scores, under the same prompt_id",
        )


def _of_columns(table: ScoreTable, wanted: frozenset[str]) -> dict[str, PromptWords]:
    words = table.words
    if words is None or not wanted:
        return {}
    prompts: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    raw: dict[str, dict[tuple[str, str], list[str]]] = {}
    names = [table.rows.columns[role] for role in ("prompt_id", "candidate", "judge")]
    for at in np.flatnonzero(table.prompts.isin(wanted)[names[0].codes]).tolist():
        name, candidate, judge = (named[at] for named in names)
        cells = {str(role): text_of(column.cell(at)) for role, column in words.columns.items()}
        # An empty answer is an answer; only a cell that is not there says nothing.
        said = {role: text for role, text in cells.items() if text is not None}
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
    return None if store.is_missing(cell) else str(cell)


def _listed(value: Any) -> Any:
    # Parquet makes arrays of lists.
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


_TEXTS = ("text", "response")
"""Columns with the texts of candidates; of two the first goes before."""


def holds_texts(table: ScoreTable) -> bool:
    """Tell whether a table has a column of the candidates' texts."""
    return table.words is not None and any(name in table.words.columns for name in _TEXTS)


def text_lengths(table: ScoreTable, panel: Panel, pools: str | Path | None = None) -> Floats:
    """Return the characters of each cell's text, NaN where unknown; texts of `pools` go before the table's."""
    lengths = cell_scores.mean_of_rows(table, panel, _by_row(table))
    if pools is not None:
        in_pools = np.fromiter(_in_pools(Words(table, pools), panel), dtype=np.float64)
        lengths = np.where(np.isnan(in_pools), lengths, in_pools)
    return lengths


def _by_row(table: ScoreTable) -> Floats:
    out = np.full(len(table.rows), np.nan)
    for name in reversed(_TEXTS):
        if table.words is not None and name in table.words.columns:
            column = table.words.columns[name]
            lengths = column.where([_length(cell) for cell in column.cells], np.nan, np.float64)
            out = np.where(np.isnan(lengths), out, lengths)
    return out


def _length(cell: object) -> float:
    text = cell if isinstance(cell, str) else text_of(cell)
    return np.nan if text is None else len(text)


def _in_pools(words: Words, panel: Panel) -> Iterator[float]:
    by_prompt = words.of(panel.prompt_ids)
    names = panel.candidates.to_numpy()[panel.names]
    at = 0
    for prompt, size in zip(panel.prompt_ids, panel.sizes.tolist(), strict=True):
        texts = by_prompt[prompt].texts if prompt in by_prompt else {}
        yield from (len(texts[name]) if name in texts else np.nan for name in names[at : at + size])
        at += size
