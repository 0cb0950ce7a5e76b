"""From a file, a frame or a table to the validated table, labels of a second file joined on prompt AND candidate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.printable import listed, quoted
from bonwise.table import (
    canonical,
    cells,
    columns,
    facts,
    identifiers,
    label_words,
    numbers,
    row_labels,
    scales,
    sources,
)
from bonwise.table.annotators import AnnotatorLabels, with_one_label_each
from bonwise.table.reading import RowSource
from bonwise.table.reading_options import AS_IT_STANDS, ReadingOptions
from bonwise.table.retrieval import QRELS, Unretrieved
from bonwise.table.roles import COLUMN_FLAGS, LABEL_ROLES, OF_LABELS
from bonwise.table.score_table import LabelRows, ScoreTable
from bonwise.table.store import Categories, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class _Labels:
    """The rows of a label file; `keys` are the table's cell keys, -1 where a row matches no cell."""

    source: str
    rows: np.typing.NDArray[Any]
    prompts: Categories
    names: Categories
    values: np.typing.NDArray[np.float64]
    keys: np.typing.NDArray[np.int64]
    propensity: np.typing.NDArray[np.float64] | None = None
    clusters: Categories | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""
    annotators: AnnotatorLabels | None = None
    column: str = ""
    is_qrels: bool = False

    def keep(self, rows: np.typing.NDArray[np.bool_]) -> _Labels:
        """Return some of the rows only."""
        chances = None if self.propensity is None else self.propensity[rows]
        clusters = None if self.clusters is None else self.clusters[rows]
        kept = (self.rows[rows], self.prompts[rows], self.names[rows], self.values[rows], self.keys[rows])
        return _Labels(self.source, *kept, chances, clusters)

    def pair(self, at: int) -> str:
        return cells.cell_words(self.prompts[at], self.names[at])


def join_labels(table: ScoreTable, labels: RowSource, reading: ReadingOptions = AS_IT_STANDS) -> ScoreTable:
    """Return the table with the labels of a second file.

    Labels of other prompts are left out and counted; those of the table's prompts must find their candidate. Of
    `reading` the columns and the scale of labels count. Columns ``propensity`` and ``cluster`` come along. An
    InputError: there are labels already; a named column is in neither file; no row matches; a candidate is labelled
    twice without an annotator; a propensity is none, or is in both; a prompt has no cluster, or two.
    """
    if table.has_labels:
        raise InputError(
            f"{table.source} has oracle labels of its own, and a second set was given",
            hint="drop its label column, or leave the second file out",
        )
    read = _read_labels(table, labels, reading)
    _refuse_strangers(read)
    strange = ~read.prompts.categories.isin(table.prompts)[read.prompts.codes]
    # Labels of documents that no run holds count in nDCG and recall.
    found = read.keep(read.keys >= 0 if read.is_qrels else ~strange)
    if not read.is_qrels:
        _refuse_unmatched(found, table.source)
    _refuse_repeated(replace(read, keys=_own_keys(read)) if read.is_qrels else found)
    joined = table.rows.assign({"oracle_label": _by_cell(found, found.values, table)})
    if found.propensity is not None:
        joined = joined.assign({"propensity": _propensity(found, table)})
    if found.clusters is not None:
        joined = joined.assign({"cluster": _clusters(found, table)})
    made = replace(
        table,
        rows=joined,
        columns=MappingProxyType({**table.columns, **read.also}),
        label_scale=reading.label_scale,
        label_words=read.words,
        readings={**table.readings, **({"oracle_label": read.reading} if read.reading else {})},
        labels_left_out=_left_out(read, strange),
        annotators=read.annotators,
        label_rows=LabelRows(found.source, found.keys, found.rows),
        unretrieved=_unretrieved(read) if read.is_qrels else None,
    )
    return made.with_directions(reading, read.column)


def _own_keys(labels: _Labels) -> np.typing.NDArray[np.int64]:
    keys: np.typing.NDArray[np.int64] = labels.prompts.codes.astype(np.int64) * len(labels.names.categories)
    return np.asarray(keys + labels.names.codes)


