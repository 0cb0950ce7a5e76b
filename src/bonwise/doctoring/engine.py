"""Look a file over before an audit: what it was taken for, what is odd about it, what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from bonwise.auditing.labelling import StatedDraw, label_state, stated_draw
from bonwise.auditing.suspected import FEWEST_POOLS, few_pools
from bonwise.doctoring.column_facts import column_facts
from bonwise.doctoring.near_duplicates import near_duplicates
from bonwise.doctoring.result import (
    AnnotatorCounts,
    ColumnFacts,
    DoctorDocument,
    JudgeScores,
    LabelCoverage,
    TableCounts,
)
from bonwise.errors import InputError
from bonwise.printable import quoted, shell_path, shell_word
from bonwise.report.numbers import number
from bonwise.results import given
from bonwise.stats.recovery import recovery
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.table.annotators import AnnotatorLabels
from bonwise.table.columns import LabelColumns, resolve_columns
from bonwise.table.opening import HoldsScores, ScoreSource, join_labels, open_scores
from bonwise.table.panel import MAY_LACK, USED_BY_CELLS, LabelsInPart, Panel, PromptLeftOut, easy_of_panel, lay_out
from bonwise.table.reading import RowSource, name_of
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.roles import ROLES
from bonwise.table.score_table import ScoreTable
from bonwise.table.sources import open_source, with_columns

__all__ = ["Suspicion", "columns_of", "looked_over", "suspicions"]

FEW = 4
"""Fewer distinct scores than this cannot rank candidates finely."""


class Suspicion(NamedTuple):
    """One finding."""

    sentence: str
    flags: tuple[str, ...] = ()


def suspicions(table: ScoreTable, panels: Sequence[Panel]) -> tuple[Suspicion, ...]:
    """Collect what looks wrong.

    Parameters
    ----------
    table : ScoreTable
    panels : sequence of Panel
        As `lay_out` gives them.
    """
    fullest = max(panels, key=lambda panel: len(panel.sizes))
    return (
        *_names(table),
        *(one for panel in panels for one in _scores(panel)),
        *_scales(table),
        *_suspicions_of_labels(table, fullest),
        *_easy(table, fullest),
    )


def _names(table: ScoreTable) -> Iterator[Suspicion]:
    for what, names in (("prompt ids", table.prompts), ("candidate names", table.candidates)):
        folded = names.astype(str).str.strip().str.lower()
        if folded.has_duplicates:
            first = folded[folded.duplicated(keep=False)][0]
            alike = [repr(str(name)) for name in names[folded == first][:2]]
            yield Suspicion(f"Two {what} differ only in case or blanks: {' and '.join(alike)}.")


def _scores(panel: Panel) -> Iterator[Suspicion]:
    if not len(panel.sizes):
        yield Suspicion(f"{panel.judge!r} scored no prompt completely.")
        return
    distinct = np.unique(panel.scores)
    if len(distinct) == 1:
        yield Suspicion(
            f"{panel.judge!r} is constant: every score is {distinct[0]:g}, so its picks are random picks."
        )
    elif len(distinct) < FEW:
        yield Suspicion(f"{panel.judge!r} uses {len(distinct)} distinct scores, so most candidates will tie.")


def _scales(table: ScoreTable) -> Iterator[Suspicion]:
    for judge, scores, labels, row in table.scale_mismatches():
        # Of these an audit gives every figure, those of labels in their own unit; the reverse it refuses.
        kept = np.nanmax(labels) > 1
        remedy = "to have figures on [0, 1], declare both scales" if kept else "declare both scales"
        scale = f"{judge}={_scale(scores)}" if len(table.judges) > 1 else _scale(scores)
        yield Suspicion(
            f"Scores of {judge!r} run from {np.nanmin(scores):g} to {np.nanmax(scores):g}, labels from "
            f"{np.nanmin(labels):g} to {np.nanmax(labels):g} (see row {row}): {remedy}.",
            ("--judge-scale " + shell_word(scale), f"--label-scale {_scale(labels)}"),
        )


def _scale(values: np.ndarray) -> str:
    highest = np.nanmax(values)
    top = next(top for top in (1, 5, 7, 10, 100) if highest <= top)
    return f"{1 if top in (5, 7) and np.nanmin(values) >= 1 else 0}:{top:g}"


def _suspicions_of_labels(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    found = panel.labelled_cells
    lacking = found < panel.sizes
    unstated = "propensity" not in table.frame.columns
    if found.any() and lacking.mean() > MAY_LACK:
        seen = f"{int(lacking.sum()):,} of {len(lacking):,} prompts lack labels; an audit will describe the others"
        state = "No verdict is useful until --design states how these were chosen." if unstated else ""
        part = LabelsInPart.of_panel(panel)
        in_part = f"{part.unused}: {USED_BY_CELLS}" if part.prompts and unstated else ""
        yield Suspicion(" ".join(filter(None, [f"{seen}.", state, in_part])))
    complete = int((~lacking).sum())
    if 0 < complete < FEWEST_POOLS:
        yield Suspicion(few_pools(complete).sentence)
    known = panel.labels[~np.isnan(panel.labels)]
    if known.size and known.min() == known.max():
        yield Suspicion(f"Every label is {known[0]:g}: there is nothing to recover.")


def _easy(table: ScoreTable, panel: Panel) -> Iterator[Suspicion]:
    """Look for candidates that are worst almost everywhere: they flatter every metric."""
    complete = panel.keep(panel.labelled_cells == panel.sizes)
    for easy in easy_of_panel(panel):
        what = "label" if easy.by_labels else "score"
        seen = f"Candidate {quoted(easy.name)} has the lowest {what} in {number(easy.lowest, 'share')} of prompts"
        inflated = _with_and_without(table, easy.name, complete) if easy.by_labels else ""
        word = shell_word(easy.name)
        yield Suspicion(
            f"{seen}: such a control inflates recovery and every correlation{inflated}. No verdict is useful until "
            f"--control {word} leaves it out or --keep-easy {word} counts it like any other candidate.",
            (f"--control {word}",),
        )


def _with_and_without(table: ScoreTable, name: str, with_it: Panel) -> str:
    try:
        without = next(panel for panel in lay_out(table, exclude=[name]) if panel.judge == with_it.judge)
    except InputError:
        return ""
    without = without.keep(without.labelled_cells == without.sizes)
    if not len(without.sizes):
        return ""
    found = [_recovery(panel) for panel in (without, with_it)]
    return f" (recovery {number(found[0], 'share')} without it, {number(found[1], 'share')} with it)"


def _recovery(panel: Panel) -> float:
    sums = prompt_sums(panel.scores, panel.labels, panel.sizes)
    return float(recovery(Sums(*sums.sum(axis=1))))


_UNNAMED, _UNNAMED_LABELS = "SCORES.csv", "LABELS.csv"
"""Stand in a command for tables that were no file."""


def looked_over(source: ScoreSource, options: ReadingOptions) -> DoctorDocument:
    """Look a table of scores over before an audit: what each column was taken for, what is odd, what to type next."""
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
        labels=_label_coverage(table, max(panels, key=lambda panel: len(panel.sizes))),
        suspicious=[*(one.sentence for one in found), *_near_duplicates(table), *_unread_labels(table)],
        next_command=_next_command(table, name_of(source, _UNNAMED), options, found),
        **given(column_facts=None if opened is None else list(column_facts(opened.frame, columns, strata=True))),
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
            taken |= resolve_columns(frame, taken, source=name, required=(), roles=(role,))
    return list(column_facts(frame, taken, strata=False))


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


def _label_coverage(table: ScoreTable, panel: Panel) -> LabelCoverage:
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
