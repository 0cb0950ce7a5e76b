"""What each pick says of each signal: a numerator and a denominator, or why it says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from bonwise.documents.watch import SignalUnit
from bonwise.documents.watched_pick import WatchedLine
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["RECOVERY", "SIGNALS", "LoggedSignal", "PeriodTotals", "signal_of"]

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
    """Numerators, denominators, and how many picks they are of."""
    v: Floats
    """Numerators, denominators, and how many picks they are of."""
    picks: Floats
    """Numerators, denominators, and how many picks they are of."""

    def over(self, first: int, last: int) -> float | None:
        """Return the level from one period to another, both included; None where nothing tells it."""
        below = float(self.v[first : last + 1].sum())
        return float(self.u[first : last + 1].sum()) / below if below else None

    def between(self, start: int, end: int) -> PeriodTotals:
        """Return the periods from `start` to before `end` that have a pick."""
        told = self.picks[start:end] > 0
        return PeriodTotals(*(values[start:end][told] for values in (self.u, self.v, self.picks)))


@dataclass(frozen=True, eq=False)
class LoggedSignal:
    """A signal of a log: ``sum u / sum v``."""

    name: str
    u: Floats = field(repr=False)
    """Of the picks that tell it."""
    v: Floats = field(repr=False)
    """Of the picks that tell it."""
    period: npt.NDArray[np.int64] = field(repr=False)
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


def signal_of(name: str, lines: Sequence[WatchedLine], period: npt.NDArray[np.int64]) -> LoggedSignal:
    """Return a signal that needs no labels.

    Parameters
    ----------
    name : str
        One of `SIGNALS`, not recovery.
    lines : sequence of WatchedLine
    period : ndarray of int64, shape (lines,)
    """
    found = [_READERS[name](line) for line in lines]
    told = np.array([not isinstance(one, str) for one in found], dtype=bool)
    values = np.array([one for one in found if not isinstance(one, str)], dtype=np.float64).reshape(-1, 2)
    undefined = dict(Counter(one for one in found if isinstance(one, str)).most_common())
    return LoggedSignal(name, values[:, 0], values[:, 1], period[told], undefined)


def _scored(line: WatchedLine) -> list[float] | str:
    if line.scores is None:
        return "the line holds no scores"
    if line.decided_by in _NOT_JUDGED or len(line.ids) < 2:
        return "nothing to judge"
    scores = [round(float(one), TIE_DECIMALS) for one in line.scores if one is not None]
    return sorted(scores, reverse=True) if len(scores) > 1 else "fewer than two candidates were scored"


def _tie(line: WatchedLine) -> _Found:
    scores = _scored(line)
    return scores if isinstance(scores, str) else (float(scores[0] == scores[1]), 1.0)


def _margin(line: WatchedLine) -> _Found:
    scores = _scored(line)
    return scores if isinstance(scores, str) else (scores[0] - scores[1], 1.0)


def _order_effect(line: WatchedLine) -> _Found:
    effects = [one.order_effect for one in line.comparisons or () if one.order_effect is not None]
    return (float(sum(effects)), float(len(effects))) if effects else "no pair was compared in both orders"


def _unscored(line: WatchedLine) -> _Found:
    if line.unscored is None and line.scores is None:
        return "the line does not say who was scored"
    if line.decided_by in _NOT_JUDGED or len(line.ids) < 2:
        return "nothing to judge"
    missing = len(line.unscored) if line.unscored is not None else sum(one is None for one in line.scores or ())
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
