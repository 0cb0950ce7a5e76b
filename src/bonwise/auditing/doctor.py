"""Look a file over before an audit: what it was taken for, what is odd about it, what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Unpack

import numpy as np
import pandas as pd

from bonwise.auditing.labelling import label_state
from bonwise.auditing.stated_draw import StatedDraw, stated_draw
from bonwise.auditing.suspicions import Suspicion, suspicions
from bonwise.data.annotator_columns import LabelColumns
from bonwise.data.annotators import AnnotatorLabels
from bonwise.data.column_facts import column_contents
from bonwise.data.columns import resolve_columns
from bonwise.data.labels import join_labels
from bonwise.data.near_duplicates import near_duplicates
from bonwise.data.opening import HoldsScores, ScoreSource, open_scores
from bonwise.data.panel import Panel, PromptLeftOut, lay_out
from bonwise.data.reading_options import LabelledKeywords, ReadingOptions, opens_a_table
from bonwise.data.roles import ROLES
from bonwise.data.rows import RowSource, name_of
from bonwise.data.sources import open_source, with_columns
from bonwise.data.table import ScoreTable
from bonwise.data.wording import quoted
from bonwise.documents.doctor import (
    AnnotatorCounts,
    ColumnFacts,
    DoctorDocument,
    JudgeScores,
    LabelCoverage,
    TableCounts,
)
from bonwise.documents.record import given
from bonwise.errors import InputError
from bonwise.printable import shell_path, shell_word
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["columns_of", "doctor"]

_UNNAMED, _UNNAMED_LABELS = "SCORES.csv", "LABELS.csv"
"""Stand in a command for tables that were no file."""


@opens_a_table
def doctor(source: ScoreSource, **reading: Unpack[LabelledKeywords]) -> DoctorDocument:
    """Look a table of scores over before an audit: what each column was taken for, what is odd, what to type next.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
        What `audit` reads.
    **reading
        How its columns are read, see `bonwise.data.reading_options.ReadingOptions`.

    Returns
    -------
    DoctorDocument
        `str`, `to_html` and `to_markdown` show it.

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read as a table of scores at all.

    Examples
    --------
    >>> rows = [{"prompt_id": f"p{at}", "candidate": name, "judge_score": 1} for at in range(3) for name in "ab"]
    >>> found = doctor(rows)
    >>> found.counts.prompts, found.suspicious
    (3, ["'judge' is constant: every score is 1, so its picks are random picks."])
    """
    options = ReadingOptions.of(doctor, reading)
    opened = None
    if isinstance(source, ScoreTable | HoldsScores):
        table = open_scores(source, options)
    else:
        own = options.of_scores()
        opened, _ = with_columns(open_source(source, own.named_columns), own)
        table = ScoreTable.validated(opened, own)
    columns = _columns_of(table)
    if options.labels is not None:
        table = join_labels(table, options.labels, options)
    panels = lay_out(table)
    found, stated = suspicions(table, panels), stated_draw(None, table)
    # In the order in which they are found, each once: judges of one table lack the same prompts.
    dropped = dict.fromkeys((one.prompt_id, one.reason) for panel in panels for one in _dropped(panel, stated))
    return DoctorDocument(
        source=table.source,
        columns={role: str(column) for role, column in table.columns.items()},
        strata=[str(column) for column in table.strata],
        counts=TableCounts(
            rows=len(table.frame),
            prompts=len(table.prompts),
            candidates=len(table.candidates),
            judges=len(table.judges),
        ),
        shape=panels[0].shape,
        dropped=dict(Counter(reason for _, reason in dropped)),
        judges=[_judge(panel) for panel in panels],
        labels=_labels(table, max(panels, key=lambda panel: len(panel.sizes))),
        suspicious=[*(one.sentence for one in found), *_near_duplicates(table), *_unread_labels(table)],
        next_command=_next_command(table, name_of(source, _UNNAMED), options, found),
        **given(column_facts=None if opened is None else _facts(opened.frame, columns, strata=True)),
        **given(readings=dict(table.readings) or None),
    )


def columns_of(source: RowSource, **columns: str) -> list[ColumnFacts]:
    """Describe the columns of a file that may be no table of scores.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or rows as mappings
    **columns
        Role to column, as the user named them.

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read at all.

    Examples
    --------
    >>> [(one.name, one.taken) for one in columns_of([{"Item ID": "p", "stars": "4 stars"}])]
    [('Item ID', 'prompt_id'), ('stars', '')]
    """
    opened = open_source(source, columns)
    frame, name = opened.frame, opened.name
    taken: dict[str, str] = {role: column for role, column in columns.items() if column in frame.columns}
    for role in ROLES:
        # Alone each role is found that can be; which of several columns plays it is then open.
        with suppress(InputError):
            found = resolve_columns(frame, taken, source=name, required=(), roles=(role,))
            taken |= found
    return _facts(frame, taken, strata=False)


def _facts(frame: pd.DataFrame, taken: Mapping[str, str], *, strata: bool) -> list[ColumnFacts]:
    return [
        ColumnFacts(name=one.name, kind=one.kind, missing=one.missing, examples=list(one.examples), taken=one.taken)
        for one in column_contents(frame, taken, strata=strata)
    ]


def _columns_of(table: ScoreTable) -> dict[str, str]:
    """Return the columns by role, several columns of labels as such."""
    columns = dict(table.columns)
    if table.annotators is not None and not table.annotators.in_rows:
        columns["oracle_label"] = LabelColumns.of(table.annotators.columns)
    return columns


def _unread_labels(table: ScoreTable) -> Iterator[str]:
    """Yield why a column that has a name of labels holds none."""
    if table.unread_labels and not table.has_labels:
        yield f"No column is taken for the labels: {table.unread_labels}."


def _near_duplicates(table: ScoreTable) -> Iterator[str]:
    """Yield how many prompts are wordings of one another, where no column says so."""
    if table.clusters is None and (groups := near_duplicates(table)):
        prompts, (one, other, *_) = sum(map(len, groups)), groups[0]
        said = "1 group" if len(groups) == 1 else f"{len(groups):,} groups"
        yield (
            f"{prompts:,} prompts have nearly the same text as another one, in {said}, such as {quoted(one)} and "
            f"{quoted(other)}: intervals take them as independent. A column 'cluster' (or --cluster-col NAME) that "
            "is equal where prompts belong together makes each group one unit."
        )


def _dropped(panel: Panel, stated: StatedDraw | None) -> tuple[PromptLeftOut, ...]:
    """Return what an audit would leave out, for lack of scores or, of a few prompts, of labels."""
    audited = bool(len(panel.sizes)) and bool((panel.labelled_cells == panel.sizes).any())
    return label_state(panel, stated).panel.dropped if audited else panel.dropped


def _judge(panel: Panel) -> JudgeScores:
    if not len(panel.sizes):
        return JudgeScores(judge=panel.judge, prompts=0)
    sums = Sums(*prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes))
    return JudgeScores(
        judge=panel.judge,
        prompts=len(panel.sizes),
        lowest=float(panel.scores.min()),
        highest=float(panel.scores.max()),
        distinct=len(np.unique(panel.scores)),
        tie_rate=float(1 - sums.apart_S.sum() / sums.pairs.sum()),
        top1_tie_rate=float(sums.tied_top.mean()),
    )


def _labels(table: ScoreTable, panel: Panel) -> LabelCoverage:
    values = table.frame["oracle_label"].dropna()
    found, some = panel.labelled_cells, bool(len(values))
    return LabelCoverage(
        labelled_rows=len(values),
        labelled_prompts=int((found == panel.sizes).sum()),
        partly_labelled_prompts=int(((found > 0) & (found < panel.sizes)).sum()),
        unlabelled_prompts=int((found == 0).sum()),
        **given(
            lowest=float(values.min()) if some else None,
            highest=float(values.max()) if some else None,
            distinct=int(values.nunique()) if some else None,
            words=dict(table.label_words) or None,
            annotators=_annotators(table.annotators),
        ),
    )


def _annotators(found: AnnotatorLabels | None) -> AnnotatorCounts | None:
    if found is None:
        return None
    return AnnotatorCounts(
        layout="rows" if found.in_rows else "columns",
        columns=list(map(str, found.columns)),
        annotators=len(found.names),
        labels=len(found.values),
        several_labels=found.several,
        kind=found.kind,
        rule=found.rule,
        split=found.split,
    )


def _next_command(table: ScoreTable, path: str, reading: ReadingOptions, found: Sequence[Suspicion]) -> str:
    flags = reading.as_flags()
    if reading.labels is not None:
        flags.append("--labels " + shell_path(name_of(reading.labels, _UNNAMED_LABELS)))
    elif not table.has_labels:
        several = len(table.judges) > 1
        flags.append(
            "--oracle " + shell_word(f"judge:{table.judges[0]}") if several else f"--labels {_UNNAMED_LABELS}"
        )
    suggested = (flag for one in found for flag in one.flags)
    return " ".join(["bonwise audit", shell_path(path), *dict.fromkeys([*flags, *suggested])])
