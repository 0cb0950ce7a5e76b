"""What an adapter has done so far: counts, and what its judges have cost."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, Self

from bonwise.calls.bill import Bill
from bonwise.selection.selection import Selection

__all__ = ["HostCounts", "HostTotals", "is_unjudged"]

_WITHOUT_A_JUDGE = frozenset({"first", "random"})
"""What `decided_by` says of a pick that a failed judge left to the seed, or to the order of the candidates."""


def is_unjudged(selection: Selection) -> bool:
    """Tell whether no judge had a say in a pick that needed one.

    Examples
    --------
    >>> import bonwise as bw
    >>> def broken(prompt, text):
    ...     raise RuntimeError("out of order")
    >>> pick = bw.select("Name a colour", ["red", "a kind of blue"], judge=broken, on_failure="random")
    >>> is_unjudged(pick), pick.decided_by
    (True, 'random')
    """
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
