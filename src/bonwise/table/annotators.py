"""Labels of several annotators, in rows or in columns, checked and made one per candidate by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import RowError
from bonwise.printable import listed, quoted
from bonwise.table import checks, identifiers, label_words, numbers, reading_options, scales
from bonwise.table.cells import cell_words, distinct_cells, draw_columns, label_by_cell, mean_by_cell, positions
from bonwise.table.columns import LabelColumns
from bonwise.table.store import Categories, CodedColumn, Names, Rows

LabelKind = Literal["yes or no", "ordered categories", "numbers"]

DEFAULT_RULES: Mapping[LabelKind, checks.AnnotatorRule] = MappingProxyType(
    {"yes or no": "majority", "ordered categories": "median", "numbers": "mean"}
)
"""The rule by the kind of labels, where none is stated."""

_WIDEST = 10
"""Width of the widest scale of whole numbers that is taken for ordered categories: 0 to 10 has 11 of them."""

_SAME = 9
"""Decimals to which labels are rounded before they are compared."""


class Aggregated(NamedTuple):
    """One label for each of several cells."""

    labels: Floats
    """NaN where a cell has no label."""
    split: Mask
    """Cells whose labels do not settle on one: several labels are the most frequent, or the median is between two
    different labels. Their label is the mean of these.
    """


def kind_of_labels(values: Floats, *, words: bool = False) -> LabelKind:
    """Tell the kind of labels, NaN where none; with `words`, more than two different ones are ordered categories."""
    known = np.unique(np.round(values[~np.isnan(values)], _SAME))
    if np.isin(known, (0.0, 1.0)).all() or (words and len(known) <= 2):
        return "yes or no"
    whole = bool((known == np.round(known)).all()) and float(known[-1] - known[0]) <= _WIDEST
    return "ordered categories" if words or whole else "numbers"


def aggregate(rule: checks.AnnotatorRule, at: Ints, values: Floats, count: int) -> Aggregated:
    """Return one label for each of `count` cells; `at` is the cell of each label in `values`, which hold no NaN."""
    if rule == "mean":
        return Aggregated(mean_by_cell(at, values, count), np.zeros(count, dtype=bool))
    kept = _middle(at, values, count) if rule == "median" else _most_frequent(at, values)
    at, values = at[kept], values[kept]
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, at, values)
    np.maximum.at(highest, at, values)
    split = np.round(highest, _SAME) > np.round(lowest, _SAME)
    # Each of the labels that a cell is split between counts once, however often it was given.
    return Aggregated(mean_by_cell(at, values, count), split)


def _middle(at: Ints, values: Floats, count: int) -> Ints:
    """Return the label in the middle of each cell, or the two of an even number."""
    order = np.lexsort((values, at))
    sizes = np.bincount(at, minlength=count)
    starts = np.cumsum(sizes) - sizes
    some = np.flatnonzero(sizes)
    places = np.concatenate([starts[some] + (sizes[some] - 1) // 2, starts[some] + sizes[some] // 2])
    middle: Ints = order[np.unique(places)]
    return middle


def _most_frequent(at: Ints, values: Floats) -> Ints:
    """Return one of each of the most frequent labels of every cell."""
    order = np.lexsort((values, at))
    cells, ordered = at[order], np.round(values[order], _SAME)
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(cells) != 0) | (np.diff(ordered) != 0)
    starts = np.flatnonzero(first)
    times = np.diff(starts, append=len(order))
    most = np.zeros(int(at.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, cells[starts], times)
    frequent: Ints = order[starts[times == most[cells[starts]]]]
    return frequent


_KEYS = ("prompt_id", "candidate", "judge", "draw")


@dataclass(frozen=True, eq=False)
class AnnotatorLabels:
    """Every label of every annotator, as it was before a candidate got one label."""

    columns: tuple[str, ...]
    """The column that names annotators, or the columns of their labels."""
    in_rows: bool
    """Whether annotators are in rows of their own."""
    names: tuple[str, ...]
    """The annotators who gave a label."""
    kind: LabelKind
    rule: checks.AnnotatorRule
    """How labels become one."""
    stated: bool
    """Whether the user named the rule."""
    prompts: Categories = field(repr=False)
    candidates: Categories = field(repr=False)
    annotators: Ints = field(repr=False)
    """Positions in `names`."""
    values: Floats = field(repr=False)
    """On the declared scale of labels."""
    several: int
    """Candidates with two labels or more."""
    split: int
    """Candidates whose labels do not settle on one, see `bonwise.table.annotators.Aggregated`."""

    def cell_keys(self, prompts: Names, candidates: Names) -> Ints:
        """Return the cell of each label, keyed as a table with these prompts and candidates keys it; -1 for none."""
        prompt = prompts.get_indexer(self.prompts.categories)[self.prompts.codes].astype(np.int64)
        name = candidates.get_indexer(self.candidates.categories)[self.candidates.codes].astype(np.int64)
        return np.where((prompt < 0) | (name < 0), -1, prompt * len(candidates) + name)

    @property
    def reading(self) -> str:
        """How labels became one, in one line."""
        where = f"column {self.columns[0]}" if self.in_rows else f"columns {listed(self.columns)}"
        who = "1 annotator" if len(self.names) == 1 else f"{len(self.names):,} annotators"
        words = f"the {self.rule} of the labels of {who} ({self.kind}, {where})"
        if not self.split:
            return words
        are = "1 candidate is" if self.split == 1 else f"{self.split:,} candidates are"
        why = "tied between labels" if self.rule == "majority" else "between two labels"
        return f"{words}; {are} {why} and {'has' if self.split == 1 else 'have'} their mean"


class OneLabelEach(NamedTuple):
    """A table in which a candidate has one label."""

    rows: Rows
    """One row per candidate, judge and draw."""
    taken: dict[str, str]
    """Role to column, in this frame."""
    words: Mapping[str, float]
    """What the words of the labels were taken for."""
    reading: str
    """How the labels were read and became one."""
    annotators: AnnotatorLabels


class _RowCells(NamedTuple):
    """Prompt and candidate of each row."""

    prompts: Categories
    names: Categories

    @property
    def keys(self) -> Ints:
        """One integer a row that is equal exactly where prompt and candidate are."""
        return np.asarray(self.prompts.codes.astype(np.int64) * len(self.names.categories) + self.names.codes)


class _Given(NamedTuple):
    """Labels as they were given: the row, the annotator and the worth of each."""

    rows: Ints
    annotators: Ints
    labels: Floats
    names: tuple[str, ...]


def with_one_label_each(
    frame: Rows, taken: Mapping[str, str], reading: reading_options.ReadingOptions, source: str
) -> OneLabelEach | None:
    """Return the rows with one label per candidate, None without annotators; refuses rows that differ otherwise."""
    columns = taken.get("oracle_label")
    several = isinstance(columns, LabelColumns)
    if columns is None or not (several or "annotator" in taken):
        return None
    cells = _RowCells(
        identifiers.as_categories(frame.columns[taken["prompt_id"]], role="prompt_id", source=source),
        identifiers.as_categories(frame.columns[taken["candidate"]], role="candidate", source=source),
    )
    if isinstance(columns, LabelColumns):
        read, given = _in_columns(frame, columns, reading, source)
        kept = frame.without(*columns.names)
        at_rows = np.arange(len(frame))
        label = str(columns) if str(columns) not in kept.columns else f"{columns} "
    else:
        read, given = _in_rows(frame, taken, reading, source)
        at_rows, kept = _one_row_each(frame, taken, cells, source)
        label = columns
    given = _without_repeats(given, cells, frame.index, source)
    annotators, labels = _made_one(given, cells, reading, words=bool(read.words))
    annotators = replace(
        annotators,
        columns=columns.names if isinstance(columns, LabelColumns) else (taken["annotator"],),
        in_rows=not several,
        values=scales.to_unit(
            given.labels, reading.label_scale, rows=frame.index[given.rows], role="oracle_label", source=source
        ),
    )
    made = kept.assign({label: CodedColumn(kept.index, labels[at_rows])})
    readings = "; ".join(filter(None, (read.reading, annotators.reading)))
    return OneLabelEach(made, {**taken, "oracle_label": label}, read.words, readings, annotators)


def _made_one(
    given: _Given, cells: _RowCells, reading: reading_options.ReadingOptions, *, words: bool
) -> tuple[AnnotatorLabels, Floats]:
    """Return the labels by annotator, and the one label of the candidate of each row."""
    keys = cells.keys
    known = distinct_cells(keys)
    at = positions(keys, known)
    kind = kind_of_labels(given.labels, words=words)
    rule = reading.annotator_rule or DEFAULT_RULES[kind]
    aggregated = aggregate(rule, at[given.rows], given.labels, len(known))
    annotators = AnnotatorLabels(
        columns=(),
        in_rows=True,
        names=given.names,
        kind=kind,
        rule=rule,
        stated=reading.annotator_rule is not None,
        prompts=cells.prompts[given.rows],
        candidates=cells.names[given.rows],
        annotators=given.annotators,
        values=given.labels,
        several=int((np.bincount(at[given.rows], minlength=len(known)) > 1).sum()),
        split=int(aggregated.split.sum()),
    )
    return annotators, aggregated.labels[at]


def _in_rows(
    frame: Rows, taken: Mapping[str, str], reading: reading_options.ReadingOptions, source: str
) -> tuple[label_words.ReadLabels, _Given]:
    """Read labels whose annotators are in rows of their own."""
    read = label_words.read_labels(frame.columns[taken["oracle_label"]], source=source, worth=reading.word_values)
    every, _, _ = read
    rows = np.flatnonzero(~np.isnan(every))
    nobody = _is_empty(frame.columns[taken["annotator"]])[rows]
    if nobody.any():
        raise RowError(
            f"{source}, row {frame.index[rows[nobody.argmax()]]}: a label without an annotator "
            f"in {quoted(taken['annotator'])}",
            hint="name the annotator of every label",
        )
    who = identifiers.as_categories(frame.columns[taken["annotator"]].take(rows), role="annotator", source=source)
    names = tuple(map(str, who.categories))
    return read, _Given(rows, who.codes.astype(np.int64), every[rows], names)


def _in_columns(
    frame: Rows, columns: LabelColumns, reading: reading_options.ReadingOptions, source: str
) -> tuple[label_words.ReadLabels, _Given]:
    """Read labels whose annotators have a column each; a column counts as one annotator."""
    read = [
        label_words.read_labels(frame.columns[name], source=source, worth=reading.word_values, role=str(name))
        for name in columns.names
    ]
    _refuse_mixed(columns.names, read, frame.index, source)
    rows = [np.flatnonzero(~np.isnan(every)) for every, _, _ in read]
    values = [every[some] for (every, _, _), some in zip(read, rows, strict=True)]
    who = np.repeat(np.arange(len(read)), [len(some) for some in rows])
    words = {word: worth for own in read for word, worth in own.words.items()}
    first_reading = next((own.reading for own in read if own.reading), "")
    given = _Given(np.concatenate(rows), who, np.concatenate(values), tuple(map(str, columns.names)))
    return label_words.ReadLabels(np.concatenate(values), words, first_reading), given


def _refuse_mixed(
    names: Sequence[str], read: Sequence[label_words.ReadLabels], rows: npt.NDArray[Any], source: str
) -> None:
    """Refuse columns that are written in different ways: another scale could be meant."""
    labelled = [(name, *own) for name, own in zip(names, read, strict=True) if not np.isnan(own[0]).all()]
    for name, values, words, own_reading in labelled:
        first_name, first, first_words, first_said = labelled[0]
        alike = bool(words) == bool(first_words) or (_are_yes_or_no(values) and _are_yes_or_no(first))
        if own_reading != first_said or not alike:
            at = int(np.flatnonzero(~np.isnan(values))[0])
            raise RowError(
                f"{source}, row {rows[at]}: {quoted(name)} is not written like {quoted(first_name)}: another scale "
                "could be meant",
                hint="write the labels of all annotators in one way",
            )


def _are_yes_or_no(values: Floats) -> bool:
    return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())


def _is_empty(column: CodedColumn) -> Mask:
    """Tell which cells name nobody; a name such as NA is one like any other."""
    return column.marked([not str(cell).strip() for cell in column.cells], missing=True)


def _without_repeats(given: _Given, cells: _RowCells, index: npt.NDArray[Any], source: str) -> _Given:
    """Return one label per annotator and candidate, which rows of judges repeat; two that differ are refused."""
    keys = cells.keys[given.rows] * len(given.names) + given.annotators
    known = distinct_cells(keys)
    if len(known) == len(keys):
        return given
    at = positions(keys, known)
    _, contradictions = label_by_cell(at, given.labels, len(known))
    if contradictions.size:
        second = int(contradictions[0])
        first = int(np.flatnonzero(keys == keys[second])[0])
        row, who = given.rows[second], given.names[given.annotators[second]]
        whose = cell_words(cells.prompts[row], cells.names[row])
        raise RowError(
            f"{source}, row {index[row]}: {quoted(who)} gives {whose} another label than in row "
            f"{index[given.rows[first]]}",
            hint="keep one label per annotator and candidate",
        )
    kept = np.unique(at, return_index=True)[1]
    kept.sort()
    return _Given(given.rows[kept], given.annotators[kept], given.labels[kept], given.names)


def _one_row_each(frame: Rows, taken: Mapping[str, str], cells: _RowCells, source: str) -> tuple[Ints, Rows]:
    """Return one row per candidate, judge and draw without annotators, and which; refuses one who stands twice."""
    units, annotators = _grouped(frame, taken, cells.keys), frame.columns[taken["annotator"]]
    nobody = _is_empty(annotators)
    who = np.where(nobody, -1, annotators.codes) + 1
    keys = np.unique(units, return_inverse=True)[1] * (len(annotators.cells) + 1) + who
    _, first, again = np.unique(keys, return_index=True, return_inverse=True)
    repeated = first[again] != np.arange(len(keys))
    if "judge_score" not in taken:
        repeated = repeated & ~nobody  # of a file of labels a row without label and annotator says nothing
    if repeated.any():
        second = int(repeated.argmax())
        whose = cell_words(cells.prompts[second], cells.names[second])
        raise RowError(
            f"{source}, row {frame.index[second]}: {quoted(annotators.cell(second))} labels "
            f"{whose} again (first in row {frame.index[first[again[second]]]})",
            hint="keep one row per annotator and candidate",
        )
    first_rows = np.unique(units, return_index=True)[1]
    first_rows.sort()
    rows_kept = frame.without(taken["annotator"]).take(first_rows)
    if len(first_rows) == len(frame):
        return first_rows, rows_kept
    common = {
        name: frame.columns[name].take(_stated_rows(frame.columns[name], name, units, taken, source), rows_kept.index)
        for name in _common(frame, taken)
    }
    return first_rows, rows_kept.assign(common)


def _grouped(frame: Rows, taken: Mapping[str, str], cells: Ints) -> Ints:
    """Return a number for each row that is the same where candidate, judge and draw are."""
    group = cells
    for role in ("judge", "draw"):
        if taken.get(role) in frame.columns:
            column = frame.columns[taken[role]]
            # Renumbered each time, so that no product grows beyond its type.
            group = np.unique(group, return_inverse=True)[1] * (len(column.cells) + 1) + column.codes + 1
    return group


def _common(frame: Rows, taken: Mapping[str, str]) -> Iterator[str]:
    """Yield the columns that say one thing of all the rows of a candidate, judge and draw."""
    own = {taken.get(role) for role in (*_KEYS, "oracle_label", "annotator")}
    yield from (column for column in taken.values() if column in frame.columns and column not in own)
    yield from draw_columns(frame.columns)


def _stated_rows(column: CodedColumn, name: str, units: Ints, taken: Mapping[str, str], source: str) -> Ints:
    """Return, group by group as they appear, the first row that says something in a column, or the first of all."""
    is_stated = ~numbers.is_blank(column)
    _, first, group = np.unique(units, return_index=True, return_inverse=True)
    stated = first.copy()
    places = np.flatnonzero(is_stated)[::-1]
    stated[group[places]] = places  # back to front, so that the first row of a group is the one that stays
    differs = is_stated & (column.codes[stated[group]] != column.codes)
    if differs.any():
        second = int(differs.argmax())
        at = int(stated[group[second]])
        role = next((role for role, played in taken.items() if played == name), name)
        raise RowError(
            f"{source}, row {column.index[second]}: the {role} is {quoted(column.cell(second))}, but "
            f"{quoted(column.cell(at))} in row {column.index[at]}, and only annotator and label may differ",
            hint="name the judge or the draw of each score, or write one score per candidate",
        )
    return np.asarray(stated[np.argsort(first)])
