"""Run something that asks models from the command line: limits, progress, Ctrl-C, and what is said afterwards."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bonwise.cli.arguments import say
from bonwise.errors import CallError
from bonwise.printable import quoted
from bonwise.progress import time_left
from bonwise.report.numbers import counted, money

if TYPE_CHECKING:
    from bonwise.calls.bill import Bill, CallTotals
    from bonwise.calls.engine import Engine
    from bonwise.judges import protocol, scoring
    from bonwise.selection import selection, settings
    from bonwise.selection.run import Progress, RunControl, RunProgress, RunSummary
    from bonwise.selection.selector import Selector
    from bonwise.table.pools import Pool

LINE_PAUSE = 15.0
"""Seconds between two lines: a bar is redrawn, a line stays."""

COUNT_PAUSE = 2.0
"""The same for a mere count, of what takes seconds and not hours."""

_BAR = 12
"""Columns of the bar."""

T = TypeVar("T")


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show how far a run has come until the block ends."""
    with _bar() if sys.stderr is not None and sys.stderr.isatty() else _progress_lines() as show:
        yield show


def shown_count(things: Iterable[T], what: str) -> Iterator[T]:
    """Yield things, and say now and then how many there were; for what ends without a known number."""
    said_at = time.monotonic()
    for count, thing in enumerate(things, 1):
        yield thing
        if count % 1000 == 0 and time.monotonic() >= said_at + COUNT_PAUSE:
            said_at = time.monotonic()
            say(f"{counted(count, what)} so far")


