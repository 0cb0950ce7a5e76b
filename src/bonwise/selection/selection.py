"""What a selection found and how it came to it, and what many selections come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import Bill
from bonwise.documented import DocumentedResult
from bonwise.table.verdicts import Score, Verdict, preferred

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.selection.result import LatencyTotals, SelectionsDocument, SelectionTotals

__all__ = ["Comparison", "Routed", "Selection", "Totals"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two candidates that were compared."""

    a: str
    """Ids."""
    b: str
    """Ids."""
    value: float | None
    """What `a` earned on average over the orders that were scored: 1 won, 0 lost, 0.5 tied; None where none was."""
    order_effect: float | None
    """How much more `a` earned when shown first; None unless both orders were scored."""

    @property
    def verdict_changes(self) -> bool | None:
        """Whether one candidate, the other or a tie is the verdict in one order, and another in the other order."""
        if self.value is None or self.order_effect is None:
            return None
        half = self.order_effect / 2
        return preferred(self.value + half) != preferred(self.value - half)


@dataclass(frozen=True, slots=True)
class Routed:
    """What a router made of the pool."""

    strong: str | None
    """The stronger judge, where it decided."""
    signal: float | None
    reason: str
    first_pick: str | None = None
    """Id of the candidate that the first pass alone would have kept."""


@dataclass(frozen=True)
class Selection(DocumentedResult):
    """The pick of one pool.

    Examples
    --------
    >>> import bonwise as bw
    >>> pick = bw.select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by, pick.calls
    ('red', 'score', 0)
    """

    prompt_id: str | None
    best: Any
    """The candidate as it was passed in; None when nothing could be scored."""
    best_id: str | None
    index: int | None
    """Position of the best among the candidates."""
    text: str | None = field(repr=False)
    """Its text."""
    ids: tuple[str, ...] = field(repr=False)
    """Candidate ids, in candidate order."""
    scores: tuple[float | None, ...]
    """What each is ranked by, in candidate order, None where unscored."""
    ranking: tuple[str, ...] = field(repr=False)
    """Ids from best to worst, unscored ones left out; ties are in the seeded order."""
    tied: tuple[str, ...]
    """Ids that share the top score, empty where one stands alone."""
    decided_by: str
    """``score``; ``comparison``, where equal scores were compared; ``tie-break``, where the seed decided; ``only
    candidate``; ``same text``, where all candidates are one and the same text; ``nothing scored``; ``owed``, where an
    answer has not arrived and a later run asks for it; ``deadline``, the best that was known by then; ``partial``,
    the best of those that could be judged; ``first`` and ``random``, where nothing could be judged and `on_failure`
    says so.
    """
    unscored: Mapping[str, str]
    """Id to reason."""
    settings: Mapping[str, Any] = field(repr=False)
    """``judge``, ``judge_version``, ``strategy``, ``seed``, the package's ``version``, and ``parameters``: every set
    of sampling parameters that was really sent, in order of first appearance; empty where no model was asked.
    """
    standard_errors: tuple[float | None, ...] = field(default=(), repr=False)
    """Of the scores, in candidate order; empty where none is known."""
    p_best: tuple[float | None, ...] = field(default=(), repr=False)
    """Posterior probability that a candidate is the best, in candidate order; empty where unknown. Candidates of one
    and the same text share it.
    """
    expected_regret: float | None = field(default=None, repr=False)
    """Posterior expectation of what the best candidate's score exceeds the pick's by."""
    draws: tuple[int, ...] = field(default=(), repr=False)
    """Scores asked of each candidate, in candidate order; empty where candidates were only compared."""
    level: tuple[str, ...] = field(default=(), repr=False)
    """Ids among which the seed decided; empty where it decided nothing."""
    stopped: str = field(default="", repr=False)
    """Why nothing more was asked."""
    comparisons: tuple[Comparison, ...] = field(default=(), repr=False)
    """In the order in which they were asked."""
    routed: Routed | None = field(default=None, repr=False)
    """None without a router."""
    failure: str = ""
    """What went wrong, where the pick rests on less than was asked for; empty otherwise."""
    latency: float = field(default=0.0, repr=False, compare=False)
    """Seconds from the call to the answer."""
    bill: Bill = field(default_factory=Bill, repr=False, compare=False)
    """Calls, tokens and cost."""
    verdicts: tuple[Verdict | None, ...] = field(default=(), repr=False)
    """What the judge said of each candidate, in candidate order; None where no judge was needed. A `Score` has the
    `value` of `scores`; `low` and `high`, where the judge states an interval: of several draws the mean of the stated
    ends, which say how sure the judge is of one score and are no standard error; `draws`, where there are several;
    and `raw`, the judge's words, of which long replies lose their middle. An `Unscored` has the reason. Where a
    stronger judge decided, the verdicts are its own.
    """
    evaluations: int = field(default=0, repr=False)
    """Candidates that judges which ask no model have judged; a redraw counts again. Calls of models are in `bill`."""
    p_best_reason: str = field(default="", repr=False)
    """Why a strategy that draws again states no `p_best` and no `expected_regret`; empty where it states them."""

    @property
    def calls(self) -> int:
        """Calls of a model that were sent."""
        return self.bill.calls

    @property
    def cost(self) -> float | None:
        """In US dollars; None where unknown."""
        return self.bill.cost

    @property
    def filled(self) -> dict[str, int]:
        """Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect."""
        return dict(Counter(name for one in self.verdicts if isinstance(one, Score) for name in one.filled))

    @property
    def order_effect(self) -> float | None:
        """Mean of how much more a candidate earned when shown first; None where no pair was scored in both orders."""
        found = [one.order_effect for one in self.comparisons if one.order_effect is not None]
        return sum(found) / len(found) if found else None

    def document(self) -> SelectionsDocument:
        """Return a document of schema ``bonwise.selections/1``: this pick alone, with the text of the best."""
        from bonwise.selection.result import document_of  # noqa: PLC0415 - picking needs no document

        return document_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the line that ``bonwise select`` writes; ``best`` is the id."""
        from bonwise.selection.result import pick_record  # noqa: PLC0415 - picking needs no record

        return pick_record(self).to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate, in candidate order.

        Columns: ``prompt_id``, ``candidate``, ``score``, ``rank`` (1 is the best; equal scores are in the seeded
        order, and what is unscored has none), ``picked``, ``tied`` (whether it shares the top score),
        ``standard_error``, ``p_best``, ``draws``, ``unscored``: the reason, where there is no score; ``low``,
        ``high`` and ``raw``: what the judge said.
        """
        return super().to_frame()