def _unretrieved(labels: _Labels) -> Unretrieved:
    others = labels.keys < 0
    return Unretrieved(labels.prompts[others].to_numpy(), labels.names[others].to_numpy(), labels.values[others])


def _by_cell(
    labels: _Labels, values: np.typing.NDArray[np.float64], table: ScoreTable
) -> np.typing.NDArray[np.float64]:
    """Return what the label file states of the candidate of each row, NaN where nothing."""
    order = np.argsort(labels.keys, kind="stable")
    at = cells.positions(table.cell_keys(), labels.keys[order])
    return np.append(values[order], np.nan)[at]


def _propensity(labels: _Labels, table: ScoreTable) -> np.typing.NDArray[np.float64]:
    """Return the label file's propensity of each row, NaN for none; one on all rows of a prompt is the prompt's."""
    if "propensity" in table.rows.columns or labels.propensity is None:
        raise ColumnError(
            f"{labels.source} and {table.source} both state propensities", hint="drop the column from one of them"
        )
    least, most = np.full((2, len(table.prompts)), np.nan)
    of_table = table.prompts.get_indexer(labels.prompts.categories)[labels.prompts.codes]
    np.fmin.at(least, of_table, labels.propensity)
    np.fmax.at(most, of_table, labels.propensity)
    if (most > least).any():
        return _by_cell(labels, labels.propensity, table)
    return np.asarray(least[table.rows.columns["prompt_id"].codes])


def _clusters(labels: _Labels, table: ScoreTable) -> Categories:
    """Return the cluster of each row as the label file states it for the row's prompt."""
    if labels.clusters is None or "cluster" in table.rows.columns:
        raise ColumnError(
            f"{labels.source} and {table.source} both name clusters", hint="drop the column from one of them"
        )
    of_prompt = np.full(len(table.prompts), -1)
    of_prompt[table.prompts.get_indexer(labels.prompts.categories)[labels.prompts.codes]] = labels.clusters.codes
    lacking = np.flatnonzero(of_prompt < 0)
    if lacking.size:
        raise ColumnError(
            f"{labels.source}: {lacking.size:,} prompts of {table.source} have no cluster, such as "
            f"{quoted(table.prompts[lacking[0]])}",
            hint="put the column of clusters into the scores, for every prompt",
        )
    return Categories(of_prompt[table.rows.columns["prompt_id"].codes], labels.clusters.categories)


def _left_out(labels: _Labels, strange: np.typing.NDArray[np.bool_]) -> dict[str, int]:
    if not strange.any():
        return {}
    return {"prompts": len(np.unique(labels.prompts.codes[strange])), "rows": int(strange.sum())}


def _read_labels(table: ScoreTable, labels: RowSource, reading: ReadingOptions) -> _Labels:
    opened = sources.open_labels(labels, reading.named_columns.get("candidate"))
    raw, source = opened.rows, opened.name
    wanted = _wanted(raw, table, reading.named_columns, source)
    roles = (*LABEL_ROLES, "annotator", "propensity", "cluster")
    taken = columns.resolve_columns(
        raw, wanted, source=source, required=LABEL_ROLES, roles=roles, worth=reading.word_values
    )
    several = with_one_label_each(raw, taken, reading, source)
    if several is not None:
        raw, taken = several.rows, several.taken
    prompts = identifiers.as_categories(raw.columns[taken["prompt_id"]], role="prompt_id", source=source)
    names = identifiers.as_categories(raw.columns[taken["candidate"]], role="candidate", source=source)
    labelled = label_words.read_labels(raw.columns[taken["oracle_label"]], source=source, worth=reading.word_values)
    values = scales.to_unit(labelled.values, reading.label_scale, rows=raw.index, role="oracle_label", source=source)
    chances = None
    if "propensity" in taken:
        chances = numbers.parse_numbers(raw.columns[taken["propensity"]], role="propensity", source=source)
        numbers.check_propensities(chances, raw.index, source)
    clusters = None
    if "cluster" in taken:
        clusters = identifiers.as_categories(raw.columns[taken["cluster"]], role="cluster", source=source)
        canonical.refuse_two_clusters(prompts, clusters, raw.index, source)
    keys = _keys_in(table, prompts, names)
    also = {"cluster": taken["cluster"]} if clusters is not None else {}
    words, how = (labelled.words, labelled.reading) if several is None else (several.words, several.reading)
    elsewhere = f"labels of {source}" if isinstance(labels, str | Path) and str(labels) != source else ""
    how = "; ".join(filter(None, (how, elsewhere, opened.said if opened.imported else "")))
    annotators = None if several is None else several.annotators
    fields = (source, raw.index, prompts, names, values, keys, chances, clusters, words, also, how, annotators)
    return _Labels(*fields, column=taken["oracle_label"], is_qrels=raw.note == QRELS)


