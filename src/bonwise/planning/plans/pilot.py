"""A pilot: a labelled score table, read into what the questions ask of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bonwise.data.labels_in_part import LabelsInPart
from bonwise.data.opening import open_scores
from bonwise.data.panel import Panel, lay_out
from bonwise.data.table import ScoreTable
from bonwise.data.wording import listed, quoted
from bonwise.errors import InputError, UsageError
from bonwise.planning.plans.pilot_figures import GainPilot, Moments, RivalPilot
from bonwise.planning.plans.pilot_source import PilotSource
from bonwise.stats.no_gain import dealt
from bonwise.stats.power.redrawn_gates import PairLabels
from bonwise.stats.sums import TIE_DECIMALS, Floats, Sums, prompt_sums
from bonwise.stats.top_of_scores import at_top

__all__ = ["LEAST_PROMPTS", "gain_pilot", "rival_pilot"]

LEAST_PROMPTS = 5
"""Labelled prompts a pilot must hold for an interval on anything."""


def gain_pilot(source: PilotSource) -> GainPilot:
    """Read a pilot of one judge.

    Raises
    ------
    bonwise.errors.InputError
        No table, no labels, several judges and none named, or fewer than `LEAST_PROMPTS` labelled prompts.
    """
    panels = _panels(source)
    if len(panels) > 1:
        raise UsageError(
            f"{source.name}: {len(panels)} judges where one is planned for",
            hint=f"name one with judge (--judge), of {listed(panel.judge for panel in panels)}",
        )
    return _gain(source, _labelled(source, panels[0]), LabelsInPart.of_panel(panels[0]))


def rival_pilot(source: PilotSource) -> RivalPilot:
    """Read a pilot of two judges, on the prompts that both scored.

    Raises
    ------
    bonwise.errors.InputError
        As `gain_pilot`, and a table that does not hold two judges.
    """
    panels = _panels(source)
    if len(panels) != 2:
        raise UsageError(
            f"{source.name}: a-vs-b compares two judges, not {len(panels)}",
            hint=_which_two(panels),
        )
    first, second = (panel.keep(panel.prompt_ids.isin(other.prompt_ids)) for panel, other in _both(panels))
    in_part = LabelsInPart.of_panel(first)
    first, second = _labelled(source, first), _labelled(source, second)
    apart, wins, losses = _against(first, second)
    pilots = _gain(source, first, in_part), _gain(source, second, in_part)
    return RivalPilot(source.name, (first.judge, second.judge), *pilots, apart, wins, losses)


def _both(panels: Sequence[Panel]) -> tuple[tuple[Panel, Panel], tuple[Panel, Panel]]:
    return (panels[0], panels[1]), (panels[1], panels[0])


def _which_two(panels: Sequence[Panel]) -> str:
    names = listed(panel.judge for panel in panels)
    if len(panels) < 2:
        return f"give a pilot that two judges scored, told apart by its column judge; this one is of {names}"
    return f"name two with judge (--judge, given twice), A first, of {names}"


def _panels(source: PilotSource) -> tuple[Panel, ...]:
    found = {panel.judge: panel for panel in lay_out(_table(source), exclude=source.exclude)}
    for judge in source.judge:
        if judge not in found:
            raise UsageError(f"{source.name}: no judge named {quoted(judge)}", hint=f"the judges are {listed(found)}")
    if len(set(source.judge)) < len(source.judge):
        raise UsageError("judge names a judge twice", hint="name each judge once")
    return tuple(found[judge] for judge in source.judge or found)


def _table(source: PilotSource) -> ScoreTable:
    table = open_scores(source.source, source.reading)
    if not table.has_labels:
        raise InputError(
            f"{source.name}: a pilot without oracle labels says nothing",
            hint="its labels are in its own column oracle_label, or the one that --label-col (columns) names",
        )
    return table


def _labelled(source: PilotSource, panel: Panel) -> Panel:
    kept = panel.keep(panel.labelled_cells == panel.sizes)
    if len(kept.sizes) < LEAST_PROMPTS:
        raise InputError(
            f"{source.name}: {len(kept.sizes)} prompts with a label for every candidate are no pilot",
            hint=f"label {LEAST_PROMPTS} prompts or more; 30 to 100 say something",
        )
    return kept


def _gain(source: PilotSource, panel: Panel, in_part: LabelsInPart) -> GainPilot:
    sums = Sums(*prompt_sums(panel.scores, panel.labels, panel.sizes))
    starts = np.cumsum(panel.sizes) - panel.sizes
    top = at_top(panel.scores, panel.sizes).astype(np.float64)
    labels = panel.labels - panel.labels.mean()
    leaders = np.add.reduceat(top, starts)
    picks, every = (
        Moments(*(np.add.reduceat(weights * value, starts) / count for value in (labels, labels**2)))
        for weights, count in ((top, leaders), (np.ones_like(top), panel.sizes))
    )
    return GainPilot(
        source.name,
        panel.judge,
        sums,
        leaders,
        picks,
        every,
        dealt(panel.scores, panel.labels, panel.sizes),
        PairLabels.of(panel.labels, at_top(panel.scores, panel.sizes), panel.sizes),
        panel.clusters,
        in_part,
    )


def _against(first: Panel, second: Panel) -> tuple[Floats, Floats, Floats]:
    """Return, a prompt, how likely the picks differ, A's is the better one, and B's is."""
    same = Sums(*prompt_sums(first.scores, second.scores, first.sizes)).same_top
    mine, other = (at_top(panel.scores, panel.sizes) for panel in (first, second))
    starts = np.cumsum(first.sizes) - first.sizes
    wins, losses = np.zeros(len(starts)), np.zeros(len(starts))
    for x, (start, size) in enumerate(zip(starts.tolist(), first.sizes.tolist(), strict=True)):
        cells = slice(start, start + size)
        labels = first.labels[cells]
        ahead = np.sign(np.round(labels[mine[cells]][:, None] - labels[other[cells]][None, :], TIE_DECIMALS))
        wins[x], losses[x] = np.mean(ahead > 0), np.mean(ahead < 0)
    return 1 - same, wins, losses
