"""The study of mixed difficulty: how figures rise as easy candidates enter the pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.errors import InputError, UsageError
from bonwise.printable import listed, quoted
from bonwise.studies.labelled_panels import LabelledPanels, open_judged
from bonwise.studies.mix.mixture import mix_change, mix_curve, mix_sums
from bonwise.studies.mix.result import MixCounts, MixJudge, MixSettings, MixStudy
from bonwise.studies.mix.sentences import mix_findings
from bonwise.table.checks import names_of
from bonwise.table.opening import ScoreSource, open_table, refuse_clusters
from bonwise.table.panel import Panel, lay_out
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.score_table import ScoreTable

__all__ = ["mix_of", "mix_study"]


def mix_study(
    source: ScoreSource,
    options: ReadingOptions,
    *,
    control: str | Sequence[str],
    confidence: float,
    seed: int,
) -> MixStudy:
    """Calculate how a judge's figures move as candidates that anyone can tell apart enter the pools."""
    settings = Settings(
        confidence=confidence,
        seed=seed,
        exclude=options.exclude,
        control=names_of("control", control),
        shape=options.shape,
    )
    table = open_table(source, options)
    refuse_clusters(table, "this study")
    _check_left(table, settings)
    return mix_of(open_judged(table, settings))


def _check_left(table: ScoreTable, settings: Settings) -> None:
    """Refuse controls beside which no two candidates are left."""
    out = {*settings.control, *settings.exclude}
    left = [name for name in table.candidates if name not in out]
    # Fewer than two from the start are told of when the table is laid out.
    if settings.control and len(left) < 2 <= len(table.candidates):
        beside = f"only {quoted(left[0])} is left" if left else "no candidate is left"
        raise UsageError(
            f"{table.source}: {beside} beside the control, and there is no choice to study",
            hint="name as --control what is easy to tell apart, and leave two or more others",
        )


def mix_of(judged: LabelledPanels) -> MixStudy:
    """Make the study on judges whose table is open; the controls are those of the settings.

    Raises
    ------
    bonwise.errors.UsageError
        No control is named.
    bonwise.errors.InputError
        No judge has a labelled prompt that holds a control.
    """
    settings, table = judged.settings, judged.table
    easy = [name for name in settings.control if name not in settings.exclude]
    if not easy:
        raise UsageError(
            f"{table.source}: without a control there is nothing to mix in",
            hint=f"name the easy candidate with --control; the candidates are {listed(table.candidates)}",
        )
    judges, refused = {}, dict(judged.not_studied)
    for panel in lay_out(table, exclude=settings.exclude, shape=settings.shape):
        if panel.judge in judged.panels:
            mixed = _mix(judged, panel, easy)
            if mixed is None:
                refused[panel.judge] = "no labelled prompt holds a control"
            else:
                judges[panel.judge] = mixed
    if not judges:
        raise InputError(
            f"{table.source}: no labelled prompt holds the control {quoted(easy[0])} with a score",
            hint="score and label the control in the pools of the other candidates",
        )
    return MixStudy(settings=judged.settings_as(MixSettings), judges=judges, not_studied=refused)


def _mix(judged: LabelledPanels, panel: Panel, easy: Sequence[str]) -> MixJudge | None:
    """Mix one judge's pools, given its panel with the controls; None where no pool holds one."""
    without = judged.panels[panel.judge]
    labelled = panel.labelled_cells == panel.sizes
    common = panel.prompt_ids.isin(without.prompt_ids)
    whole = panel.keep(labelled & common)
    control = whole.candidates.isin(easy)[whole.names]
    if not control.any():
        return None
    sums = mix_sums(whole.scores, whole.labels, whole.sizes, control)
    # The interval of the curve is the jackknife's, whatever the audit's own: it is made at twenty points.
    rule = replace(judged.settings.rule(whole.labels), kind="default")
    method = judged.methods[panel.judge]
    points, change = mix_curve(sums, rule, method), mix_change(sums, rule, method)
    holding = np.add.reduceat(control.astype(np.int64), np.cumsum(whole.sizes) - whole.sizes) > 0
    data = judged.counts_as(
        MixCounts,
        panel.judge,
        mixed_prompts=len(whole.sizes),
        prompts_with_control=int(holding.sum()),
        left_out=len(without.sizes) - len(whole.sizes),
        only_with_control=int((labelled & ~common).sum()),
    )
    findings = mix_findings(points, change, data, easy, judged.settings.confidence)
    return MixJudge(data=data, points=points, change=change, sentences=findings)
