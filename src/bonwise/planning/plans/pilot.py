"""A pilot: a labelled score table, read into what the questions ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bonwise.data.opening import open_table
from bonwise.data.panel import Panel, lay_out
from bonwise.data.wording import listed, shown
from bonwise.errors import InputError, UsageError
from bonwise.planning.plans.pilot_figures import GainPilot, Moments, RivalPilot
from bonwise.stats.sums import TIE_DECIMALS, Floats, Sums, prompt_sums

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.data.table import ScoreTable

__all__ = ["LEAST_PROMPTS", "PilotSource", "gain_pilot", "rival_pilot"]

LEAST_PROMPTS = 5
"""Labelled prompts a pilot must hold for an interval on anything."""


@dataclass(frozen=True, slots=True)
class PilotSource:
    """Where a pilot is, and how its columns are called.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or ScoreTable
    judges : tuple of str
        Which judges of the table; all of them where empty.
    exclude : tuple of str
        Candidate names to leave out.
    columns : mapping of str to str
        Role to column.
    verdict : str, optional
        Column of votes.
    """

    source: str | Path | pd.DataFrame | ScoreTable
    judges: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(self.source) if isinstance(self.source, str | Path) else "table"


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
            f"{source.name}: {len(panels)} judges and none is named",
            hint=f"name one of {listed(panel.judge for panel in panels)} with judge",
        )
    return _gain(source, _labelled(source, panels[0]))


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
            f"{source.name}: {len(panels)} judges where two are compared",
            hint=f"name two judges of {listed(panel.judge for panel in panels)} with judge, A first",
        )
    first, second = (panel.keep(panel.prompt_ids.isin(other.prompt_ids)) for panel, other in _both(panels))
    first, second = _labelled(source, first), _labelled(source, second)
    apart, wins, losses = _against(first, second)
    pilots = _gain(source, first), _gain(source, second)
    return RivalPilot(source.name, (first.judge, second.judge), *pilots, apart, wins, losses)


def _both(panels: Sequence[Panel]) -> tuple[tuple[Panel, Panel], tuple[Panel, Panel]]:
    return (panels[0], panels[1]), (panels[1], panels[0])


def _panels(source: PilotSource) -> tuple[Panel, ...]:
    table = open_table(source.source, columns=source.columns or None)
    found = {panel.judge: panel for panel in lay_out(table, exclude=source.exclude)}
    for judge in source.judges:
        if judge not in found:
            raise UsageError(f"{source.name}: no judge named {shown(judge)}", hint=f"the judges are {listed(found)}")
    return tuple(found[judge] for judge in source.judges or found)


def _labelled(source: PilotSource, panel: Panel) -> Panel:
    kept = panel.keep(panel.labelled_cells == panel.sizes)
    if len(kept.sizes) < LEAST_PROMPTS:
        raise InputError(
            f"{source.name}: {len(kept.sizes)} prompts with a label for every candidate are no pilot",
            hint=f"label {LEAST_PROMPTS} prompts or more; 30 to 100 say something",
        )
    return kept


def _gain(source: PilotSource, panel: Panel) -> GainPilot:
    sums = Sums(*prompt_sums(panel.scores, panel.labels, panel.sizes))
    starts = np.cumsum(panel.sizes) - panel.sizes
    scores = np.round(panel.scores, TIE_DECIMALS)
    top = (scores == np.repeat(np.maximum.reduceat(scores, starts), panel.sizes)).astype(np.float64)
    labels = panel.labels - panel.labels.mean()
    leaders = np.add.reduceat(top, starts)
    picks, every = (
        Moments(*(np.add.reduceat(weights * value, starts) / count for value in (labels, labels**2)))
        for weights, count in ((top, leaders), (np.ones_like(top), panel.sizes))
    )
    return GainPilot(source.name, panel.judge, sums, leaders, picks, every)


def _against(first: Panel, second: Panel) -> tuple[Floats, Floats, Floats]:
    """Return, a prompt, how likely the picks differ, A's is the better one, and B's is."""
    same = Sums(*prompt_sums(first.scores, second.scores, first.sizes)).same_top
    starts = np.cumsum(first.sizes) - first.sizes
    wins, losses = np.zeros(len(starts)), np.zeros(len(starts))
    for x, (start, size) in enumerate(zip(starts.tolist(), first.sizes.tolist(), strict=True)):
        cells = slice(start, start + size)
        labels = first.labels[cells]
        apart = labels[_top(first.scores[cells])][:, None] - labels[_top(second.scores[cells])][None, :]
        ahead = np.sign(np.round(apart, TIE_DECIMALS))
        wins[x], losses[x] = np.mean(ahead > 0), np.mean(ahead < 0)
    return 1 - same, wins, losses


def _top(scores: Floats) -> npt.NDArray[np.bool_]:
    rounded = np.round(scores, TIE_DECIMALS)
    top: npt.NDArray[np.bool_] = rounded == rounded.max()
    return top
