"""Logged picks as the judge they are: one that scores what it kept above the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bonwise.auditing.judge_audit import JudgeAudit, audit_judge
from bonwise.auditing.partial import Picked
from bonwise.auditing.settings import Settings
from bonwise.auditing.stated_draw import stated_draw
from bonwise.auditing.verdict_sentences import ORACLE
from bonwise.data.draw_beside import refuse_other_draw
from bonwise.data.label_design import LabelDesign
from bonwise.data.labels import join_labels
from bonwise.data.panel import Panel, PromptLeftOut, Shape, lay_out
from bonwise.data.picks import Picks
from bonwise.data.reading_options import ReadingOptions
from bonwise.data.roles import OF_LABELS
from bonwise.data.table import ScoreTable
from bonwise.documents.picks_made import PicksMade
from bonwise.documents.record import given
from bonwise.errors import InputError, UsageError

__all__ = ["logged_judge", "logged_panels", "logged_table", "picks_made"]


def logged_judge(
    picks: Picks,
    settings: Settings,
    reading: ReadingOptions,
    design: str | Path | LabelDesign | None = None,
) -> tuple[JudgeAudit, ScoreTable]:
    """Audit the picks of one policy.

    Parameters
    ----------
    picks : Picks
    settings : Settings
    reading : ReadingOptions
        With the labels; what is said of columns is said of theirs.
    design : str, pathlib.Path or LabelDesign, optional
        How the labelled prompts were drawn.

    Returns
    -------
    judge, table
        What was found, and the table it was found on.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that asks for more than picks hold.
    bonwise.errors.InputError
        No labels, or none that fit.
    """
    if settings.exclude or settings.control:
        raise UsageError(
            f"{picks.source}: a logged pick was made among all its candidates, so none can be left out afterwards",
            hint="pick again without it, or audit the scores",
        )
    if settings.target != "best-of-n":
        raise UsageError(
            f"{picks.source}: logged picks hold no scores to compare systems by", hint="audit the scores"
        )
    table = logged_table([(picks.name, picks)], reading)
    (panel,) = logged_panels(table, [(picks.name, picks.reasons)], settings.shape)
    refuse_other_draw(design, reading.labels, table)
    stated = stated_draw(design, table)
    if stated is not None and stated.design is not None and stated.design.by_candidate:
        raise UsageError(
            f"{picks.source}: labels of single candidates were drawn, which audit the scores of a judge",
            hint="audit the table of scores that the design was drawn from",
        )
    judge = audit_judge(panel, None, settings, table=table, against=ORACLE, stated=stated, picked=_picked(picks))
    return judge, table


def _picked(picks: Picks) -> Picked:
    """Count the pools that lack a pick; one of a single candidate needs none."""
    pools = [pick for pick in picks.picks if len(pick.ids) > 1]
    return Picked(len(pools), sum(not pick.kept for pick in pools))


def logged_table(named: Sequence[tuple[str, Picks]], reading: ReadingOptions) -> ScoreTable:
    """Return the picks of one or several policies, by name, as one table with labels.

    Raises
    ------
    bonwise.errors.InputError
        No labels, or none that fit.
    """
    source = " and ".join(dict.fromkeys(picks.source for _, picks in named))
    if reading.labels is None:
        raise InputError(f"{source}: no oracle labels to compare the picks with", hint="add --labels FILE")
    strange = [role for role in reading.named_columns if role not in OF_LABELS]
    if strange:
        raise UsageError(
            f"{source}: logged picks have no column for {strange[0]}", hint="name the label file's alone"
        )
    rows = pd.concat([picks.rows(name) for name, picks in named], ignore_index=True)
    # Picks have no columns of scores, so a column that is named can only be the label file's.
    table = replace(ScoreTable.from_frame(rows, source=source), columns={})
    return join_labels(table, reading.labels, reading)


def logged_panels(
    table: ScoreTable, named: Sequence[tuple[str, Mapping[str, str]]], shape: Shape | None
) -> tuple[Panel, ...]:
    """Lay picks out, one panel a policy, each prompt that lacks a pick dropped for the reason that is known.

    Parameters
    ----------
    table : ScoreTable
        As `logged_table` gives it.
    named : sequence of str and mapping
        Policies in the order wanted, each with its reasons by prompt.
    shape : {"rectangular", "ragged"}, optional
    """
    panels = {panel.judge: panel for panel in lay_out(table, shape=shape)}
    return tuple(_explained(panels[name], reasons) for name, reasons in named)


def _explained(panel: Panel, reasons: Mapping[str, str]) -> Panel:
    dropped = tuple(PromptLeftOut(one.prompt_id, reasons.get(one.prompt_id, one.reason)) for one in panel.dropped)
    return replace(panel, dropped=dropped)


def picks_made(picks: Picks, behind: Collection[str] | None = None) -> PicksMade:
    """Return how picks were taken and what decided them, for the settings of a document.

    Parameters
    ----------
    picks : Picks
    behind : collection of str, optional
        Prompts that the figures rest on; what decided the others stands apart, as ``left_out``. All prompts where
        none are named.
    """
    mine = None if behind is None else frozenset(behind)
    counted: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for pick in picks.picks:
        (counted if mine is None or pick.prompt_id in mine else rest)[pick.decided_by or "not said"] += 1
    return PicksMade(
        by={key: value for key, value in picks.settings.items() if isinstance(value, str | int)},
        as_picked=picks.as_picked,
        decided_by=dict(counted.most_common()),
        **given(left_out=None if mine is None else dict(rest.most_common())),
    )
