"""What a pool says beside its prompt and candidates, and pools of a CSV file, one candidate per row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bonwise.errors import BonwiseError, ColumnError, FileError, RowError
from bonwise.printable import listed, quoted
from bonwise.table.text_files import LONGEST_LINE, check_text, file_errors, limit, open_text

__all__ = ["csv_pools", "stated_value"]


def stated_value(
    name: str,
    stated: Mapping[str, Any],
    candidates: Sequence[tuple[Any, str]],
    where: str,
    error: type[BonwiseError] = RowError,
) -> str | dict[str, str]:
    """Return what a pool says of a variable: a text, or one for each candidate by the candidate's text.

    `stated` is the pool; of each candidate there is what the caller has and the text that is judged. What is missing,
    is not text, or stands in both places raises `error`, with the key.
    """
    of_each = [entry[name] if isinstance(entry, Mapping) and name in entry else None for entry, _ in candidates]
    if name in stated:
        if any(value is not None for value in of_each):
            hint = "keep the key of the pool, or those of the candidates"
            raise error(f"{where}: {quoted(name)} is a key of the pool and of a candidate", hint=hint)
        return _words(stated[name], f"{where}: {quoted(name)}", error)
    if all(value is None for value in of_each):
        hint = f"add {quoted(name)} to the pool, or to each of its candidates"
        raise error(f"{where}: no {quoted(name)}, which the judge needs", hint=hint)
    values: dict[str, str] = {}
    for at, ((_, text), value) in enumerate(zip(candidates, of_each, strict=True)):
        words = _words(value, f"{where}: {quoted(name)} of candidate {at} (counted from 0)", error)
        if values.setdefault(text, words) != words:
            hint = "candidates of the same text are judged as one: leave one of them out"
            raise error(f"{where}: candidates of the same text differ in {quoted(name)}", hint=hint)
    return values


def _words(value: object, what: str, error: type[BonwiseError]) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        trouble = "is empty" if isinstance(value, str) or value is None else f"is {quoted(value)}, which is not text"
        raise error(f"{what} {trouble}", hint="write a text or a number")
    return value


_NEEDED = ("prompt_id", "prompt", "text")


def csv_pools(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first row and the object of each pool of a CSV file with the columns prompt_id, prompt and text.

    A column ``candidate`` names the candidates. Each further column is a key of the candidates. Rows are counted as
    records, the header being row 1.
    """
    check_text(path)
    pools: dict[str, tuple[int, dict[str, Any]]] = {}
    csv.field_size_limit(max(csv.field_size_limit(), limit("LONGEST_LINE", LONGEST_LINE)))
    with file_errors(path), open_text(path, newline="") as lines:
        records = csv.reader(lines, strict=True)
        try:
            header = next(records, [])
            if lacking := [name for name in _NEEDED if header.count(name) != 1]:
                hint = "a CSV of pools has prompt_id, prompt and text, each once, and one row per candidate"
                raise ColumnError(f"{path}: no column, or several, named {listed(lacking)}", hint=hint)
            for row, cells in enumerate(records, start=2):
                if cells and len(cells) != len(header):
                    what = f"{path}, row {row}: {len(cells)} cells under {len(header)} columns"
                    raise RowError(what, hint="quote cells that hold a comma")
                if cells:
                    _add(pools, dict(zip(header, cells, strict=True)), row, path)
        except csv.Error as error:
            what = f"{path}, line {records.line_num}: not CSV: {error}"
            raise FileError(what, hint="close every quotation") from error
    yield from pools.values()


def _add(pools: dict[str, tuple[int, dict[str, Any]]], cells: dict[str, str], row: int, path: Path) -> None:
    entry = {"id": cells.pop("candidate", None) or None, **cells}
    prompt_id, prompt = entry.pop("prompt_id") or "", entry.pop("prompt")
    first, pool = pools.setdefault(prompt_id, (row, {"prompt_id": prompt_id, "prompt": prompt, "candidates": []}))
    if pool["prompt"] != prompt:
        hint = "give each prompt a prompt_id of its own"
        raise RowError(f"{path}, row {row}: another prompt than in row {first}, with the same prompt_id", hint=hint)
    pool["candidates"].append(entry)
