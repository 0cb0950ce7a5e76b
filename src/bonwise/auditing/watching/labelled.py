"""What labels say of logged picks: what each labelled pool gained, and what it could have gained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.auditing.logged import logged_panels, logged_table
from bonwise.auditing.watching.periods import DividedLog
from bonwise.auditing.watching.signals import RECOVERY, LoggedSignal
from bonwise.data.picks import Pick, Picks
from bonwise.data.reading_options import ReadingOptions
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["LabelledPicks", "labelled_picks"]


class LabelledPicks(NamedTuple):
    """Recovery of a log: ``u`` is the gain of the pick over a random one, ``v`` that of the best candidate."""

    signal: LoggedSignal
    """Over the pools whose candidates are all labelled."""
    repeated: int
    """Picks of a prompt that was picked before."""
    unit_scale: bool
    """Whether all labels lie in [0, 1]."""


def labelled_picks(log: DividedLog, reading: ReadingOptions, source: str) -> LabelledPicks:
    """Join picks with their labels.

    A prompt that is picked again has the labels of its first pick only: a label names no period.

    Parameters
    ----------
    log : DividedLog
    reading : ReadingOptions
        With the labels.
    source : str
        What to call the log.

    Raises
    ------
    bonwise.errors.InputError
        Labels that cannot be read, or that fit nothing.
    """
    place: dict[str, int] = {}
    for row, pick in enumerate(log.picks):
        place.setdefault(str(pick.line.prompt_id), row)
    picks = Picks(source, tuple(_pick(log, row, prompt) for prompt, row in place.items()))
    table = logged_table([(RECOVERY, picks)], reading)
    (panel,) = logged_panels(table, [(RECOVERY, picks.reasons)], reading.shape)
    cells = panel.labelled_cells
    whole = panel.keep(cells == panel.sizes)
    t = Sums(*prompt_sums(whole.scores, whole.labels, whole.sizes))
    at = np.array([place[str(prompt)] for prompt in whole.prompt_ids], dtype=np.int64)
    order = np.argsort(at, kind="stable")
    partly = int(((cells > 0) & (cells < panel.sizes)).sum())
    undefined = {
        "no labels": int((cells == 0).sum()),
        "labelled in part": partly,
        "no pick to compare": len(place) - len(panel.sizes),
        "the prompt was picked before": len(log.picks) - len(place),
    }
    signal = LoggedSignal(
        RECOVERY,
        (t.J - t.R)[order],
        (t.M - t.R)[order],
        log.period[at[order]],
        {reason: count for reason, count in undefined.items() if count},
    )
    labels = whole.labels
    unit_scale = bool(((labels >= 0) & (labels <= 1)).all())
    return LabelledPicks(signal, len(log.picks) - len(place), unit_scale)


def _pick(log: DividedLog, at: int, prompt: str) -> Pick:
    line = log.picks[at].line
    kept = () if line.best is None else (str(line.best),)
    level = tuple(map(str, line.level or ()))
    return Pick(prompt, tuple(map(str, line.ids)), level or kept, line.decided_by or "")
