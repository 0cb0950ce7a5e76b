"""Running figures of any number of selections, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bonwise.calls.bill import Bill

if TYPE_CHECKING:
    from bonwise.selection import result, selection


_MOST_REASONS = 100
"""Reasons that are kept apart: servers put request numbers into theirs."""


UNASKED = frozenset({"only candidate", "same text", "nothing scored", "owed"})
"""What decides where no strategy came to its end."""


_COUNTED = ("calls", "from_ledger", "input_tokens", "output_tokens", "reused_tokens")
"""Counts of a bill that the figures of all picks hold."""

_STEP = math.log(1.01)
"""Latencies are counted in classes, each this much wider than the one before: quantiles are exact to 1 %."""


@dataclass(slots=True)
class Totals:
    """Running figures of any number of selections, in bounded memory."""

    _how: Counter[str] = field(default_factory=Counter)
    _stopped: Counter[str] = field(default_factory=Counter)
    _unscored: Counter[str] = field(default_factory=Counter)
    _filled: Counter[str] = field(default_factory=Counter)
    _failures: Counter[str] = field(default_factory=Counter)
    _routes: Counter[str] = field(default_factory=Counter)
    _latencies: Counter[int] = field(default_factory=Counter)
    _bill: Bill = field(default_factory=Bill)
    _candidates: int = 0
    _picked: int = 0
    _tied: int = 0
    _sent: int = 0
    _changed: int = 0
    _unpriced: int = 0
    _pairs: int = 0
    _advantage: float = 0.0
    _differing: int = 0
    _without: int = 0
    _lost: int = 0
    _asked: int = 0
    _seconds: float = 0.0
    _longest: float = 0.0

    def note(self, pick: selection.Selection) -> None:
        """Take in one selection."""
        self._how[pick.decided_by] += 1
        self._candidates += len(pick.ids)
        self._picked += pick.best_id is not None
        self._tied += len(pick.tied) > 1
        if pick.decided_by not in UNASKED:
            _count(self._stopped, pick.stopped)
        _count(self._failures, pick.failure)
        for reason in pick.unscored.values():
            _count(self._unscored, reason)
        if filled := pick.filled:
            self._filled.update(filled)
        if pick.routed is not None:
            _count(self._routes, pick.routed.reason)
            self._sent += pick.routed.strong is not None
            self._changed += pick.routed.strong is not None and pick.routed.first_pick != pick.best_id
        self._note_comparisons(pick)
        self._note_spending(pick)

    def _note_comparisons(self, pick: selection.Selection) -> None:
        self._lost += pick.lost
        self._asked += len(pick.comparisons)
        for comparison in pick.comparisons:
            self._without += comparison.value is None
            if comparison.order_effect is not None:
                self._pairs += 1
                self._advantage += comparison.order_effect
                self._differing += comparison.verdict_changes is True

    def _note_spending(self, pick: selection.Selection) -> None:
        self._unpriced += pick.bill.cost is None
        # A cost that is unknown would hide all others.
        self._bill += pick.bill if pick.bill.cost is not None else replace(pick.bill, cost=0.0)
        self._seconds += pick.latency
        self._longest = max(self._longest, pick.latency)
        self._latencies[math.floor(math.log(max(pick.latency, 1e-6)) / _STEP)] += 1

    def record(self) -> result.SelectionTotals:
        """Return the figures; ``cost`` is of pools whose cost is known, ``unpriced`` counts the others."""
        from bonwise.results import given  # noqa: PLC0415 - counting needs no record
        from bonwise.selection.result import OrderTotals, RoutedTotals, SelectionTotals  # noqa: PLC0415 - as above

        bill, pairs = self._bill, self._pairs
        return SelectionTotals(
            pools=self._how.total(),
            candidates=self._candidates,
            picked=self._picked,
            tied=self._tied,
            decided_by=_counts(self._how),  # type: ignore[arg-type]  # words that the record checks
            stopped=_counts(self._stopped),
            failures=_counts(self._failures),
            unscored=_counts(self._unscored),
            routed=RoutedTotals(
                seen=self._routes.total(), sent=self._sent, changed=self._changed, reasons=_counts(self._routes)
            ),
            order=OrderTotals(
                pairs=pairs,
                advantage=self._advantage / pairs if pairs else None,
                differing=self._differing,
                without_verdict=self._without,
                **(given(lost=self._lost, asked=self._asked) if self._lost else {}),
            ),
            answers=bill.calls + bill.from_ledger,
            cost=bill.cost or 0.0,
            **{name: getattr(bill, name) for name in _COUNTED},
            unpriced=self._unpriced,
            latency=self._latency(),
            **given(filled=_counts(self._filled) or None),
        )

    def _latency(self) -> result.LatencyTotals | None:
        """Return seconds per pool: mean and longest, and of half and of 95 % of the pools."""
        from bonwise.selection.result import LatencyTotals  # noqa: PLC0415 - counting needs no record

        pools = self._how.total()
        if not pools:
            return None
        return LatencyTotals(
            mean=round(self._seconds / pools, 3),
            half=round(self._quantile(0.5 * pools), 3),
            most=round(self._quantile(0.95 * pools), 3),
            longest=round(self._longest, 3),
        )

    def _quantile(self, pools: float) -> float:
        seen = 0
        for step, count in sorted(self._latencies.items()):
            seen += count
            if seen >= pools:
                return min(math.exp((step + 0.5) * _STEP), self._longest)
        return self._longest


def _counts(reasons: Counter[str]) -> dict[str, int]:
    """Return how often, the most frequent first."""
    return dict(reasons.most_common())


def _count(reasons: Counter[str], reason: str) -> None:
    if reason:
        known = reason in reasons or len(reasons) < _MOST_REASONS
        reasons[reason if known else "other reasons"] += 1
