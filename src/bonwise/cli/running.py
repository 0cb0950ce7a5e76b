"""Run something that asks models from the command line: limits, Ctrl-C, and how it ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import say
from bonwise.cli.progress import Goal, watched
from bonwise.cli.summary import RunSummary, summarise
from bonwise.errors import CallError

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import JudgedPool
    from bonwise.selection.selection import Selection
    from bonwise.selection.settings import SelectionSettings

__all__ = [
    "RUN",
    "BaseUrl",
    "Deadline",
    "DryRun",
    "MaxCalls",
    "MaxConcurrency",
    "MaxCost",
    "MaxTokens",
    "ModelName",
    "Reask",
    "RunFolder",
    "SelectDeadline",
    "choose_all",
    "engine_from",
    "judge_all",
    "outcome",
]

AT_ONCE = 64
"""The least number of pools that may be under way."""

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

BAD_INPUT = 2
INCOMPLETE = 4
INTERRUPTED = 130

ModelName = Annotated[str | None, typer.Option("--model", help="provider/model for judges that name none.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Another server that speaks the same language.")]
RunFolder = Annotated[Path, typer.Option("--run", help="Run folder: the ledger of paid answers.")]
MaxConcurrency = Annotated[int, typer.Option("--max-concurrency", help="Calls in flight at once.", min=1)]
MaxCost = Annotated[float | None, typer.Option("--max-cost", help="Most US dollars this command may spend.")]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", help="Most calls this command may send.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", help="Most tokens this command may use.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and cost; send nothing.")]
Deadline = Annotated[
    float | None,
    typer.Option("--deadline", help="Seconds for one question: after them it is not tried again, but owed."),
]
SelectDeadline = Annotated[
    float | None,
    typer.Option("--deadline", help="Seconds for one pool: after them the best known is picked, else --on-failure."),
]
Reask = Annotated[int, typer.Option("--reask", help="1 asks again where the stored answer is unscored.", min=0)]


def engine_from(
    judges: Sequence[Judge],
    run: Path,
    *,
    max_concurrency: int,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    deadline: float | None,
    reask: int,
    asking: bool = False,
    impatient: bool = False,
) -> Engine:
    """Return the engine that the flags of a command describe.

    Where no judge asks a model, and `asking` does not say that something else does, there is no run folder.
    Where it is `impatient`, no attempt takes longer than the deadline.
    """
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection
    from bonwise.judges.protocol import is_asking
    from bonwise.selection.engine_settings import hurried

    return Engine(
        run if asking or any(is_asking(judge) for judge in judges) else None,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost=max_cost,
        deadline=deadline,
        reask=reask,
        connection=hurried(Connection(connections=max_concurrency), deadline if impatient else None),
    )


def judge_all(
    pools: Sequence[Pool],
    judges: Sequence[Judge],
    engine: Engine,
    run: Path,
    each: Callable[[JudgedPool], None],
) -> RunSummary:
    """Judge pools, hand each on in input order, and return how it went; whatever ends it, what was paid is said."""
    from bonwise.judges.scoring import expected_answers, judge_pools

    summary = RunSummary(engine, judges, run)
    goal = Goal("answers", lambda: engine.totals.answers, expected_answers(pools, judges))

    async def work() -> None:
        async with watched(engine, goal):
            async for judged in judge_pools(pools, judges, engine):
                summary.note(judged)
                each(judged)

    _finish(summary, work)
    return summary


def choose_all(
    pools: Iterator[Pool],
    plan: SelectionSettings,
    engine: Engine,
    run: Path,
    each: Callable[[Selection], None],
    *,
    total: int | None,
    at_once: int,
) -> RunSummary:
    """Pick from pools as they come, hand each pick on in input order, and return how it went.

    Parameters
    ----------
    pools : iterator of Pool
        Read in a thread of its own; what it raises is raised after the picks before it.
    plan : SelectionSettings
        Its router sees the pools in input order.
    engine : Engine
    run : pathlib.Path
    each : callable
    total : int or None
        How many pools there are; None where nobody knows.
    at_once : int
        Pools under way: at least `AT_ONCE`, but no more than these where each has a deadline, which does not wait.
    """
    from bonwise.judges.pool_loop import ThreadReader, Turns, work_on_many
    from bonwise.selection.job import Job

    summary, turns = RunSummary(engine, [plan.judge], run), Turns()

    async def choose(position: int, pool: Pool) -> Selection:
        try:
            return await Job.from_any(pool, position).by(engine, plan, partial(turns.wait, position))
        finally:
            turns.give_up(position)

    under_way = at_once if plan.deadline is not None else max(AT_ONCE, at_once)

    async def work() -> None:
        found = work_on_many(ThreadReader(pools), choose, at_once=under_way, stop=summary.interruption)
        async with watched(engine, Goal("pools", lambda: summary.picks, total)), aclosing(found):
            async for pick in found:
                summary.note_pick(pick)
                each(pick)

    try:
        _finish(summary, work)
    except CallError as error:
        summary.failure = error
    return summary


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
        say(f"incomplete: {owed:,} answers are owed; the same command asks for them, and only for them")
        return INCOMPLETE
    if summary.owed or summary.cut or summary.failure is not None:
        say(f"incomplete: {_lacking(summary)}; the same command continues")
        return INCOMPLETE
    return 0


def _lacking(summary: RunSummary) -> str:
    """Say of how many pools an answer is missing."""
    found = [f"{summary.owed:,} pools have no pick"] if summary.owed else []
    if summary.cut:
        found.append(f"{summary.cut:,} picks rest on less than was asked for")
    return " and ".join(found) or "a judge was not answered"


def _finish(summary: RunSummary, work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run to the end; whatever ends it, what was paid is said."""
    try:
        _run(summary, work)
    except BaseException:
        summarise(summary)
        raise


def _run(summary: RunSummary, work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run asynchronous work with the engine of a summary, and close it.

    The first Ctrl-C sends nothing new and waits for the calls on the wire, which are paid; the second leaves.
    """

    async def main() -> None:
        async with summary.engine as engine:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()

            def interrupt() -> None:
                if summary.interrupted and task is not None:
                    engine.abandon("interrupted")
                    task.cancel()
                    return
                summary.interruption.set()
                say("interrupted: waiting for the calls on the wire (Ctrl-C again to leave them)")
                engine.stop("interrupted")

            if sys.platform != "win32":  # there a Ctrl-C cancels the work, and the calls on the wire are awaited
                for sent in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(sent, interrupt)
            await work()

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
