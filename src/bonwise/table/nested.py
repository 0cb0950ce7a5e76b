"""Values within cells: columns by a path such as ``scores.fluency``, and cells that list draws or candidates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import reading, roles
from bonwise.table.store import CodedColumn, Rows, StructuredText, is_missing
from bonwise.table.verdict_words import NOUNS, OPPOSITES, words_of

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.table.reading import RowSource
    from bonwise.table.reading_options import ReadingOptions

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,4})\]")
_MOST_LEAVES = 200
_LOOKED_AT = 50
"""Cells of a column in which values are looked for."""

_DEEPEST = 8
_LONGEST_PATH = 300


def plain_cell(cell: object) -> Any:
    """Return a cell with its lists and objects as such, those that are written as JSON text too."""
    if isinstance(cell, str):
        if cell.lstrip()[:1] in ("[", "{"):
            with suppress(ValueError, RecursionError):
                return json.loads(cell)
        return cell
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [plain_cell(value) for value in cell]
    return None if is_missing(cell) else cell.item() if isinstance(cell, np.generic) else cell


def with_paths(rows: Rows, named: Mapping[str, str]) -> Rows:
    """Add a column for each one that was named by a path into the cells of another."""
    columns: dict[str, CodedColumn] = {}
    parsed: dict[str, list[Any]] = {}
    for names in named.values():
        for name in [names] if names in rows.columns else map(str.strip, names.split(",")):
            if name not in rows.columns and (values := _at_path(rows, name, parsed)) is not None:
                columns[name] = values
    return rows.assign(columns) if columns else rows


def open_frame(
    source: RowSource, names: Iterable[str | None], name: str = "table", *, in_part: bool = False
) -> tuple[pd.DataFrame, str]:
    """Return what `bonwise.table.reading.open_frame` does, with a column for each name that is a path into cells."""
    raw, name = reading.open_frame(source, name, in_part=in_part)
    paths = {path: path for path in names if path and path not in raw.columns and {".", "["} & set(path)}
    return (with_paths(Rows.of(raw), paths).to_frame() if paths else raw), name


def _at_path(rows: Rows, path: str, parsed: dict[str, list[Any]]) -> CodedColumn | None:
    """Return what stands at a path, from `parsed` cells; None where it begins at no column, or no cell has it."""
    roots = [name for name in rows.columns if path.startswith((f"{name}.", f"{name}["))]
    for root in sorted(roots, key=len, reverse=True):
        rest = path[len(root) :]
        steps = [key or int(place) for key, place in _STEP.findall(rest)]
        if "".join(match[0] for match in _STEP.finditer(rest)) != rest:
            continue
        column = rows.column(root)
        if root not in parsed:
            parsed[root] = [plain_cell(cell) for cell in column.cells]
        values = [_walk(value, steps) for value in parsed[root]]
        if any(value is not None for value in values):
            return column.with_cells([_as_cell(value) for value in values])
    return None


def _walk(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = plain_cell(value)
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _as_cell(value: Any) -> Any:
    return StructuredText(json.dumps(value)) if isinstance(value, list | dict) else value


def leaves(rows: Rows) -> dict[str, CodedColumn]:
    """Return the values within cells by their path: numbers, words and lists of numbers, the first few hundred."""
    paths: dict[str, None] = {}
    parsed: dict[str, list[Any]] = {}
    for name in rows.columns:
        for cell in rows.column(name).cells[:_LOOKED_AT]:
            value = plain_cell(cell)
            if isinstance(value, list | dict):
                paths |= dict.fromkeys(path for path in islice(_paths(value, str(name), 1), _MOST_LEAVES))
    usable = [path for path in paths if len(path) <= _LONGEST_PATH and path.isprintable()]
    columns = ((path, _at_path(rows, path, parsed)) for path in usable[:_MOST_LEAVES])
    return {path: column for path, column in columns if column is not None}


def _paths(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            # What the grammar of paths has no way to write is not proposed.
            if key and not {".", "[", "]"} & set(key):
                yield from _paths(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list) and not (depth > 1 and _is_numbers(value)):
        for at, inner in enumerate(value[:10]):
            yield from _paths(inner, f"{path}[{at}]", depth + 1)
    elif depth > 1:
        yield path


def _is_numbers(values: object) -> bool:
    """Tell whether this is a list of numbers, some of them missing."""
    return (
        isinstance(values, list)
        and any(value is not None for value in values)
        and all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    )


def lists_of(column: CodedColumn) -> list[Any] | None:
    """Return the list of numbers that each distinct cell holds; None where one is no such list."""
    if column.kind != "O" or not isinstance(plain_cell(next(iter(column.cells), None)), list):
        return None
    values = [plain_cell(cell) for cell in column.cells]
    is_list = values and all(_is_numbers(value) or value == [] for value in values)
    return values if is_list and any(values) else None


def records_by_key(document: object) -> list[dict[str, Any]] | None:
    """Return the rows of objects by their keys, of two levels prompts by the more, or by those that do not recur."""
    if not isinstance(document, Mapping) or not document:
        return None
    if not all(isinstance(inner, Mapping) and inner for inner in document.values()):
        return None
    if all(isinstance(cell, Mapping) and cell for inner in document.values() for cell in inner.values()):
        within = Counter(key for inner in document.values() for key in inner)
        is_turned = len(within) > len(document) and max(within.values()) == len(document) > 1
        levels = ("candidate", "prompt_id") if is_turned else ("prompt_id", "candidate")
        return [
            {**dict(zip(levels, (key, name), strict=True)), **cell}
            for key, inner in document.items()
            for name, cell in inner.items()
        ]
    # Of one object of settings nothing is a row.
    return [{"prompt_id": key, **inner} for key, inner in document.items()] if len(document) > 1 else None


def unfolded(
    rows: Rows, options: ReadingOptions, taken: Mapping[str, str] | None, source: str
) -> tuple[Rows, str] | None:
    """Return rows with one score a cell for lists, and how; beside candidates lists hold draws. None without any."""
    named = dict(options.named_columns)
    columns = _score_columns(rows, named)
    lists = {name: values for name in columns if (values := lists_of(rows.column(name))) is not None}
    if options.second_order is not None and (not lists or len(columns) != 2):
        raise no_orders(source)
    if not lists:
        return None
    if len(lists) < len(columns):
        other = rows.column(name := next(name for name in columns if name not in lists))
        wrong = other.marked([not _is_numbers(cell) and cell != [] for cell in map(plain_cell, other.cells)])
        at = int(wrong.argmax())
        raise RowError(
            f"{source}, row {rows.index[at]}: {quoted(name)} is no list of numbers: {quoted(str(other.cell(at)))}",
            hint="mend the cell, or name one column",
        )
    prompt, candidate = _place(rows, "prompt_id", named, taken), _place(rows, "candidate", named, taken)
    if candidate is not None and lists_of_names(rows.column(candidate)) is None and prompt is not None:
        return _draws(rows, lists, source)
    if prompt is None or "judge_score" not in named:
        return None  # lists under known names have an importer
    return _candidates(rows, lists, prompt, candidate, options, source)


def no_orders(source: str) -> UsageError:
    """Return what to say of a second order where there are no two columns of lists."""
    return UsageError(
        f"{source}: --second-order is of two columns that list scores of pairs", hint="name both, or none"
    )


def _score_columns(rows: Rows, named: Mapping[str, str]) -> list[str]:
    """Return the columns that were named for scores, or the one that has such a name."""
    text = named.get("judge_score")
    if text is not None:
        names = [text] if text in rows.columns else [part.strip() for part in text.split(",")]
        return names if all(name in rows.columns for name in names) else []
    by_key = roles.by_key(rows.columns)
    several = [name for key in ("scores", "draws", "ratings", "rewards") for name in by_key.get(key, ())]
    groups = [*roles.claims("judge_score", by_key), several]
    return next((group[:1] for group in groups if len(group) == 1), [])


def _place(rows: Rows, role: str, named: Mapping[str, str], taken: Mapping[str, str] | None) -> str | None:
    """Return the column of prompts or candidates, one that the content of the others does not decide."""
    column = named.get(role) or (taken or {}).get(role)
    if column is not None:
        return column if column in rows.columns else None
    groups = roles.claims(role, roles.by_key(rows.columns))
    # The text of an answer is no name beside lists: it may be the one answer that was judged.
    return next((name for group in groups[: roles.PLAIN + 1] for name in group), None) or (
        next((name for group in groups for name in group), None) if role == "prompt_id" else None
    )


def lists_of_names(column: CodedColumn) -> list[Any] | None:
    """Return the list that each distinct cell holds; None where one holds none."""
    values = [plain_cell(cell) for cell in column.cells]
    return values if values and all(isinstance(value, list) for value in values) else None


def _draws(rows: Rows, lists: Mapping[str, list[Any]], source: str) -> tuple[Rows, str]:
    """Make a column per draw of the one column of lists."""
    if len(lists) > 1:
        raise ColumnError(
            f"{source}: {listed(lists)} list draws of several judges, and draws of one are read",
            hint=f"choose one with --score-col {next(iter(lists))}",
        )
    (name, values), most = next(iter(lists.items())), max(map(len, next(iter(lists.values()))))
    column = rows.column(name)
    draws = {
        f"draw_{at}": column.with_cells([value[at] if at < len(value) else None for value in values])
        for at in range(most)
    }
    return rows.without(name).assign(draws), f"a cell of {quoted(name)} lists draws, up to {most}"


def are_places(first: str, second: str) -> bool:
    """Tell whether two columns are the same value at two places of a list."""
    return "[" in first and first != second and re.sub(r"\d+", "#", first) == re.sub(r"\d+", "#", second)


def sides_of(names: Sequence[Any]) -> tuple[str, str] | None:
    """Return two columns whose names differ in the side alone, such as ``response_A`` and ``response_B``."""
    stems: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        words = words_of(str(name))
        if len(words) > 1 and words[-1] in {side for pair in OPPOSITES for side in pair} and NOUNS & {*words[:-1]}:
            stems.setdefault(tuple(words[:-1]), {}).setdefault(words[-1], name)
    for marked in stems.values():
        for first, other in OPPOSITES:
            if first in marked and other in marked:
                return marked[first], marked[other]
    return None


def _candidates(
    rows: Rows,
    lists: Mapping[str, list[Any]],
    prompt: str,
    candidate: str | None,
    options: ReadingOptions,
    source: str,
) -> tuple[Rows, str]:
    """Make a row per prompt and place in its lists."""
    orders = list(lists)
    if options.second_order is None and len(orders) == 2 and are_places(*orders):
        raise UsageError(
            f"{source}: {orders[0]} and {orders[1]} may be two orders of one judge, of which the second lists places "
            "or answers",
            hint="say which: --second-order turned (places) or --second-order as-named (answers)",
        )
    in_orders = options.second_order is not None
    scores = {name: _by_row(rows, name, values) for name, values in lists.items()}
    sides, label = sides_of(list(rows.columns)), _label_column(rows, options)
    names = None if candidate is None else _by_row(rows, candidate, lists_of_names(rows.column(candidate)) or [])
    labels = None if label is None else _labels(rows, label, sides, source)
    marks = None if sides is None else [words_of(side)[-1].upper() for side in sides]
    used = {*lists, prompt, *([] if label is None else [label]), *(sides or ()), *([candidate] if candidate else ())}
    others = {name: rows.column(name).to_numpy() for name in rows.columns if name not in used}
    others = {name: cells for name, cells in others.items() if not any(_is_nested(cell) for cell in cells[:5])}
    prompts = rows.column(prompt).to_numpy()
    records, numbers, in_one_order = [], [], 0
    for at, row in enumerate(rows.index.tolist()):
        cells = [scores[name][at] or [] for name in orders]
        if len({len(cell) for cell in cells if cell}) > 1:
            raise RowError(f"{source}, row {row}: {listed(orders)} list different numbers of scores", hint="mend it")
        if in_orders and options.second_order == "turned":
            cells[1] = cells[1][::-1]
        in_one_order += in_orders and any((first is None) != (again is None) for first, again in zip_longest(*cells))
        called = _called(names[at] if names else None, marks, max(map(len, cells)))
        worth = labels[at] if labels is not None else []
        shared = {"prompt_id": prompts[at], **{name: held[at] for name, held in others.items()}}
        for place, name in enumerate(called):
            given = {} if labels is None else {"oracle_label": worth[place] if place < len(worth) else None}
            values = [cell[place] if place < len(cell) else None for cell in cells]
            for own in _scored(orders, values, in_orders=in_orders):
                records.append({**shared, "candidate": name, **own, **given})
                numbers.append(f"{row} ({name})")
    what = f"a cell of {listed(orders)} lists the scores of candidates"
    if in_orders:
        order_words = (
            "turned round, because it lists places" if options.second_order == "turned" else "as it names answers"
        )
        what = f"{orders[0]} and {orders[1]} are both orders of one judge, the second {order_words}"
        what += f"; {in_one_order:,} of {len(rows):,} rows have scores of one order only" if in_one_order else ""
    if label is not None and labels is not None:
        what += f"; oracle_label is {label!r}"
    return Rows.of_records(records, numbers), what


def _is_nested(cell: object) -> bool:
    return isinstance(cell, StructuredText | list | dict | np.ndarray)


def _scored(orders: Sequence[str], values: Sequence[Any], *, in_orders: bool) -> Iterator[dict[str, Any]]:
    """Yield the cells of a candidate's row, or of one per judge."""
    if in_orders:
        yield {"draw_0": values[0], "draw_1": values[1]}
    elif len(orders) == 1:
        yield {"judge_score": values[0]}
    else:
        for name, value in zip(orders, values, strict=True):
            yield {"judge": name, "judge_score": value}


