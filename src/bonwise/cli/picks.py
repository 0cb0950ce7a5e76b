"""What is said about picks after a run: what decided them, why asking stopped, and what no judge stands behind."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bonwise.cli.summary import filled_lines, tally
from bonwise.report.numbers import counted, number, percent

if TYPE_CHECKING:
    from bonwise.documents.pick import DecidedBy
    from bonwise.documents.selections import OrderTotals, RoutedTotals
    from bonwise.routing.router import Router
    from bonwise.selection.selection import Selection
    from bonwise.selection.settings import SelectionSettings
    from bonwise.selection.totals import Totals

__all__ = ["PickReport", "without_router_warnings"]

MAKESHIFT: Mapping[DecidedBy, str] = {
    "first": "picks rest on no judgment: the first candidate was kept, as --on-failure first says",
    "random": "picks rest on no judgment: a random candidate was kept, as --on-failure random says",
    "partial": "picks are the best of what could be judged: not every answer arrived",
    "deadline": "picks are the best that was known when the time of --deadline was up",
}
"""What is said of picks that rest on less than was asked for."""


@contextmanager
def without_router_warnings() -> Iterator[None]:
    """Keep quiet what a router warns of in Python: a `PickReport` says it in a line, and a dry run routes nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a pool has no value of the signal", UserWarning)
        yield


@dataclass(slots=True)
class PickReport:
    """Running figures of many selections."""

    plan: SelectionSettings
    router: Router | None = None
    """That of the plan."""
    totals: Totals = field(init=False)

    def __post_init__(self) -> None:
        from bonwise.selection.totals import Totals

        self.totals = Totals()

    def note(self, pick: Selection) -> None:
        """Take in one selection."""
        self.totals.note(pick)

    def lines(self) -> Iterator[str]:
        """Yield what is to be said, nothing where nothing was selected."""
        found = self.totals.record()
        how = found.decided_by
        if not how:
            return
        counts = ", ".join(f"{count:,} by {name}" for name, count in how.items())
        yield f"{counted(found.pools, 'pool')} by {self._who()}: {counts}"
        for name, words in MAKESHIFT.items():
            if name in how:
                yield f"WARNING: {how[name]:,} {words}"
        yield from tally(Counter(found.failures), "failed")
        if len(found.stopped) > 1:
            yield from tally(Counter(found.stopped), "stopped")
        yield from self._about_routes(found.routed)
        yield from _about_order(found.order)
        yield from tally(_never_scored(found.unscored), "unscored")
        yield from filled_lines(Counter(found.filled or {}))

    def _who(self) -> str:
        from bonwise.selection.settings import default_strategy

        strategy = self.plan.strategy.name
        usual = strategy == default_strategy(self.plan.judge).name
        return self.plan.judge.name if usual else f"{self.plan.judge.name} and {strategy}"

    def _about_routes(self, routed: RoutedTotals) -> Iterator[str]:
        seen = routed.seen
        if self.router is not None and seen:
            yield (
                f"{self.router.strong.name} decided {routed.sent:,} of {seen:,} pools "
                f"({number(routed.sent / seen, 'share')}; the share is {percent(self.router.share)}), "
                f"changed {counted(routed.changed, 'pick')} of the first pass"
            )
            yield from tally(Counter(routed.reasons), f"{self.router.signal}")
            if warning := self.router.report().warning:
                yield f"WARNING: {warning}"
                if self.router.on_missing == "keep":
                    yield f"take a judge that gives {self.router.signal}, another --route, or --on-missing random"


def _about_order(order: OrderTotals) -> Iterator[str]:
    from bonwise.judges.order_effect import OrderEffect

    if order.advantage is not None:
        yield str(OrderEffect("comparisons", order.pairs, order.advantage, order.differing, order.without_verdict))


def _never_scored(reasons: Mapping[str, int]) -> Counter[str]:
    """Return why candidates were not scored that a later run will not score either."""
    from bonwise.selection.choosing import NOT_SENT

    waiting = {reason for reason in reasons if reason == NOT_SENT.reason or reason.startswith("owed")}
    return Counter({reason: count for reason, count in reasons.items() if reason not in waiting})