_MOST_REASONS = 100
"""Reasons that are kept apart: servers put request numbers into theirs."""

UNASKED = frozenset({"only candidate", "same text", "nothing scored", "owed"})
"""What decides where no strategy came to its end."""

_STEP = math.log(1.01)
"""Latencies are counted in classes, each this much wider than the one before: quantiles are exact to 1 %."""


@dataclass(slots=True)
class Totals:
    """Running figures of any number of selections, in bounded memory.

    Examples
    --------
    >>> import bonwise as bw
    >>> totals = Totals()
    >>> totals.note(bw.select("Say hi", ["hello", "hi"], judge=lambda prompt, text: -len(text)))
    >>> totals.record().decided_by
    {'score': 1}
    """

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
    _seconds: float = 0.0
    _longest: float = 0.0

    def note(self, pick: Selection) -> None:
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
        self._filled.update(pick.filled)
        if pick.routed is not None:
            _count(self._routes, pick.routed.reason)
            self._sent += pick.routed.strong is not None
            self._changed += pick.routed.strong is not None and pick.routed.first_pick != pick.best_id
        self._note_comparisons(pick)
        self._note_spending(pick)

    def _note_comparisons(self, pick: Selection) -> None:
        for one in pick.comparisons:
            self._without += one.value is None
            if one.order_effect is not None:
                self._pairs += 1
                self._advantage += one.order_effect
                self._differing += one.verdict_changes is True

    def _note_spending(self, pick: Selection) -> None:
        self._unpriced += pick.bill.cost is None
        self._bill += replace(pick.bill, cost=pick.bill.cost or 0.0)  # an unknown one would hide all others
        self._seconds += pick.latency
        self._longest = max(self._longest, pick.latency)
        self._latencies[math.floor(math.log(max(pick.latency, 1e-6)) / _STEP)] += 1

    def record(self) -> SelectionTotals:
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
            ),
            calls=bill.calls,
            answers=bill.calls + bill.from_ledger,
            from_ledger=bill.from_ledger,
            input_tokens=bill.input_tokens,
            output_tokens=bill.output_tokens,
            reused_tokens=bill.reused_tokens,
            cost=bill.cost or 0.0,
            unpriced=self._unpriced,
            latency=self._latency(),
            **given(filled=_counts(self._filled) or None),
        )

    def _latency(self) -> LatencyTotals | None:
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