def _by_row(rows: Rows, name: str, values: Sequence[Any]) -> list[Any]:
    return [*rows.column(name).where(list(values), None, object)]


def _called(names: list[Any] | None, marks: Sequence[str] | None, count: int) -> list[str]:
    """Return the names of the candidates of a row: those that it lists, the sides of a pair, or their places."""
    places = [f"c{at}" for at in range(count)]
    if names:
        return [str(name) if name is not None else place for name, place in zip_longest(names, places)]
    return list(marks) if marks is not None and count == len(marks) else places


def _label_column(rows: Rows, options: ReadingOptions) -> str | None:
    named = options.named_columns.get("oracle_label")
    if named is not None or options.labels is not None or options.oracle is not None:
        return named if named in rows.columns else None
    return next((name for group in roles.claims("oracle_label", roles.by_key(rows.columns)) for name in group), None)


def _labels(rows: Rows, label: str, sides: Sequence[str] | None, source: str) -> list[list[Any]] | None:
    """Return the labels of each row's candidates: a list of them, or of a pair who is preferred."""
    lists = lists_of(rows.column(label))
    if lists is not None:
        return [held or [] for held in _by_row(rows, label, lists)]
    if sides is None:
        return None
    from bonwise.table import vote_readings  # noqa: PLC0415 - votes are read with pandas

    frame = rows.only([label, *sides]).to_frame()
    worth = vote_readings.read_votes(frame[label], source, sides=frame[list(sides)]).worth
    return [[] if np.isnan(first) else [float(first), float(1 - first)] for first in worth]
