"""What an importer is given, what it returns, and how it gathers scores and labels by prompt and candidate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.printable import listed
from bonwise.table import roles, store

if TYPE_CHECKING:
    import pandas as pd

Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Material:
    """A file as an importer sees it."""

    source: str
    """How to name it in an error."""
    document: Any = None
    """What a ``.json`` file holds, or the parts of a folder or an archive by their path; None for a table."""
    frame: pd.DataFrame | None = None
    """The rows of CSV, JSON Lines or Parquet, or of a DataFrame, as they stand."""
    named: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Role to column or metric, as the user named them."""

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns of a table, or of the keys that the first records hold."""
        if self.frame is not None:
            return frozenset(map(str, self.frame.columns))
        return frozenset(key for record in self.records[:50] for key in record)

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records of a table or of a list of objects, lists and objects as such; a missing cell is None."""
        if self.frame is None:
            rows = self.document if isinstance(self.document, list) else []
            return [row for row in rows if isinstance(row, Mapping)]
        return [
            {str(name): _plain(cell) for name, cell in zip(self.frame.columns, row, strict=True)}
            for row in self.frame.itertuples(index=False, name=None)
        ]

    @property
    def chosen_scores(self) -> tuple[str, ...]:
        """The columns or metrics of judges that the user named; none where nothing was said."""
        named = self.named.get("judge_score")
        if named is None:
            return ()
        whole = self.frame is not None and named in self.frame.columns
        return (named,) if whole else tuple(part.strip() for part in named.split(","))

    @property
    def chosen_label(self) -> str | None:
        """The column or metric of labels that the user named."""
        return self.named.get("oracle_label")


@dataclass(frozen=True, eq=False)
class Imported:
    """What an importer found."""

    format: str
    """Such as ``promptfoo results``."""
    frame: pd.DataFrame
    """Rows with ``prompt_id`` and ``candidate`` and, as far as they are known, ``judge``, ``judge_score``,
    ``oracle_label``, ``prompt`` and ``text``. The index holds what errors name rows by.
    """
    readings: Sequence[str] = ()
    """How it was read, a sentence each."""
    lacks: Sequence[str] = ()
    """What an audit would need and the file does not hold, a sentence each."""


def _plain(cell: object) -> object:
    """Return a cell with its lists and objects as such, and None where it is missing."""
    if type(cell) is store.StructuredText:
        with suppress(ValueError):
            return json.loads(cell)
    if isinstance(cell, np.ndarray | list | tuple):
        return [_plain(value) for value in cell]
    if isinstance(cell, dict):
        return {key: _plain(value) for key, value in cell.items()}
    if store.is_missing(cell):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def mapping(value: object) -> Record:
    """Return an object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Record]:
    """Return the objects of a list; nothing where it is none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, Iterable | list) else []


_WHOLE = 2**53


@dataclass
class GatheredCell:
    """What is known of one candidate."""

    prompt_id: str
    candidate: str
    prompt: str | None = None
    """The words of both."""
    text: str | None = None
    """The words of both."""
    scores: dict[str, Any] = field(default_factory=dict)
    """By judge or metric."""
    labels: dict[str, list[Any]] = field(default_factory=dict)
    """By name; several annotators each give one."""


