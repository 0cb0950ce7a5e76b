"""What is said after a run that asked models: what was paid, what is missing, what servers refused or ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.cli.arguments import say
from bonwise.data.wording import quoted
from bonwise.report.amounts import money
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.totals import CallTotals
    from bonwise.runs.summary import RunSummary

__all__ = ["filled_lines", "summarise", "tally", "times"]

ENOUGH = 5
"""Questions after which draws that are always alike are no chance."""

SHOWN = 5
"""Reasons, or sets of parameters, that a summary names."""


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


def filled_lines(filled: Counter[str]) -> Iterator[str]:
    """Yield a line for each judge of a stack that did not score some candidates."""
    for name, count in filled.most_common():
        without = f"{counted(count, 'candidate')} without a score by {quoted(name)}"
        yield f"{without}: the stack took what its other judges let expect"


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
        missing = f"{counted(summary.refused, 'verdict')} {'is' if summary.refused == 1 else 'are'} missing"
        yield f"requests refused for good: {missing}; --reask 1 asks again"
    yield from tally(totals.owed_because, "pending")


def _figures(totals: CallTotals, run: Path | None) -> str:
    bill, ledger = totals.bill, "the ledger" if run is None else f"the ledger {run}"
    sent, kept = counted(bill.calls, "call"), counted(bill.from_ledger, "answer")
    return (
        f"{counted(totals.answers, 'answer')}: {sent} sent, {kept} from {ledger}, "
        f"{bill.input_tokens:,} + {bill.output_tokens:,} tokens, {money(bill.cost)}"
    )


def _risks(engine: Engine, totals: CallTotals) -> Iterator[str]:
    """Yield what may cost more than the figures say."""
    spending = engine.spending
    if totals.retries:
        yield f"{_were(totals.retries, 'attempt')} made again after a failure"
    if totals.bill.unknown:
        yield f"{_were(totals.bill.unknown, 'call')} sent and never answered; the server may bill for that"
    possible = money(spending.possible_cost) if spending.possible_cost else ""
    if possible or spending.possible_tokens:
        yield (
            f"up to {possible or counted(spending.possible_tokens, 'token')} more may be billed for calls that were "
            "never answered, or answered without a count of all tokens"
        )
    if spending.overruns:
        yield f"{_were(spending.overruns, 'answer')} longer than allowed: the server ignores the limit on tokens"


def _were(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {'was' if count == 1 else 'were'}"


def _texts(totals: CallTotals) -> Iterator[str]:
    if totals.shortened:
        yield f"a text was too long and was shown without its middle {times(totals.shortened)}, with a note"
    if totals.replaced:
        yield f"a character that UTF-8 cannot hold was shown as U+FFFD {times(totals.replaced)}"
