"""What each pick says of each signal, and what labels say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.logged_picks import logged_panels, logged_table
from bonwise.stats.sums import Sums
from bonwise.table.picks import Pick, Picks
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.verdicts import pool_decimals, rounded
from bonwise.watching.pick_log import DividedLog, WatchedLine
from bonwise.watching.result import SignalUnit

RECOVERY = "recovery"

SIGNALS: Mapping[str, SignalUnit] = MappingProxyType(
    {
        "tie_rate": "share",
        "margin": "number",
        "order_effect": "number",
        "unscored_share": "share",
        "cost_per_pick": "dollars",
        "length": "characters",
        RECOVERY: "share",
    }
)
"""Every signal with its unit, in the order of reports."""

_NOT_JUDGED = frozenset({"only candidate", "same text"})

_Found = tuple[float, float] | str


@dataclass(frozen=True, eq=False)
class PeriodTotals:
    """Sums over the picks of each period."""

    u: Floats
    v: Floats
    picks: Floats
    """All three: numerators, denominators, and how many picks they are of."""

    def over(self, first: int, last: int) -> float | None:
        """Return the level from one period to another, both included; None where nothing tells it."""
        below = float(self.v[first : last + 1].sum())
        return float(self.u[first : last + 1].sum()) / below if below else None

    def between(self, start: int, end: int) -> PeriodTotals:
        """Return the periods from `start` to before `end` that have a pick."""
        seen = self.picks[start:end] > 0
        return PeriodTotals(*(values[start:end][seen] for values in (self.u, self.v, self.picks)))


@dataclass(frozen=True, eq=False)
class LoggedSignal:
    """A signal of a log: ``sum u / sum v``."""

    name: str
    u: Floats = field(repr=False)
    v: Floats = field(repr=False)
    """Both: of the picks that tell it."""
    period: Ints = field(repr=False)
    undefined: Mapping[str, int] = field(default_factory=dict)
    """Picks that do not, by reason."""

    @property
    def unit(self) -> SignalUnit:
        """What it is measured in."""
        return SIGNALS[self.name]

    def totals(self, periods: int) -> PeriodTotals:
        """Return what the picks of each period add up to."""
        u, v, picks = (
            np.bincount(self.period, weights=values, minlength=periods).astype(np.float64)
            for values in (self.u, self.v, np.ones(len(self.u)))
        )
        return PeriodTotals(u, v, picks)


def signal_of(name: str, lines: Sequence[WatchedLine], period: Ints) -> LoggedSignal:
    """Return a signal that needs no labels, one of `SIGNALS` but recovery; `period` is that of each line."""
    read = [_READERS[name](line) for line in lines]
    known = np.array([not isinstance(value, str) for value in read], dtype=bool)
    values = np.array([value for value in read if not isinstance(value, str)], dtype=np.float64).reshape(-1, 2)
    undefined = dict(Counter(value for value in read if isinstance(value, str)).most_common())
    return LoggedSignal(name, values[:, 0], values[:, 1], period[known], undefined)


def _scored(line: WatchedLine) -> list[float] | str:
    if line.scores is None:
        return "the line holds no scores"
    if line.decided_by in _NOT_JUDGED or len(line.ids) < 2:
        return "nothing to judge"
    decimals = pool_decimals(line.scores)
    scores = [rounded(float(score), decimals) for score in line.scores if score is not None]
    return sorted(scores, reverse=True) if len(scores) > 1 else "fewer than two candidates were scored"


def _tie(line: WatchedLine) -> _Found:
    scores = _scored(line)
    return scores if isinstance(scores, str) else (float(scores[0] == scores[1]), 1.0)


def _margin(line: WatchedLine) -> _Found:
    scores = _scored(line)
    return scores if isinstance(scores, str) else (scores[0] - scores[1], 1.0)


def _order_effect(line: WatchedLine) -> _Found:
    effects = [pair.order_effect for pair in line.comparisons or () if pair.order_effect is not None]
    return (float(sum(effects)), float(len(effects))) if effects else "no pair was compared in both orders"


def _unscored(line: WatchedLine) -> _Found:
    if line.unscored is None and line.scores is None:
        return "the line does not say who was scored"
    if line.decided_by in _NOT_JUDGED or len(line.ids) < 2:
        return "nothing to judge"
    missing = len(line.unscored) if line.unscored is not None else sum(score is None for score in line.scores or ())
    return float(min(missing, len(line.ids))), float(len(line.ids))


def _cost(line: WatchedLine) -> _Found:
    return "the cost is unknown" if line.cost is None else (float(line.cost), 1.0)


def _length(line: WatchedLine) -> _Found:
    if line.best is None:
        return "nothing was picked"
    return "the line holds no text" if line.text is None else (float(len(line.text)), 1.0)


_READERS: Mapping[str, Callable[[WatchedLine], _Found]] = MappingProxyType(
    {
        "tie_rate": _tie,
        "margin": _margin,
        "order_effect": _order_effect,
        "unscored_share": _unscored,
        "cost_per_pick": _cost,
        "length": _length,
    }
)


class LabelledPicks(NamedTuple):
    """Recovery of a log: ``u`` is the gain of the pick over a random one, ``v`` that of the best candidate."""

    signal: LoggedSignal
    """Over the pools whose candidates are all labelled."""
    repeated: int
    """Picks of a prompt that was picked before."""
    unpicked: int
    """Pools without a pick among those that it is over: each is worth what is said to be picked there."""
    unit_scale: bool
    """Whether all labels lie in [0, 1]."""
    by_candidate: Mapping[tuple[str, str], float]
    """Labels by prompt and candidate, of the prompts of the last period."""


def labelled_picks(log: DividedLog, reading: ReadingOptions, source: str) -> LabelledPicks:
    """Join picks with labels, of a prompt only its first: a label names no period. Labels must fit something."""
    place: dict[str, int] = {}
    for row, pick in enumerate(log.picks):
        place.setdefault(str(pick.line.prompt_id), row)
    picks = Picks(source, tuple(_pick(log, row, prompt) for prompt, row in place.items()))
    table = logged_table([(RECOVERY, picks)], reading)
    (panel,) = logged_panels(table, [(RECOVERY, picks.reasons)], reading.shape)
    cells = panel.labelled_cells
    whole = panel.keep(cells == panel.sizes)
    t = Sums(*whole.sums())
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
    last = {str(pick.line.prompt_id) for pick in log.picks[int(np.searchsorted(log.period, len(log.names) - 1)) :]}
    own = panel.keep(np.array([str(prompt) in last for prompt in panel.prompt_ids], dtype=bool))
    names = zip(np.repeat(own.prompt_ids, own.sizes), own.candidates[own.names], own.labels, strict=True)
    by_candidate = {(str(prompt), str(name)): float(label) for prompt, name, label in names if not np.isnan(label)}
    unpicked = int((whole.scored_cells == 0).sum())
    return LabelledPicks(signal, len(log.picks) - len(place), unpicked, unit_scale, by_candidate)


def _pick(log: DividedLog, at: int, prompt: str) -> Pick:
    line = log.picks[at].line
    kept = () if line.best is None else (str(line.best),)
    level = tuple(map(str, line.level or ()))
    return Pick(prompt, tuple(map(str, line.ids)), level or kept, line.decided_by or "")
