"""Files of logged picks: lines of ``bonwise select``, or of anything else that keeps one candidate of each pool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from pydantic import ValidationError

from bonwise.data.identifiers import as_categories
from bonwise.data.lines import json_lines
from bonwise.data.picks import Pick, Picks
from bonwise.data.wording import quoted
from bonwise.documents.picks import PickLine
from bonwise.documents.refusal import refusal
from bonwise.errors import FileError, RowError
from bonwise.extras import TABLES

__all__ = ["holds_picks", "read_picks"]

_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_MAY_DIFFER = frozenset({"parameters", "version", "seed"})
"""Settings that may change within a file without making the picks those of another policy."""

_ADDED = frozenset({"router"})
"""Settings that picks of earlier versions do not state: lines differ in one only where both state it."""

_HINT = 'a line needs prompt_id, ids of all candidates, and best: one of ids, or null; such as {"ids": ["a", "b"]}'


def holds_picks(path: Path) -> bool:
    """Tell whether a file holds picks: JSON Lines whose first object names the ``best`` of its ``ids``."""
    if not path.name.lower().endswith(_ENDINGS) or not path.is_file():
        return False
    return any({"best", "ids"} <= record.keys() for _, record in islice(json_lines(path), 1))


def read_picks(path: str | Path, *, as_picked: bool = False) -> Picks:
    """Read logged picks.

    Parameters
    ----------
    path : str or pathlib.Path
        JSON Lines: ``prompt_id``, ``ids`` (of all candidates of the pool) and ``best`` (one of them, or null), and
        what else `bonwise.documents.picks.PickLine` reads of the lines of ``bonwise select``, where it is there.
    as_picked : bool
        Take the drawn pick where a seed decided, not its expectation over ``level``.

    Raises
    ------
    bonwise.errors.FileError
        Absent, empty, or no text.
    bonwise.errors.RowError
        A line that is not a pick, a prompt that is picked twice, or a line of other settings than the first.
    bonwise.errors.MissingExtraError
        The extra that picks are audited with is not installed.
    """
    TABLES.require(f"reading {path}")
    source, rows, lines = str(path), [], []
    policy = _OnePolicy(source)
    for row, record in json_lines(Path(path)):
        rows.append(row)
        lines.append(_line(record, f"{source}, row {row}"))
        policy.refuse_another(row, record.get("settings") or {})
    if not lines:
        raise FileError(f"{source}: no picks", hint="check that whatever wrote it has finished")
    prompts = _prompts(rows, lines, source)
    picks = tuple(_pick(line, prompt, as_picked=as_picked) for line, prompt in zip(lines, prompts, strict=True))
    return Picks(source, picks, MappingProxyType(policy.settings), as_picked)


@dataclass(slots=True)
class _OnePolicy:
    """Holds every line to the settings of the first one."""

    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    row: int = 0

    def refuse_another(self, row: int, settings: Mapping[str, Any]) -> None:
        """Refuse a line of another policy."""
        if not self.row:
            self.row, self.settings = row, settings
        if settings == self.settings:
            return
        usual, mine = _policy(self.settings), _policy(settings)
        for key in _ADDED - (usual.keys() & mine.keys()):
            usual.pop(key, None)
            mine.pop(key, None)
        if mine != usual:
            differing = sorted(key for key in usual.keys() | mine.keys() if usual.get(key) != mine.get(key))
            raise RowError(
                f"{self.source}, row {row}: picked with another {', '.join(differing)} than row {self.row}",
                hint="audit the picks of one policy at a time: write each to a file of its own",
            )


def _policy(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) for key, value in settings.items() if key not in _MAY_DIFFER}


def _prompts(rows: list[int], lines: Sequence[PickLine], source: str) -> list[str]:
    column = pd.Series([line.prompt_id for line in lines], index=rows, dtype=object)
    prompts = list(as_categories(column, role="prompt_id", source=source))
    first: dict[str, int] = {}
    for row, prompt in zip(rows, prompts, strict=True):
        if prompt in first:
            raise RowError(
                f"{source}, row {row}: {quoted(prompt)} is picked again (first in row {first[prompt]})",
                hint="keep one pick per prompt; put two policies into two files for bonwise compare",
            )
        first[prompt] = row
    return prompts


def _line(record: dict[str, Any], where: str) -> PickLine:
    try:
        return PickLine.model_validate(record)
    except ValidationError as error:
        raise RowError(f"{where}: {refusal(error, record, whole='the line')}", hint=_HINT) from None


def _pick(line: PickLine, prompt: str, *, as_picked: bool) -> Pick:
    kept = () if line.best is None else (str(line.best),)
    return Pick(
        prompt,
        _texts(line.ids),
        _texts(line.level) if line.level and not as_picked else kept,
        line.decided_by or "",
        line.answers,
        _all_tokens(line),
    )


def _texts(names: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(map(str, names))


def _all_tokens(line: PickLine) -> int | None:
    """Add the tokens up; an answer from a ledger whose tokens are not said leaves the sum unknown."""
    if line.input_tokens is None or line.output_tokens is None:
        return None
    if line.reused_tokens is None and line.from_ledger:
        return None
    return line.input_tokens + line.output_tokens + (line.reused_tokens or 0)
