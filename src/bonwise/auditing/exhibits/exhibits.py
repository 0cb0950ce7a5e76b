"""What the page of an audit shows beyond its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from bonwise.auditing.candidate_effects.attributes import candidate_lengths
from bonwise.auditing.exhibits.differences import differences
from bonwise.auditing.exhibits.prompts import prompt_rows
from bonwise.auditing.exhibits.spread import spread
from bonwise.auditing.exhibits.strata import strata
from bonwise.auditing.gates import more_prompts
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.data.panel import Panel
from bonwise.data.table import ScoreTable
from bonwise.data.words import Words
from bonwise.documents.exhibits import Chance, Differences, ExhibitsDocument, JudgeExhibits, LabelsToDecide
from bonwise.documents.record import given
from bonwise.documents.what_if import WhatIf
from bonwise.stats.sums import Floats
from bonwise.stats.top_of_scores import at_top

__all__ = ["exhibits"]


def exhibits(
    judges: Sequence[JudgeAudit],
    table: ScoreTable | None,
    words: Words | None,
    *,
    seed: int,
    confidence: float = 0.95,
    gate: tuple[str, float] | None = None,
    what_if: WhatIf | None = None,
) -> ExhibitsDocument:
    """Return what is drawn of each judge, and the prompts to look into.

    What needs labels rests on the completely labelled prompts; where single candidates were drawn for labelling there
    are none to rest on.

    Parameters
    ----------
    judges : sequence of JudgeAudit
    table : ScoreTable or None
        That was audited, for its strata.
    words : Words or None
        What is in the prompts and candidates.
    seed : int
        Of the points of scatters.
    confidence : float
        Of the intervals by stratum.
    gate : tuple of str and float, optional
        The metric that decides, and its gate.
    what_if : WhatIf, optional
        What would change the verdict.
    """
    shown = {
        judge.judge: _shown(judge, table, words, seed=seed, confidence=confidence, gate=gate) for judge in judges
    }
    return ExhibitsDocument(judges=shown, prompts=prompt_rows(judges, words), **given(what_if=what_if))


def _shown(
    judge: JudgeAudit,
    table: ScoreTable | None,
    words: Words | None,
    *,
    seed: int,
    confidence: float,
    gate: tuple[str, float] | None,
) -> JudgeExhibits:
    whole, method = judge.labelling.panel, judge.labelling.method
    labelled = _labelled(judge)
    kinds, left_out = (
        ([], [])
        if table is None
        else strata(
            table,
            labelled,
            confidence=confidence,
            method="complete" if method == "complete" else "labelled_only",
            logged=judge.logged,
            further={} if judge.logged else _mean_lengths(table, labelled, words),
        )
    )
    return JudgeExhibits(
        chance=_chance(labelled, whole if method in ("aipw", "cells") else labelled),
        differences=None if judge.logged else _differences(whole, labelled),
        spread=None if judge.logged else spread(labelled.scores, labelled.labels, labelled.sizes, seed=seed),
        strata=kinds,
        strata_left_out=left_out,
        **given(to_decide=None if gate is None else _to_decide(judge, *gate)),
    )


def _to_decide(judge: JudgeAudit, metric: str, gate: float) -> LabelsToDecide | None:
    """Return how many more labels take the interval of a metric off its gate; None where it is off, or cannot be."""
    found = judge.metrics.get(metric)
    if found is None or found.estimate is None or found.low is None or found.high is None:
        return None
    if not found.low <= gate <= found.high or found.method == "labelled_only":
        return None
    labelled = judge.labelled_for(metric)
    more = more_prompts(found.estimate, labelled.prompts, (found.low, found.high), gate)
    if more is None:
        return LabelsToDecide(prompts=None, labels=None)
    return LabelsToDecide(prompts=ceil(more), labels=ceil(more * labelled.labels_each))


def _mean_lengths(table: ScoreTable, labelled: Panel, words: Words | None) -> Mapping[str, Floats]:
    """Return the mean length of the candidates of each prompt; nothing where no length is known."""
    lengths = candidate_lengths(table, labelled, None if words is None else words.pools)
    if lengths is None or not len(labelled.sizes):
        return {}
    starts = np.cumsum(labelled.sizes) - labelled.sizes
    return {"mean length of candidates": np.add.reduceat(lengths, starts) / labelled.sizes}


def _differences(whole: Panel, labelled: Panel) -> Differences:
    return Differences(
        judge=differences(whole.scores, whole.sizes), oracle=differences(labelled.labels, labelled.sizes)
    )


def _labelled(judge: JudgeAudit) -> Panel:
    """Return the completely labelled prompts; none where single candidates were drawn."""
    chosen = judge.labelling.labelled
    # Such a draw labels a whole pool only where the judge's own scores left few candidates in question.
    return judge.labelling.panel.keep(chosen if judge.drawn is None else np.zeros_like(chosen))


def _chance(labelled: Panel, described: Panel) -> Chance:
    """Return what random picks reach: on the prompts that the audit describes, hit rates on those with labels."""
    best = at_top(labelled.labels, labelled.sizes)
    starts = np.cumsum(labelled.sizes) - labelled.sizes
    shares = np.add.reduceat(best.astype(float), starts) / labelled.sizes if len(starts) else np.zeros(0)
    return Chance(
        top1_accuracy=float((1 / described.sizes).mean()) if len(described.sizes) else None,
        hit_rate=float(shares.mean()) if len(shares) else None,
    )
