"""Labels of a second file beside the rows of scores: by columns that both files have, or by line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Ints
from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import canonical, columns, identifiers, nested
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.sources import OpenedSource, open_source, refuse_cut_off
from bonwise.table.store import Categories, CodedColumn


def with_row_labels(source: RowSource, options: ReadingOptions) -> tuple[OpenedSource, ReadingOptions]:
    """Return the rows of scores with labels beside them, counting those alone; refuses repeated or unequal keys."""
    named = options.named_columns
    own = {role: column for role, column in named.items() if role != "oracle_label"}
    scores = open_source(source, own)
    labels = open_source(options.labels or "", {role: named[role] for role in ("oracle_label",) if role in named})
    refuse_cut_off(labels)
    names = _label_columns(labels, options)
    if options.by_line:
        at = _by_line(scores, labels, names)
        note = f"row n of {labels.name} is of row n ({len(labels.rows):,} rows each)"
    else:
        at, note = _by_columns(scores, labels, options.join_col)
        note += _shared_keys(scores, replace(options, columns=own, labels=None, join_col=()), options.join_col)
    where, there = Path(labels.name).name, scores.rows.columns
    brought = {f"{name} of {where}" if name in there else name: name for name in names}
    made = {name: _placed(labels.rows.column(column), at, scores.rows.index) for name, column in brought.items()}
    joined = replace(scores, rows=scores.rows.assign(made), notes=(*scores.notes, f"labels joined: {note}"))
    kept = {**own, "oracle_label": [*made] if len(made) > 1 else next(iter(made))}
    return joined, replace(options, columns=kept, labels=None, join_col=(), by_line=False)


def _label_columns(labels: OpenedSource, options: ReadingOptions) -> tuple[str, ...]:
    """Return the columns of the labels: those that were named, or that have such a name."""
    named = {role: column for role, column in options.named_columns.items() if role == "oracle_label"}
    # A key is no label, whatever its name.
    rows = labels.rows.without(*options.join_col)
    wanted = ("oracle_label",)
    taken = columns.resolve_columns(
        rows, named, source=labels.name, required=wanted, roles=wanted, worth=options.word_values
    )
    return columns.names_of_columns(taken["oracle_label"])


def _by_line(scores: OpenedSource, labels: OpenedSource, names: Sequence[str]) -> Ints:
    for opened in (scores, labels):
        if opened.imported is not None:
            raise UsageError(
                f"{opened.name}: read as {opened.imported.format}, whose rows are not the lines of the file",
                hint="join by columns: --join-col NAME",
            )
    if len(scores.rows) != len(labels.rows):
        raise RowError(
            f"{scores.name} has {len(scores.rows):,} rows and {labels.name} {len(labels.rows):,}: they do not belong "
            "together line by line",
            hint="join by a column of both: --join-col NAME",
        )
    for name in scores.rows.columns:
        if name in labels.rows.columns and name not in names:
            _refuse_unlike_lines(scores, labels, name)
    return np.arange(len(labels.rows))


def _refuse_unlike_lines(scores: OpenedSource, labels: OpenedSource, name: str) -> None:
    """Refuse files of which a row says two things in a column of both; a blank says nothing."""
    own, other = scores.rows.column(name), labels.rows.column(name)
    pairs = own.codes.astype(np.int64) * (len(other.cells) + 1) + other.codes
    for at in sorted(np.unique(pairs, return_index=True)[1].tolist()):
        if min(own.codes[at], other.codes[at]) >= 0 and _differ(own.cell(at), other.cell(at)):
            raise RowError(
                f"row {scores.rows.index[at]} of {scores.name} has {quoted(own.cell(at))} in {quoted(name)}, and row "
                f"{labels.rows.index[at]} of {labels.name} {quoted(other.cell(at))}: they do not belong together",
                hint="join by a column of both with --join-col NAME, or leave --by-line out",
            )


def _differ(cell: object, other: object) -> bool:
    """Tell whether two cells that hold something say two things; 1 and 1.0 say one."""
    words = {str(cell).strip(), str(other).strip()}
    with suppress(ValueError):
        return len(words) > 1 and "" not in words and len({float(word) for word in words}) > 1
    return True


def _by_columns(scores: OpenedSource, labels: OpenedSource, names: Sequence[str]) -> tuple[Ints, str]:
    """Return the row of labels of each row of scores, -1 for none, and what became of both."""
    of_scores, of_labels = _keys(scores, names), _keys(labels, names)
    keys = of_labels.to_numpy().tolist()
    first: dict[str, int] = {}
    for at, key in enumerate(keys):
        if first.setdefault(key, at) != at:
            raise RowError(
                f"{labels.name}, row {labels.rows.index[at]}: {quoted(key)} stands here again (first in row "
                f"{labels.rows.index[first[key]]}), so {listed(names)} does not tell whose label it is",
                hint="name further columns of both files with --join-col, or keep one of the rows",
            )
    known = set(of_scores.categories)
    by_category = [first.get(key, -1) for key in of_scores.categories]
    at = np.array(by_category, dtype=np.int64)[of_scores.codes]
    strange = [key for key in first if key not in known]
    if pair := unlike_in_form(strange, [key for key in known if key not in first]):
        raise RowError(
            f"{labels.name} and {scores.name} write {quoted(pair[0])} in two Unicode forms, so the rows do not match",
            hint="write both files in one form, such as NFC",
        )
    if (at < 0).all():
        raise RowError(
            f"{labels.name}: no {listed(names)} of it is one of {scores.name} ({quoted(keys[0])} and "
            f"{quoted(str(of_scores[0]))} are the first)",
            hint="name a column that both files have with --join-col",
        )
    counts = f"{int((at >= 0).sum()):,} of {len(at):,} rows have a label"
    lost = f"; {len(strange):,} rows of {labels.name} match none, such as {quoted(strange[0])}" if strange else ""
    return at, f"by {listed(names)}, {counts}{lost}"


def _shared_keys(scores: OpenedSource, options: ReadingOptions, names: Sequence[str]) -> str:
    """Say how many keys of scores stand at several candidates, all of which have the label of their key."""
    try:
        taken = canonical.resolved(scores.rows, options, scores.name)
    except ColumnError:
        return ""  # no row is one candidate
    cells = [scores.rows.column(taken[role]).codes for role in ("prompt_id", "candidate") if role in taken]
    keys = np.unique(np.column_stack([_keys(scores, names).codes, *cells]), axis=0)[:, 0]
    counts = np.unique(keys, return_counts=True)[1]
    several = int((counts > 1).sum())
    return f"; {several:,} of {len(counts):,} keys stand at several candidates each" if several else ""


def unlike_in_form(strange: Sequence[str], others: Sequence[str]) -> tuple[str, str] | None:
    """Return two keys that are the same text in two Unicode forms; None where there are none."""
    plain = {unicodedata.normalize("NFC", key): key for key in others if not key.isascii()}
    pairs = ((key, plain.get(unicodedata.normalize("NFC", key))) for key in strange if not key.isascii())
    return next(((key, other) for key, other in pairs if other is not None), None)


def _keys(opened: OpenedSource, names: Sequence[str]) -> Categories:
    rows = nested.with_paths(opened.rows, {name: name for name in names})
    lacking = [name for name in names if name not in rows.columns]
    if lacking:
        raise ColumnError(
            f"{opened.name}: no column named {quoted(lacking[0])} to join by",
            hint=f"the columns are {listed(opened.rows.columns)}",
        )
    return identifiers.joined_names(rows, names, "key", opened.name)


def _placed(column: CodedColumn, at: Ints, index: npt.NDArray[np.object_]) -> CodedColumn:
    codes = np.append(column.codes, -1)[at]
    return CodedColumn(index, dictionary=(codes, column.cells), decimal_comma=column.decimal_comma)
