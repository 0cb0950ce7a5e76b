"""What every adapter stands on: its selector, what that has done and paid, and how a pick came about."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from bonwise.calls.bill import Bill
from bonwise.errors import UsageError
from bonwise.selection.ranked_candidates import RankedCandidate
from bonwise.selection.selection import Selection
from bonwise.selection.selector import Selector

__all__ = [
    "HostCounts",
    "HostTotals",
    "added_usage",
    "is_unjudged",
    "judge_usage",
    "once_paid",
    "place_of",
    "selector_of",
    "trail_of",
]


def selector_of(judge: Any, settings: Mapping[str, Any]) -> Selector:
    """Return the selector that an adapter works with.

    `judge` is a judge, a function ``(prompt, text) -> number``, a text as of ``--judge`` on a command line, or a
    selector. Settings are those of `bonwise.Selector`; beside a selector they are a UsageError.
    """
    if isinstance(judge, Selector):
        if settings:
            raise UsageError(
                f"a selector brings its own settings, and {', '.join(sorted(settings))} is given beside it",
                hint="pass the settings to bw.Selector",
            )
        return judge
    if isinstance(judge, str):
        from bonwise.judges.registry import judge_from_spec  # noqa: PLC0415 - reads what is installed

        judge = judge_from_spec(judge)
    return Selector(judge, **settings)


def once_paid(judge: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an adapter that judges what was paid for: there a failing judge does not raise.

    A host that retries would pay for everything again. A selector brings its own ``on_failure``.
    """
    return ({} if isinstance(judge, Selector) else {"on_failure": "random"}) | dict(settings)


_WITHOUT_A_JUDGE = frozenset({"first", "random"})
"""What `decided_by` says of a pick that a failed judge left to the seed, or to the order of the candidates."""


def is_unjudged(selection: Selection) -> bool:
    """Tell whether no judge had a say in a pick that needed one."""
    return selection.decided_by in _WITHOUT_A_JUDGE


@dataclass(frozen=True, slots=True)
class HostCounts:
    """What an adapter has done."""

    selections: int = 0
    """Pools that were judged, ranked or chosen from."""
    unjudged: int = 0
    """Those in which no judge had a say, because it failed."""
    unscored: int = 0
    """Candidates and documents without a score."""
    failed_draws: int = 0
    """Candidates that could not be generated."""
    bill: Bill = field(default_factory=Bill)
    """Calls, tokens and cost of the judges alone; what candidates cost is in the results of the host."""


class HostTotals:
    """Adds up what an adapter does, from several threads. Hosts copy adapters unasked: copies count together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = HostCounts()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> HostCounts:
        return self._counts

    def __setstate__(self, counts: HostCounts) -> None:
        self._lock, self._counts = threading.Lock(), counts

    @property
    def counts(self) -> HostCounts:
        """What was done so far."""
        return self._counts

    def add(self, selection: Selection | None, *, failed_draws: int = 0) -> None:
        """Count a selection, or the draws that failed before there was one."""
        with self._lock:
            was = self._counts
            now = replace(was, failed_draws=was.failed_draws + failed_draws)
            if selection is not None:
                now = replace(
                    now,
                    selections=was.selections + 1,
                    unjudged=was.unjudged + is_unjudged(selection),
                    unscored=was.unscored + len(selection.unscored),
                    bill=was.bill + selection.bill,
                )
            self._counts = now


def trail_of(selection: Selection, failed_draws: Iterable[str] = ()) -> dict[str, Any]:
    """Return how a pick came about, in plain values for JSON.

    The keys are ``index`` (None where nothing was picked, which is never candidate 0), ``decided_by``, ``unjudged``,
    ``scores`` in candidate order, ``judge``, ``strategy`` and ``judge_usage``; where there is something to say also
    ``p_best``, ``tied``, ``unscored``, ``failure``, ``lost``, ``failed_draws`` (why candidates are missing) and
    ``strong``.
    """
    found: dict[str, Any] = {
        "index": selection.index,
        "decided_by": selection.decided_by,
        "unjudged": is_unjudged(selection),
        "scores": list(selection.scores),
        "judge": selection.settings["judge"],
        "strategy": selection.settings["strategy"],
        "judge_usage": judge_usage(selection.bill),
    }
    said = {
        "p_best": list(selection.p_best),
        "tied": list(selection.tied),
        "unscored": dict(selection.unscored),
        "failure": selection.failure,
        "lost": selection.lost,
        "failed_draws": list(failed_draws),
        "strong": None if selection.routed is None else selection.routed.strong,
    }
    return found | {name: value for name, value in said.items() if value}


def judge_usage(bill: Bill) -> dict[str, Any]:
    """Return what judging took, `cost` in US dollars or None; ``unknown`` calls had no answer and may be billed."""
    found = {
        "calls": bill.calls,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "cost": bill.cost,
    }
    return found | {name: value for name in ("from_ledger", "unknown") if (value := getattr(bill, name))}


def place_of(one: RankedCandidate, selection: Selection) -> dict[str, Any]:
    """Return what a reranker says of one document: rank and score, or why it has none, in plain values for JSON."""
    verdict = selection.verdicts[one.index] if selection.verdicts else None
    said = {
        "rank": one.rank,
        "score": one.score,
        "unscored": None if one.score is not None else one.reason,
        "low": getattr(verdict, "low", None),
        "high": getattr(verdict, "high", None),
        "standard_error": selection.standard_errors[one.index] if selection.standard_errors else None,
        "p_best": selection.p_best[one.index] if selection.p_best else None,
    }
    return {"judge": selection.settings["judge"]} | {name: value for name, value in said.items() if value is not None}


_MOST = 2**53
"""Larger numbers are no counts, and their sum with a float may overflow."""


def added_usage(usages: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return the sum of what several answers took, level by level; what is no number is taken from the first."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in (usage or {}).items():
            if isinstance(value, Mapping):
                before = total.get(name)
                total[name] = added_usage([before if isinstance(before, Mapping) else None, value])
            elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST:
                before = total.get(name)
                total[name] = value + (before if isinstance(before, int | float) else 0)
            elif total.get(name) is None:
                total[name] = value
    return total
