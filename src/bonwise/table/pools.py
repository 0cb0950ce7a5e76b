"""Pools, one prompt and the candidate answers to choose from, and their JSONL files or streams, one pool a line."""

from __future__ import annotations

import csv
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bonwise.errors import BonwiseError, ColumnError, FileError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import chat, text_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bonwise.table.images import ImageReader


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate answer.

    Parameters
    ----------
    id : str
        Unique within its pool.
    text : str
        The answer, as the judge sees it.
    missing : str
        Why there is no text to judge: the candidate is then unscored for this reason. Empty for any other one.
    """

    id: str
    text: str
    missing: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """One prompt and its candidate answers.

    Parameters
    ----------
    prompt_id : str
        Unique within a file.
    prompt : str
        The words of the prompt.
    candidates : tuple of Candidate
        In the order they were given.
    variables : mapping, optional
        What the judges need beyond prompt and candidates, such as a reference answer: by name a text, or one for each
        candidate by the text of the candidate.

    Examples
    --------
    >>> pool = Pool("p1", "Say hi", (Candidate("c0", "hi"), Candidate("c1", "no")))
    >>> [candidate.id for candidate in pool.candidates]
    ['c0', 'c1']
    """

    prompt_id: str
    prompt: str
    candidates: tuple[Candidate, ...]
    variables: Mapping[str, str | Mapping[str, str]] | None = field(default=None, repr=False, hash=False)


def identifier(value: object) -> str | None:
    """Return an identifier as its text, the whole number 1.0 as ``1``; None where it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and value.strip() else None


def first_repeat(candidates: Sequence[Candidate]) -> tuple[int, int] | None:
    """Return the positions of the first two candidates with one id, None where all differ."""
    positions: dict[str, int] = {}
    for at, candidate in enumerate(candidates):
        first = positions.setdefault(candidate.id, at)
        if first != at:
            return first, at
    return None


_SHAPE = 'a pool is {"prompt_id": "p1", "prompt": "...", "candidates": ["...", {"id": "b", "text": "..."}]}'


def is_csv(path: str | Path) -> bool:
    """Tell whether a file of pools has one candidate per row, by its name."""
    return str(path).lower().removesuffix(".gz").endswith(".csv")


def is_csv_of_pools(path: str | Path) -> bool:
    """Tell whether the header of such a file is one of pools; the rest is not read."""
    with text_files.file_errors(Path(path)), text_files.open_text(Path(path), newline="") as lines:
        return {*_NEEDED} <= {*next(csv.reader(lines), ())}


def read_pools(path: str | Path, wanted: Sequence[str] = (), images: ImageReader | None = None) -> Iterator[Pool]:
    """Yield the pools of a file, plain or gzipped, in its order; in a ``.csv`` each row is a candidate.

    One that lacks a `wanted` variable is a RowError. Ids without a name are ``c0``, ``c1`` ... Without a reader of
    `images` an image is the word ``[image]``.
    """
    rows = _csv_rows if is_csv(path) else text_files.json_lines
    return _pools(lambda: rows(Path(path)), str(path), _HELD, wanted, images)


def read_pool_stream(
    stream: IO[bytes], name: str = "standard input", wanted: Sequence[str] = (), images: ImageReader | None = None
) -> Iterator[Pool]:
    """Yield pools of JSONL in bytes as lines come; bad UTF-8, a far too long line, or no pool, is a FileError."""
    return _pools(lambda: text_files.json_lines_of(stream, name), name, wanted=wanted, images=images)