@contextmanager
def _progress_lines() -> Iterator[Progress]:
    said_at, said_last = 0.0, ""

    def show(now: RunProgress) -> None:
        nonlocal said_at, said_last
        figures = _progress_figures(now)
        # As long as nothing has come a line says something new: a batch may take a day.
        if now.seconds >= said_at + LINE_PAUSE and (now.done or figures != said_last):
            said_at, said_last = now.seconds, figures
            left = [] if now.total is None else [time_left(now.done, now.total, now.seconds)]
            say(", ".join([figures, *left]))

    yield show


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    # Cost and time left never give way; of the figures, what is least important stands last and is cut first.
    columns: list[ProgressColumn] = [
        BarColumn(bar_width=_BAR),
        TextColumn("{task.fields[cost]}", markup=False, table_column=Column(no_wrap=True)),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=rest),
    ]
    with Bar(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("", total=None, cost="")

        def show(now: RunProgress) -> None:
            figures = ", ".join(_parts(now))
            bar.update(task, total=now.total, completed=now.done, description=figures, cost=money(now.cost))

        yield show


def _progress_figures(now: RunProgress) -> str:
    return ", ".join([*_parts(now), money(now.cost)])


def _parts(now: RunProgress) -> list[str]:
    of = "" if now.total is None else f" of {now.total:,}"
    parts = [f"{now.done:,}{of} {now.what}"]
    parts += [counted(now.answers, "answer")] if now.what != "answers" else []
    parts += [f"{now.from_ledger:,} from the ledger"]
    parts += [f"{now.unscored:,} unscored"] if now.unscored else []
    parts += [f"{now.pending:,} failed"] if now.pending else []
    # Once something has been answered nobody knows any more why those before it wait.
    why = f" ({_short(now.trouble)})" if now.trouble else ""
    parts += [f"{now.waiting:,} to be tried again{why}"] if now.waiting else []
    return parts


def _short(trouble: str) -> str:
    from bonwise.printable import printable

    return printable(trouble, longest=60)


ENOUGH = 5
"""Questions after which draws that are always alike are no chance."""

SHOWN = 5
"""Reasons, or sets of parameters, that a summary names."""


def summarise(summary: RunSummary) -> None:
    """Say how a run went; nothing where no model was asked."""
    totals = summary.engine.totals
    if totals.answers or totals.bill.owed or totals.bill.calls or summary.engine.spending.calls:
        for line in _summary_lines(summary, totals):
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
    """Return how often in words."""
    return "once" if count == 1 else f"{count:,} times"


def _summary_lines(summary: RunSummary, totals: CallTotals) -> Iterator[str]:
    yield _summary_figures(totals, summary.run)
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


def _summary_figures(totals: CallTotals, run: Path | str | None) -> str:
    ledger = "the ledger" if run is None else f"the ledger {run}"
    return f"{counted(totals.answers, 'answer')}: {figures_of(totals.bill, ledger)}"


def figures_of(bill: Bill, ledger: str = "the ledger") -> str:
    """Return what answers took: calls, tokens and dollars."""
    sent, kept = counted(bill.calls, "call"), counted(bill.from_ledger, "answer")
    tokens = f"{bill.input_tokens:,} + {bill.output_tokens:,} tokens"
    return f"{sent} sent, {kept} from {ledger}, {tokens}, {money(bill.cost)}"


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
    for limit, spent in spending.exceeded.items():
        gone = money(spent) if limit.startswith("max_cost") else f"{spent:,}"
        yield f"WARNING: {limit} was exceeded by calls in flight: {gone} is spent"


def _were(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {'was' if count == 1 else 'were'}"


def _texts(totals: CallTotals) -> Iterator[str]:
    if totals.shortened:
        yield f"a text was too long and was shown without its middle {times(totals.shortened)}, with a note"
    if totals.replaced:
        yield f"a character that UTF-8 cannot hold was shown as U+FFFD {times(totals.replaced)}"


NOTHING_SCORED = 1
BAD_INPUT = 2
INCOMPLETE = 4
INTERRUPTED = 130


def judge_all(
    pools: Sequence[Pool],
    judges: Sequence[protocol.Judge],
    engines: settings.Engines,
    run: Path | str,
    each: Callable[[scoring.JudgedPool], None],
    in_batches: tuple[bool, bool] | None = None,
) -> RunSummary:
    """Judge pools, hand each on in input order, and return how it went; whatever ends it, what was paid is said."""
    from bonwise.judges import pool_loop, scoring
    from bonwise.judges.protocol import is_asking
    from bonwise.selection.many_pools import judged_by, rounds_before
    from bonwise.selection.run import RunControl, Stop

    before = rounds_before(in_batches, pools, judges, say)

    async def work(control: RunControl) -> None:
        async with (
            engines.make() as engine,
            aclosing(judged_by(judges, pool_loop.SyncReader(iter(pools)), engine, control, run, before)) as found,
        ):
            async for judged in found:
                each(judged)

    total = scoring.expected_answers(pools, judges) if any(map(is_asking, judges)) else len(pools)
    with shown_progress() as progress:
        return _finished(RunControl(progress, Stop(), total), work)


def judge_all_by_ray(
    pools: Sequence[Pool],
    judges: Sequence[protocol.Judge],
    engines: settings.Engines,
    shares: Mapping[str, int | None],
    each: Callable[[scoring.JudgedPool], None],
) -> RunSummary:
    """Do what `judge_all` does, in processes of Ray; `shares` says how the work is divided among them."""
    from bonwise.calls.engine import Engine
    from bonwise.scale import judge_blocks
    from bonwise.selection.run import RunSummary

    stated = {name: value for name, value in shares.items() if value is not None}
    summary, totals = RunSummary(Engine(), judges, engines.run), {}
    for judged, (worker, asked) in shown_count(judge_blocks(pools, judges, engines.settings, **stated), "pool"):
        summary.note(judged)
        totals[worker] = asked
        each(judged)
    for asked in totals.values():
        summary.engine.totals.add(asked)
    return summary


def select_all(
    pools: Iterator[Pool],
    selector: Selector,
    run: Path | str,
    each: Callable[[selection.Selection], None],
    *,
    total: int | None,
) -> RunSummary:
    """Pick from pools as they come, hand picks on in input order, and return how it went; errors follow the picks."""
    from bonwise.judges.pool_loop import read_in_thread
    from bonwise.selection.many_pools import selected_by
    from bonwise.selection.run import RunControl, Stop

    async def work(control: RunControl) -> None:
        # Where `total` is known the pools stand in a file, which never makes the event loop wait long.
        here = total is not None and selector.computes_here
        async with (
            selector,
            aclosing(read_in_thread(() if here else pools)) as coming,
            aclosing(selected_by(selector, pools if here else coming, control, run)) as picks,
        ):
            async for pick in picks:
                each(pick)

    with shown_progress() as progress:
        control = RunControl(progress, Stop(), total)
        try:
            return _finished(control, work)
        except CallError as error:
            if control.summary is None:
                raise
            control.summary.failure = error
            return control.summary


def outcome(summary: RunSummary, *, allow_unscored: bool) -> int:
    """Say how a run went and return its exit code; `allow_unscored` is 0 where nothing was scored."""
    if summary.failure is None:
        summarise(summary)
    else:
        say(str(summary.failure))
    denial, owed = summary.engine.denial(), summary.engine.totals.bill.owed
    if denial is not None:
        say(f"{denial.message}: {denial.hint}; the same command then asks for what is missing")
        return BAD_INPUT
    if summary.interrupted:
        return INTERRUPTED
    if owed:
        pending = f"{counted(owed, 'answer')} {'is' if owed == 1 else 'are'} pending"
        say(f"incomplete: {pending}; the same command asks for nothing else")
        return INCOMPLETE
    if summary.owed or summary.cut or summary.failure is not None:
        say(f"incomplete: {_lacking(summary)}; the same command continues")
        return INCOMPLETE
    if summary.unscored and not summary.scored:
        look = ": look at what was said with bonwise ledger export" if summary.engine.totals.answers else ""
        say(f"nothing was scored{look}" + ("" if allow_unscored else "; with --allow-unscored that is exit code 0"))
        return 0 if allow_unscored else NOTHING_SCORED
    return 0


def unscored_lines(unscored: int, candidates: int, by: str = "") -> Iterator[str]:
    """Yield a warning where more than a tenth of the candidates have no score; `tally` counts the reasons."""
    if unscored * 10 > candidates:
        yield f"WARNING: {unscored:,} of {counted(candidates, 'candidate')} have no score{by}"


def _lacking(summary: RunSummary) -> str:
    """Say of how many pools an answer is missing."""
    found = []
    if summary.owed:
        found.append(f"{counted(summary.owed, 'pool')} {'has' if summary.owed == 1 else 'have'} no pick")
    if summary.cut:
        found.append(
            f"{counted(summary.cut, 'pick')} {'rests' if summary.cut == 1 else 'rest'} on less than was asked for"
        )
    return " and ".join(found) or "a judge was not answered"


def _finished(control: RunControl, work: Callable[[RunControl], Coroutine[None, None, None]]) -> RunSummary:
    """Run to the end and return how it went; whatever ends it, what was paid is said."""
    try:
        _run(control, work)
    except BaseException:
        if control.summary is not None:
            summarise(control.summary)
        raise
    return control.how_it_went


def _run(control: RunControl, work: Callable[[RunControl], Coroutine[None, None, None]]) -> None:
    """Run to the end; the first Ctrl-C stops sending and waits 5 s for paid calls on the wire, the second leaves."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            if not control.stop.requests:
                say("interrupted: waiting up to 5 s for the calls on the wire (Ctrl-C again to leave them)")
            control.stop.request()

        if sys.platform != "win32":  # there a Ctrl-C cancels the work, and the calls on the wire are awaited
            for sent in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(sent, interrupt)
        await work(control)

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
