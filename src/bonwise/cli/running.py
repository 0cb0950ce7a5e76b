"""Run something that asks models from the command line: limits, Ctrl-C, and how it ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.cli.arguments import say
from bonwise.cli.progress import shown_progress
from bonwise.cli.summary import summarise
from bonwise.errors import CallError
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import JudgedPool
    from bonwise.runs.control import RunControl
    from bonwise.runs.summary import RunSummary
    from bonwise.selection.engine_settings import EngineSettings
    from bonwise.selection.selection import Selection
    from bonwise.selection.selector import Selector

__all__ = ["BAD_INPUT", "judge_all", "outcome", "select_all"]

BAD_INPUT = 2
INCOMPLETE = 4
INTERRUPTED = 130


def judge_all(
    pools: Sequence[Pool],
    judges: Sequence[Judge],
    settings: EngineSettings,
    run: Path,
    each: Callable[[JudgedPool], None],
) -> RunSummary:
    """Judge pools, hand each on in input order, and return how it went; whatever ends it, what was paid is said."""
    from bonwise.judges.pool_loop import SyncReader
    from bonwise.judges.scoring import expected_answers
    from bonwise.runs.control import RunControl, Stop
    from bonwise.runs.judge_many import judged_by

    async def work(control: RunControl) -> None:
        async with (
            settings.engine(()) as engine,
            aclosing(judged_by(judges, SyncReader(iter(pools)), engine, control, run)) as found,
        ):
            async for judged in found:
                each(judged)

    with shown_progress() as progress:
        return _finished(RunControl(progress, Stop(), expected_answers(pools, judges)), work)


def select_all(
    pools: Iterator[Pool], selector: Selector, run: Path, each: Callable[[Selection], None], *, total: int | None
) -> RunSummary:
    """Pick from pools as they come, hand each pick on in input order, and return how it went.

    Parameters
    ----------
    pools : iterator of Pool
        Read in a thread of its own; what it raises is raised after the picks before it.
    selector : Selector
        Its router sees the pools in input order.
    run : pathlib.Path
    each : callable
    total : int or None
        How many pools there are; None where nobody knows.
    """
    from bonwise.judges.pool_loop import read_in_thread
    from bonwise.runs.control import RunControl, Stop
    from bonwise.runs.select_many import selected_by

    async def work(control: RunControl) -> None:
        async with (
            selector,
            aclosing(read_in_thread(pools)) as coming,
            aclosing(selected_by(selector, coming, control, run)) as picks,
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


def outcome(summary: RunSummary) -> int:
    """Say how a run went and return its exit code."""
    if summary.failure is None:
        summarise(summary)
    else:
        say(str(summary.failure))
    denial, owed = summary.engine.denial(), summary.engine.totals.bill.owed
    if denial is not None:
        say(str(denial))
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
    return 0


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
    """Run asynchronous work to its end.

    The first Ctrl-C sends nothing new and waits 5 s for the calls on the wire, which are paid; the second leaves.
    """

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