_NEEDED = ("prompt_id", "prompt", "text")
_ROWS = "\nrows"
"""The row of each candidate of a CSV file; no variable has such a name."""


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first row and the object of each pool of a CSV file; rows are records, the header being row 1."""
    text_files.check_text(path)
    pools: dict[str, tuple[int, dict[str, Any]]] = {}
    csv.field_size_limit(max(csv.field_size_limit(), text_files.limit("LONGEST_LINE", text_files.LONGEST_LINE)))
    with text_files.file_errors(path), text_files.open_text(path, newline="") as lines:
        records = csv.reader(lines, strict=True)
        try:
            header = next(records, [])
            if wrong := [name for name in dict.fromkeys((*_NEEDED, *header)) if header.count(name) != 1]:
                hint = "a CSV of pools has prompt_id, prompt and text, each once, and one row per candidate"
                raise ColumnError(f"{path}: no column, or several, named {listed(wrong)}", hint=hint)
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
    # Cells hold no chat messages, whatever their columns are called.
    keys = {key: cell for key, cell in cells.items() if key not in ("candidate", "content", "tool_calls")}
    entry = {**keys, "id": cells.get("candidate") or None}
    prompt_id, prompt = entry.pop("prompt_id") or "", entry.pop("prompt")
    first, pool = pools.setdefault(prompt_id, (row, {"prompt_id": prompt_id, "prompt": prompt, "candidates": []}))
    if pool["prompt"] != prompt:
        hint = "give each prompt a prompt_id of its own"
        raise RowError(f"{path}, row {row}: another prompt than in row {first}, with the same prompt_id", hint=hint)
    pool["candidates"].append(entry)
    pool.setdefault(_ROWS, []).append(row)


_HELD = 2**16
"""Prompt ids of a file that are held with their rows; of those before them a hash is held, in 8 bytes each."""


def _pools(
    rows: Callable[[], Iterable[tuple[int, dict[str, Any]]]],
    source: str,
    held: int = 0,
    wanted: Sequence[str] = (),
    images: ImageReader | None = None,
) -> Iterator[Pool]:
    """Yield pools; `held` is how many ids are held where the rows can be read again, and 0 where they cannot."""
    first_rows: dict[str, int] = {}
    hashes, row = array("q"), 0
    for row, record in rows():
        where = f"{source}, row {row}"
        pool = Pool(_prompt_id(record, where), _prompt(record, where, images), _candidates(record, where, images))
        if wanted:
            stating = list(zip(record["candidates"], (each.text for each in pool.candidates), strict=True))
            places = [f"{source}, row {at}" for at in record.get(_ROWS, ())]
            values = {name: stated_value(name, record, stating, where, places=places) for name in wanted}
            pool = replace(pool, variables=values)
        first = first_rows.setdefault(pool.prompt_id, row)
        if first == row and hashes and _is_among(hashes, hash(pool.prompt_id)):
            first = next(at for at, earlier in rows() if _prompt_id(earlier, source) == pool.prompt_id)
        if first != row:
            raise RowError(
                f"{where}: prompt_id {quoted(pool.prompt_id)} is in row {first} already",
                hint="give every pool a prompt_id of its own",
            )
        if len(first_rows) == held:
            hashes, first_rows = _merged(hashes, first_rows), {}
        yield pool
    if not row:
        raise FileError(f"{source}: no pools", hint="check that whatever wrote it has finished")


def _is_among(hashes: array[int], sought: int) -> bool:
    at = bisect_left(hashes, sought)
    return at < len(hashes) and hashes[at] == sought


def _merged(hashes: array[int], prompt_ids: Iterable[str]) -> array[int]:
    """Return sorted hashes with those of further prompt ids."""
    import numpy as np  # noqa: PLC0415 - for files of many pools

    every = np.concatenate([np.frombuffer(hashes, np.int64), np.fromiter(map(hash, prompt_ids), np.int64)])
    every.sort()
    merged = array("q")
    merged.frombytes(every.data.cast("B"))
    return merged


def _prompt_id(record: dict[str, Any], where: str) -> str:
    given = record.get("prompt_id")
    prompt_id = given if type(given) is str and given.strip() else identifier(given)
    if prompt_id is None:
        structured = isinstance(given, dict | list)
        trouble = f"prompt_id is {quoted(given)}, neither text nor a number" if structured else "no prompt_id"
        raise RowError(f"{where}: {trouble}", hint="give every pool a prompt_id, a text or a number")
    return prompt_id


def _prompt(record: dict[str, Any], where: str, images: ImageReader | None) -> str:
    prompt = record.get("prompt")
    if isinstance(prompt, list | dict):
        try:
            return chat.prompt_text(prompt) if images is None else images.prompt(prompt)
        except UsageError as error:
            raise RowError(f"{where}: {error.message}", hint=error.hint) from None
    if not isinstance(prompt, str):
        trouble = f"prompt is {quoted(prompt)}, which is not text" if "prompt" in record else "no prompt"
        raise RowError(f"{where}: {trouble}", hint=_SHAPE)
    return prompt


_USUAL_NAMES = tuple(f"c{at}" for at in range(64))


def _candidates(record: dict[str, Any], where: str, images: ImageReader | None) -> tuple[Candidate, ...]:
    entries = record.get("candidates")
    if not isinstance(entries, list):
        raise RowError(f"{where}: no list of candidates", hint=_SHAPE)
    if not entries:
        raise RowError(f"{where}: the list of candidates is empty", hint="give the pool a candidate, or leave it out")
    if len(entries) <= len(_USUAL_NAMES) and set(map(type, entries)) == {str}:
        return tuple(map(Candidate, _USUAL_NAMES, entries))
    candidates = tuple([_candidate(entry, at, where, images) for at, entry in enumerate(entries)])
    repeated = first_repeat(candidates)
    if repeated is not None:
        raise RowError(
            f"{where}: candidates {repeated[0]} and {repeated[1]} (counted from 0) are both named "
            f"{quoted(candidates[repeated[0]].id)}",
            hint="give each candidate of a pool an id of its own; one without is named c and its position",
        )
    return candidates


def _candidate(entry: object, at: int, where: str, images: ImageReader | None) -> Candidate:
    if isinstance(entry, str):
        return Candidate(f"c{at}", entry)
    if not isinstance(entry, dict):
        raise RowError(f"{where}: candidate {at} is {quoted(entry)}, neither text nor an object", hint=_SHAPE)
    if "content" in entry or "tool_calls" in entry or isinstance(entry.get("text"), list):
        return _message(entry, at, where, images)
    if not isinstance(entry.get("text"), str):
        raise RowError(
            f"{where}: the text of candidate {at} is {quoted(entry.get('text'))}, which is none", hint=_SHAPE
        )
    return Candidate(_name(entry, at, where), entry["text"])


def _message(entry: dict[str, Any], at: int, where: str, images: ImageReader | None) -> Candidate:
    try:
        text = chat.answer_text(entry) if images is None else images.answer(entry)
    except UsageError as error:
        raise RowError(f"{where}: candidate {at}: {error.message}", hint=error.hint) from None
    except chat.NotAnAnswerError:
        raise RowError(f"{where}: candidate {at} is a chat message without text", hint=_SHAPE) from None
    # The id of a message without a text of its own names the message, not the candidate.
    name = _name(entry, at, where) if "text" in entry else f"c{at}"
    return Candidate(name, "", missing=chat.NO_TEXT) if text is None else Candidate(name, text)


def _name(entry: dict[str, Any], at: int, where: str) -> str:
    if entry.get("id") is None:
        return f"c{at}"
    name = identifier(entry["id"])
    if name is None:
        raise RowError(
            f"{where}: the id of candidate {at} is {quoted(entry['id'])}, neither text nor a number",
            hint="give it an id, or leave the id out",
        )
    return name


def stated_value(
    name: str,
    stated: Mapping[str, Any],
    candidates: Sequence[tuple[Any, str]],
    where: str,
    error: type[BonwiseError] = RowError,
    *,
    places: Sequence[str] = (),
) -> str | dict[str, str]:
    """Return what a pool says of a variable: a text, or one for each candidate by the candidate's text.

    `stated` is the pool; of each candidate there is what the caller has and the text that is judged. What is missing,
    is not text, or stands in both places raises `error`, with the key and `where` or the candidate's of `places`.
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
        place = places[at] if places else where
        of = "" if places else f" of candidate {at} (counted from 0)"
        words = _words(value, f"{place}: {quoted(name)}{of}", error)
        if values.setdefault(text, words) != words:
            hint = "candidates of the same text are judged as one: leave one of them out"
            raise error(f"{place}: candidates of the same text differ in {quoted(name)}", hint=hint)
    return values


def _words(value: object, what: str, error: type[BonwiseError]) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        trouble = "is empty" if isinstance(value, str) or value is None else f"is {quoted(value)}, which is not text"
        raise error(f"{what} {trouble}", hint="write a text or a number")
    return value