def _wanted(raw: Rows, table: ScoreTable, columns: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the named columns that are in the label file; one set of names serves both files."""
    for role, column in columns.items():
        if _is_there(column, raw) or role not in (*OF_LABELS, "cluster"):
            continue
        # The labels come from this file alone; the ids may go by another name in the table.
        if role in ("oracle_label", "annotator") or table.columns.get(role) != column:
            raise ColumnError(
                f"{source}: no column named {quoted(column)} for {role}",
                hint=f"{COLUMN_FLAGS[role]} names one of {listed(raw.columns)}",
            )
    return {role: column for role, column in columns.items() if _is_there(column, raw)}


def _is_there(column: str, raw: Rows) -> bool:
    return column in raw.columns or columns.LabelColumns.named(column, raw.columns) is not None


def _keys_in(table: ScoreTable, prompts: Categories, names: Categories) -> np.typing.NDArray[np.int64]:
    """Key each label row as the table keys its cells; -1 where either name is unknown."""
    prompt = table.prompts.get_indexer(prompts.categories)[prompts.codes].astype(np.int64)
    name = table.candidates.get_indexer(names.categories)[names.codes].astype(np.int64)
    keys = np.where((prompt < 0) | (name < 0), -1, prompt * len(table.candidates) + name)
    return np.where(np.isin(keys, table.cell_keys()), keys, -1)


def _refuse_strangers(labels: _Labels) -> None:
    if (labels.keys < 0).all():
        raise RowError(
            f"{labels.source}: none of its {len(labels.keys)} rows matches a scored candidate "
            f"(row {labels.rows[0]}: {labels.pair(0)})",
            hint="check --prompt-col and --candidate-col: both files must name prompts and candidates alike",
        )


def _refuse_unmatched(labels: _Labels, scored: str) -> None:
    lost = np.flatnonzero(labels.keys < 0)
    if not lost.size:
        return
    first = int(lost[0])
    rows = ", ".join(str(row) for row in labels.rows[lost[:5]]) + ("" if lost.size <= 5 else ", ...")
    raise RowError(
        f"{labels.source}: {lost.size} label rows match no scored candidate of {scored} (rows {rows}; "
        f"the first is {labels.pair(first)})",
        hint="remove these rows, or score the candidates they label",
    )


def _refuse_repeated(labels: _Labels) -> None:
    _, first, of_key = np.unique(labels.keys, return_index=True, return_inverse=True)
    again = first[of_key] != np.arange(len(labels.keys))
    if again.any():
        at = int(again.argmax())
        raise RowError(
            f"{labels.source}, row {labels.rows[at]}: {labels.pair(at)} is labelled again "
            f"(first in row {labels.rows[first[of_key[at]]]})",
            hint="keep one label per candidate, or name the annotator of each in a column annotator",
        )


@runtime_checkable
class HoldsScores(Protocol):
    """Something whose scores are a table, such as pools that were judged."""

    def to_table(self) -> ScoreTable:
        """Return the table."""
        ...


ScoreSource = RowSource | ScoreTable | HoldsScores
"""Scores: the path of a file, a frame, a table, rows as mappings, or an object with `to_table`."""


def open_scores(source: ScoreSource, reading: ReadingOptions = AS_IT_STANDS) -> ScoreTable:
    """Return a table of scores with the labels it has itself; a file of labels is left alone."""
    own = reading.of_scores()
    if isinstance(source, HoldsScores):
        source = source.to_table()
    if isinstance(source, ScoreTable):
        values = own.missing or own.second_order or own.depth or (own.lower_is_better and own.labels is None)
        if own.columns or own.judge_scale or own.label_scale or values:
            raise UsageError("how a ScoreTable is read is fixed", hint="give it to ScoreTable.read")
        return source if own.unpicked == source.unpicked else replace(source, unpicked=own.unpicked)
    return ScoreTable.opened(source, own)


def open_labelled(source: ScoreSource, reading: ReadingOptions = AS_IT_STANDS) -> tuple[ScoreTable, ReadingOptions]:
    """Return a table of scores with the labels of a second file, if any, and how it is read with these."""
    if not reading.join_col and not reading.by_line:
        table = open_scores(source, reading)
        return (table if reading.labels is None else join_labels(table, reading.labels, reading)), reading
    if isinstance(source, ScoreTable | HoldsScores):
        raise UsageError("labels join the rows of a file by columns or by line", hint="give the file of the scores")
    opened, reading = row_labels.with_row_labels(source, reading)
    return ScoreTable.validated(opened, reading), reading


def with_unlabelled(table: ScoreTable, reading: ReadingOptions) -> ScoreTable:
    """Return the table with the stated label where a candidate has none and another one of its prompt has one."""
    value, scale = reading.unlabelled_is, table.label_scale
    if value is None:
        return table
    if "propensity" in table.rows.columns:
        raise UsageError(
            f"{table.source}: propensities say that labels were drawn, and --unlabelled-is what no label means",
            hint="drop the column of propensities, or leave --unlabelled-is out",
        )
    if scale is not None and not scale.low <= value <= scale.high:
        raise UsageError(
            f"--unlabelled-is {value:g} is off the scale of the labels, {scale}", hint="such as its low end"
        )
    labels = table.rows.columns["oracle_label"]
    # Any row of a candidate may hold its label, and any candidate's shows that the prompt was judged.
    keys, at = np.unique(table.cell_keys(), return_inverse=True)
    prompts, has_one = keys // len(table.candidates), np.isin(keys, keys[at[~np.isnan(labels)]])
    judged = np.isin(prompts, prompts[has_one])
    lacking = judged & ~has_one
    counts = facts.UnlabelledCandidates(
        value=value, candidates=int(lacking.sum()), of=int(judged.sum()), prompts=len(np.unique(prompts[~judged]))
    )
    worth = value if scale is None else (value - scale.low) / (scale.high - scale.low)
    rows = table.rows.assign({"oracle_label": np.where(lacking[at], worth, labels)})
    return replace(table, rows=rows, unlabelled=counts)


def refuse_clusters(table: ScoreTable, what: str) -> None:
    """Refuse a table that names clusters of prompts where `what`, such as ``a plan``, takes prompts one by one."""
    if table.clusters is not None:
        column = quoted(table.columns["cluster"])
        raise UsageError(
            f"{table.source}: {column} puts prompts into clusters, and {what} takes prompts one by one",
            hint="leave the column out, or give it another name; bonwise audit uses clusters",
        )


def open_table(source: ScoreSource, reading: ReadingOptions = AS_IT_STANDS) -> ScoreTable:
    """Return a table of scores with oracle labels; one without any is refused."""
    if reading.labels is not None and reading.oracle is not None:
        raise UsageError("two references: a label file and a judge", hint="give --labels or --oracle, not both")
    if reading.unlabelled_is is not None and reading.oracle is not None:
        raise UsageError(
            "--unlabelled-is is of labels, and --oracle takes the scores of a judge for them",
            hint="give --unlabelled-is or --oracle, not both",
        )
    table, reading = open_labelled(source, reading)
    if reading.oracle is not None:
        kind, _, name = reading.oracle.partition(":")
        if kind != "judge" or not name:
            raise UsageError(f"not a reference: {reading.oracle!r}", hint="write judge:NAME")
        table = table.with_reference(name)
    table = with_unlabelled(table, reading)
    if not table.has_labels:
        why = f" ({table.unread_labels})" if table.unread_labels else ""
        raise InputError(
            f"{table.source}: no oracle labels to compare the judge with{why}",
            hint="add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    return table
