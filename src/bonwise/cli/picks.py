"""What is said about picks after a run: what decided them, why asking stopped, and what no judge stands behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bonwise.cli.summary import tally

if TYPE_CHECKING:
    from bonwise.routing.router import Router
    from bonwise.selection.plan import Plan
    from bonwise.selection.selection import Selection

__all__ = ["Picks"]

MOST_REASONS = 100
"""Reasons that are kept apart: servers put request numbers into theirs."""

UNASKED = {"only candidate", "same text", "nothing scored", "owed"}
"""What decides where no strategy came to its end."""

MAKESHIFT = {
    "first": "picks rest on no judgment: the first candidate was kept, as --on-failure first says",
    "random": "picks rest on no judgment: a random candidate was kept, as --on-failure random says",
    "partial": "picks are the best of what could be judged: not every answer arrived",
    "deadline": "picks are the best that was known when the time of --deadline was up",
}
"""What is said of picks that rest on less than was asked for."""


@dataclass(slots=True)
class Picks:
    """Running figures of many selections.

    Parameters
    ----------
    plan : Plan
    router : Router, optional
        That of the plan.
    """

    plan: Plan
    router: Router | None = None
    how: Counter[str] = field(default_factory=Counter)
    _stopped: Counter[str] = field(default_factory=Counter)
    _unscored: Counter[str] = field(default_factory=Counter)
    _failures: Counter[str] = field(default_factory=Counter)
    _routes: Counter[str] = field(default_factory=Counter)
    _sent: int = 0
    _changed: int = 0
    _pairs: int = 0
    _advantage: float = 0.0
    _differing: int = 0
    _without: int = 0

    def note(self, pick: Selection) -> None:
        """Take in one selection."""
        self.how[pick.decided_by] += 1
        if pick.decided_by not in UNASKED:
            _count(self._stopped, pick.stopped)
        if pick.failure:
            _count(self._failures, pick.failure)
        self._note_unscored(pick)
        self._note_route(pick)
        self._note_comparisons(pick)

    def lines(self) -> Iterator[str]:
        """Yield what is to be said, nothing where nothing was selected."""
        if not self.how:
            return
        counts = ", ".join(f"{count:,} by {name}" for name, count in self.how.most_common())
        yield f"{self.how.total():,} pools by {self._who()}: {counts}"
        for how, words in MAKESHIFT.items():
            if self.how[how]:
                yield f"WARNING: {self.how[how]:,} {words}"
        yield from tally(self._failures, "failed")
        if len(self._stopped) > 1:
            yield from tally(self._stopped, "stopped")
        yield from self._about_routes()
        yield from self._about_order()
        yield from tally(self._unscored, "unscored")

    def _who(self) -> str:
        from bonwise.selection.plan import default_strategy

        strategy = self.plan.strategy.name
        usual = strategy == default_strategy(self.plan.judge).name
        return self.plan.judge.name if usual else f"{self.plan.judge.name} and {strategy}"

    def _note_unscored(self, pick: Selection) -> None:
        from bonwise.selection.choosing import NOT_SENT

        for reason in pick.unscored.values():
            if reason != NOT_SENT.reason and not reason.startswith("owed"):
                _count(self._unscored, reason)

    def _note_route(self, pick: Selection) -> None:
        if pick.routed is None:
            return
        _count(self._routes, pick.routed.reason)
        if pick.routed.strong is not None:
            self._sent += 1
            self._changed += pick.routed.first_pick != pick.best_id

    def _note_comparisons(self, pick: Selection) -> None:
        for one in pick.comparisons:
            self._without += one.value is None
            if one.order_effect is not None:
                self._pairs += 1
                self._advantage += one.order_effect
                self._differing += one.order_effect != 0

    def _about_routes(self) -> Iterator[str]:
        seen = self._routes.total()
        if self.router is not None and seen:
            yield (
                f"{self.router.strong.name} decided {self._sent:,} of {seen:,} pools ({self._sent / seen:.1%}; the "
                f"share is {self.router.share:.1%}), {self._changed:,} of them otherwise than the first pass"
            )
            yield from tally(self._routes, f"{self.router.signal}")
            if self.router.report().without_signal == seen:
                yield f"WARNING: no pool had a value of {self.router.signal}: the pools that were sent are any"

    def _about_order(self) -> Iterator[str]:
        from bonwise.judges.order_effect import OrderEffect

        if self._pairs:
            mean = self._advantage / self._pairs
            yield str(OrderEffect("comparisons", self._pairs, mean, self._differing, self._without))


def _count(reasons: Counter[str], reason: str) -> None:
    known = reason in reasons or len(reasons) < MOST_REASONS
    reasons[reason if known else "other reasons"] += 1