class GatheredScores:
    """What an importer gathers, and the rows that it becomes."""

    def __init__(self, material: Material) -> None:
        self._material = material
        self._cells: dict[tuple[str, str], GatheredCell] = {}
        self._readings: dict[str, None] = {}
        self._lacks: dict[str, None] = {}
        self._strata: dict[str, Record] = {}
        self.skipped = 0

    def cell(
        self, prompt_id: object, candidate: object, *, prompt: object = None, text: object = None
    ) -> GatheredCell:
        """Return what is known of a candidate, to be added to."""
        key = (as_words(prompt_id), as_words(candidate))
        gathered = self._cells.setdefault(key, GatheredCell(*key))
        gathered.prompt = as_words(prompt) if gathered.prompt is None and prompt is not None else gathered.prompt
        gathered.text = as_words(text) if gathered.text is None and text is not None else gathered.text
        return gathered

    def repeated(self, prompt_id: object, candidate: object) -> object:
        """Return a name for another candidate of one name: `name`, ``name #2``, ``name #3`` ..."""
        prompt, name = as_words(prompt_id), as_words(candidate)
        if (prompt, name) not in self._cells:
            return name
        at = 2
        while (prompt, f"{name} #{at}") in self._cells:
            at += 1
        return f"{name} #{at}"

    def numbered(self, prompt_id: object, noun: str) -> str:
        """Return a name for a candidate without one, such as ``response 2`` for the second of a prompt."""
        prompt, at = as_words(prompt_id), 1
        while (prompt, f"{noun} {at}") in self._cells:
            at += 1
        return f"{noun} {at}"

    def rate(self, cell: GatheredCell, name: str, value: object, *, human: bool | None = None) -> None:
        """Add a value to the labels where a person gave it, else to the scores; `name` tells if `human` is None."""
        if name == self._material.chosen_label:
            human = True
        elif name in self._material.chosen_scores:
            human = False
        if roles.names_a_label(name) if human is None else human:
            cell.labels.setdefault(name, []).append(value)
        else:
            cell.scores[name] = value

    def describe(self, prompt_id: object, strata: Record) -> None:
        """Add what is known of a prompt, by column."""
        self._strata[as_words(prompt_id)] = strata

    def say(self, sentence: str) -> None:
        """Add how something was read, once."""
        self._readings[sentence] = None

    def lack(self, sentence: str) -> None:
        """Add what is missing for an audit, once."""
        self._lacks[sentence] = None

    def imported(self, name: str) -> Imported:
        """Return the rows of what was gathered: one per candidate and judge."""
        import pandas as pd  # noqa: PLC0415 - the tables of other tools are DataFrames

        cells = list(self._cells.values())
        judges = self._judges(cells)
        label = self._label(cells)
        rows = [row for cell in cells for row in _rows(cell, judges, label)]
        if self.skipped:
            self.say(f"{self.skipped:,} records without prompt, candidate or value were left out")
        if cells:
            self._say_what_lacks(cells, judges, label)
        columns = ["prompt_id", "candidate", "judge", "judge_score", "oracle_label", "prompt", "text"]
        frame = pd.DataFrame(rows, columns=columns, dtype=object)
        for column in ("judge", "judge_score", "oracle_label", "prompt", "text"):
            if frame[column].isna().all():
                frame = frame.drop(columns=column)
        for column in dict.fromkeys(column for strata in self._strata.values() for column in strata):
            values = [self._strata.get(prompt, {}).get(column) for prompt in frame["prompt_id"]]
            # A value for nearly every prompt is an id or a text, and tells no subsets apart.
            if 1 < len({*map(str, values)}) <= len(self._strata) // 2 and column not in frame.columns:
                frame[column] = values
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        return Imported(name, frame, tuple(self._readings), tuple(self._lacks))

    def _judges(self, cells: Sequence[GatheredCell]) -> list[str]:
        judges = list(dict.fromkeys(name for cell in cells for name in cell.scores))
        chosen = [name for name in self._material.chosen_scores if name in judges]
        return chosen or judges

    def _label(self, cells: Sequence[GatheredCell]) -> str | None:
        labels = list(dict.fromkeys(name for cell in cells for name in cell.labels))
        chosen = self._material.chosen_label
        if chosen in labels or len(labels) == 1:
            name = chosen if chosen in labels else labels[0]
            if any(len(cell.labels.get(name or "", ())) > 1 for cell in cells):
                self.say(f"the label {name!r} of several annotators is their mean")
            self.say(f"oracle_label is {name!r}")
            return name
        if labels:
            self.lack(f"several labels: {listed(labels)}: choose one with --label-col")
        return None

    def _say_what_lacks(self, cells: Sequence[GatheredCell], judges: Sequence[str], label: str | None) -> None:
        prompts = [cell.prompt_id for cell in cells]
        if len(set(prompts)) == len(prompts):
            self.lack("no prompt has a second candidate")
        if not judges:
            self.lack("no judge's score: score the responses with bonwise judge")
        if label is None and not any(cell.labels for cell in cells):
            self.lack("no label of a person: give them with --labels, or compare two judges with --oracle judge:NAME")


def _rows(cell: GatheredCell, judges: Sequence[str], label: str | None) -> Iterable[tuple[Any, ...]]:
    value = _mean(cell.labels.get(label, ())) if label is not None else None
    scored = [judge for judge in judges if judge in cell.scores] or judges or (None,)
    for judge in scored:
        score = None if judge is None else cell.scores.get(judge)
        yield (cell.prompt_id, cell.candidate, judge, score, value, cell.prompt, cell.text)


def _mean(values: Sequence[Any]) -> Any:
    """Return the one value, the value on which all agree, or the mean of numbers."""
    given = [value for value in values if value is not None]
    if not given or all(value == given[0] for value in given):
        return given[0] if given else None
    if all(isinstance(value, int | float) for value in given):
        return sum(map(float, given)) / len(given)
    return None


def as_words(value: object) -> str:
    """Return a name or words as text: of an object with one text in it that text, of any other its JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    if isinstance(value, list) and len(value) == 1:
        return as_words(value[0])
    if isinstance(value, Mapping):
        if len(value) == 1:
            return as_words(next(iter(value.values())))
        if set(value) <= {"role", "content", "id", "source", "type", "text"} and isinstance(
            value.get("content"), str
        ):
            return str(value["content"])
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
