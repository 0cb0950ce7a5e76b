"""What is said after a run that asked models: what was paid, what is missing, what servers refused or ignored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.cli.arguments import say
from bonwise.report.amounts import money

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.totals import CallTotals
    from bonwise.errors import CallError
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import JudgedPool
    from bonwise.selection.selection import Selection

__all__ = ["RunSummary", "summarise", "tally", "times"]

ENOUGH = 5
"""Questions after which draws that are always alike are no chance."""

SHOWN = 5
"""Reasons, or sets of parameters, that a summary names."""

FOR_GOOD = "the server refused the request"
"""How the reason of an unscored verdict begins where the request was refused for good."""

GUESSED = {"first", "random"}
"""What decides where nothing could be judged: an answer was missing, or none that came had a score."""

CUT = {"deadline", "partial", *GUESSED}
"""What decides where less is known than was asked for."""


@dataclass(slots=True)
class RunSummary:
    """How a run goes.

    Parameters
    ----------
    engine : Engine
    judges : sequence of Judge
    run : pathlib.Path
        The run folder.
    interruption : asyncio.Event
        Set when the run is told to end.
    refused : int
        Verdicts that are missing because a server refused the request for good.
    picks : int
        Pools that were selected from.
    owed : int
        Those of them in which nothing is picked because a judge failed or an answer has not arrived.
    cut : int
        Those of them whose pick does without an answer that has not arrived.
    failure : CallError or None
        An answer that did not arrive and ended the run.
    """

    engine: Engine
    judges: Sequence[Judge]
    run: Path
    interruption: asyncio.Event = field(default_factory=asyncio.Event)
    refused: int = 0
    picks: int = 0
    owed: int = 0
    cut: int = 0
    failure: CallError | None = None
    _parameters: dict[str, dict[str, None]] = field(default_factory=dict)

    def note(self, judged: JudgedPool) -> None:
        """Take in what was found about one pool."""
        from bonwise.data.verdicts import Unscored

        for judge, found in zip(self.judges, judged.judgments, strict=True):
            self._note_missing(verdict.reason for verdict in found.verdicts if isinstance(verdict, Unscored))
            self._parameters.setdefault(judge.name, {}).update(dict.fromkeys(map(_shown, found.effective)))

    def note_pick(self, pick: Selection) -> None:
        """Take in what was picked from one pool."""
        self.picks += 1
        self.owed += pick.decided_by == "owed"
        self.cut += pick.decided_by in CUT and (
            pick.decided_by not in GUESSED or any(reason.startswith("owed") for reason in pick.unscored.values())
        )
        self._note_missing(pick.unscored.values())
        # Further draws, another judge and a router ask with parameters of their own.
        asked_once = max(pick.draws, default=1) <= 1 and not (pick.draws and pick.comparisons)
        if asked_once and pick.routed is None:
            sets = map(_shown, pick.settings["parameters"])
            self._parameters.setdefault(pick.settings["judge"], {}).update(dict.fromkeys(sets))

    @property
    def interrupted(self) -> bool:
        """Whether the run was told to end."""
        return self.interruption.is_set()

    def _note_missing(self, reasons: Iterable[str]) -> None:
        self.refused += sum(reason.startswith(FOR_GOOD) for reason in reasons)

    @property
    def mixtures(self) -> Iterator[tuple[str, list[str]]]:
        """Judges whose questions were not all asked with the same parameters, with the sets in words."""
        for name, parameters in self._parameters.items():
            if len(parameters) > 1:
                yield name, list(parameters)


def summarise(summary: RunSummary) -> None:
    """Say how a run went; nothing where no model was asked."""
    totals = summary.engine.totals
    if totals.answers or totals.bill.owed or totals.bill.calls or summary.engine.spending.calls:
        for line in _lines(summary, totals):
            say(line)


def tally(reasons: Counter[str], what: str) -> Iterator[str]:
    """Yield a line for each of the most common reasons, and one for all the others."""
    for reason, count in reasons.most_common(SHOWN):
        yield f"{what} {times(count)}: {reason}"
    rest = sum(count for _, count in reasons.most_common()[SHOWN:])
    if rest:
        yield f"{what} {times(rest)}: other reasons"


def times(count: int) -> str:
    """Return how often in words.

    Examples
    --------
    >>> times(1), times(2000)
    ('once', '2,000 times')
    """
    return "once" if count == 1 else f"{count:,} times"


def _lines(summary: RunSummary, totals: CallTotals) -> Iterator[str]:
    yield _figures(totals, summary.run)
    yield from _risks(summary.engine, totals)
    yield from _texts(totals)
    if totals.repeated >= ENOUGH and totals.alike == totals.repeated:
        yield (
            f"the draws of all {totals.repeated:,} questions are the same, word for word: the server may ignore the "
            "temperature, and an interval from such draws means nothing"
        )
    for notice, count in totals.notices.most_common():
        yield f"{notice}" + (f" (seen {times(count)})" if count > 1 else "")
    for name, sets in summary.mixtures:
        more = " | ..." if len(sets) > SHOWN else ""
        yield f"{name} was not always asked with the same parameters: {' | '.join(sets[:SHOWN])}{more}"
    if summary.refused:
        yield f"requests refused for good: {summary.refused:,} verdicts are missing; --reask 1 asks again"
    yield from tally(totals.owed_because, "owed")


def _figures(totals: CallTotals, run: Path) -> str:
    bill = totals.bill
    return (
        f"{totals.answers:,} answers: {bill.calls:,} calls sent, {bill.from_ledger:,} answers from the ledger {run}, "
        f"{bill.input_tokens:,} + {bill.output_tokens:,} tokens, {money(bill.cost)}"
    )


def _risks(engine: Engine, totals: CallTotals) -> Iterator[str]:
    """Yield what may cost more than the figures say."""
    spending = engine.spending
    if totals.retries:
        yield f"{totals.retries:,} attempts were made again after a failure"
    if totals.bill.unknown:
        yield f"{totals.bill.unknown:,} calls were sent and never answered; the server may bill them"
    if spending.possible_cost:
        yield (
            f"up to {money(spending.possible_cost)} more may be billed for calls that were never answered, "
            "or answered without a count of tokens"
        )
    if spending.overruns:
        yield f"{spending.overruns:,} answers were longer than allowed: the server ignores the limit on tokens"


def _texts(totals: CallTotals) -> Iterator[str]:
    if totals.shortened:
        yield f"a text was too long and was shown without its middle {times(totals.shortened)}, with a note"
    if totals.replaced:
        yield f"a character that UTF-8 cannot hold was shown as U+FFFD {times(totals.replaced)}"


def _shown(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(parameters.items())) or "none"
