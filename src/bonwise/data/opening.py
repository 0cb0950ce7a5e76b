"""From what a user names, a file, a frame or a table, to the validated table with its labels."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bonwise.data.labels import join_labels
from bonwise.data.reading_options import AS_IT_STANDS, ReadingOptions
from bonwise.data.rows import RowSource
from bonwise.data.table import ScoreTable
from bonwise.data.wording import quoted
from bonwise.errors import InputError, UsageError

__all__ = ["HoldsScores", "ScoreSource", "open_scores", "open_table", "refuse_clusters"]


@runtime_checkable
class HoldsScores(Protocol):
    """Something whose scores are a table, such as pools that were judged."""

    def to_table(self) -> ScoreTable:
        """Return the table."""
        ...


ScoreSource = RowSource | ScoreTable | HoldsScores
"""Scores: the path of a file, a frame, a table, rows as mappings, or an object with `to_table`."""


def open_scores(source: ScoreSource, reading: ReadingOptions = AS_IT_STANDS) -> ScoreTable:
    """Return a table of scores with the labels it has itself; a file of labels is left alone.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    reading : ReadingOptions

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend.
    """
    own = reading.of_scores()
    if isinstance(source, HoldsScores):
        source = source.to_table()
    if isinstance(source, ScoreTable):
        if own.columns or own.judge_scale or own.label_scale:
            raise UsageError("columns and scales of a ScoreTable are fixed", hint="give them to ScoreTable.read")
        return source
    return ScoreTable.opened(source, own)


def refuse_clusters(table: ScoreTable, what: str) -> None:
    """Refuse a table that names clusters of prompts where prompts are taken one by one.

    Parameters
    ----------
    table : ScoreTable
    what : str
        What takes them one by one, such as ``a plan``.

    Raises
    ------
    bonwise.errors.UsageError
    """
    if table.clusters is not None:
        column = quoted(table.columns["cluster"])
        raise UsageError(
            f"{table.source}: {column} puts prompts into clusters, and {what} takes prompts one by one",
            hint="leave the column out, or give it another name; bonwise audit uses clusters",
        )


def open_table(source: ScoreSource, reading: ReadingOptions = AS_IT_STANDS) -> ScoreTable:
    """Return a table of scores with oracle labels.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
    reading : ReadingOptions

    Raises
    ------
    bonwise.errors.InputError
        One line: what, which row or column, how to mend; also where there are no labels at all.
    """
    if reading.labels is not None and reading.oracle is not None:
        raise UsageError("two references: a label file and a judge", hint="give --labels or --oracle, not both")
    table = open_scores(source, reading)
    if reading.labels is not None:
        table = join_labels(table, reading.labels, reading)
    if reading.oracle is not None:
        kind, _, name = reading.oracle.partition(":")
        if kind != "judge" or not name:
            raise UsageError(f"not a reference: {reading.oracle!r}", hint="write judge:NAME")
        table = table.with_reference(name)
    if not table.has_labels:
        why = f" ({table.unread_labels})" if table.unread_labels else ""
        raise InputError(
            f"{table.source}: no oracle labels to compare the judge with{why}",
            hint="add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    return table
