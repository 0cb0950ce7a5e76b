"""Run something that asks models from the command line: limits, Ctrl-C, the summary."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bonwise.cli.arguments import say
from bonwise.cli.progress import money, watched

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.totals import Totals
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import Judged

__all__ = [
    "RUN",
    "BaseUrl",
    "DryRun",
    "MaxCalls",
    "MaxConcurrency",
    "MaxCost",
    "MaxTokens",
    "ModelName",
    "Reask",
    "RunFolder",
    "judge_all",
    "outcome",
    "tally",
]

T = TypeVar("T")

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

ENOUGH = 5
"""Questions after which draws that are always alike are no chance."""

SHOWN = 5
"""Reasons that a summary names."""

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
Reask = Annotated[int, typer.Option("--reask", help="1 asks again where the stored answer is unscored.", min=0)]


def run_engine(make: Callable[[], Engine], work: Callable[[Engine], Coroutine[None, None, T]]) -> tuple[T, bool]:
    """Run asynchronous work with an engine; return what it returns and whether it was interrupted.

    The first Ctrl-C sends nothing new and waits for the calls on the wire, which are paid; the second leaves.
    """

    async def main() -> tuple[T, bool]:
        interrupted = False
        async with make() as engine:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()

            def interrupt() -> None:
                nonlocal interrupted
                if interrupted and task is not None:
                    engine.abandon("interrupted")
                    task.cancel()
                    return
                interrupted = True
                say("interrupted: waiting for the calls on the wire (Ctrl-C again to leave them)")
                engine.stop("interrupted")

            if sys.platform != "win32":  # there a Ctrl-C cancels the work, and the calls on the wire are awaited
                loop.add_signal_handler(signal.SIGINT, interrupt)
            return await work(engine), interrupted

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def judge_all(
    pools: Sequence[Pool],
    judges: Sequence[Judge],
    make: Callable[[], Engine],
    each: Callable[[Judged], None],
) -> tuple[Totals, bool]:
    """Judge pools and hand each on in input order; return the totals and whether the run was interrupted."""
    from bonwise.judges.scoring import expected_answers, judge_pools

    async def work(engine: Engine) -> Totals:
        async with watched(engine, expected_answers(pools, judges)):
            async for judged in judge_pools(pools, judges, engine):
                each(judged)
        engine.raise_if_denied()
        return engine.totals

    return run_engine(make, work)


def outcome(totals: Totals, run: Path, *, interrupted: bool) -> int:
    """Say how a run went and return its exit code."""
    summarise(totals, run)
    if interrupted:
        return INTERRUPTED
    if totals.bill.owed:
        say(f"incomplete: {totals.bill.owed:,} answers are owed; the same command asks for them, and only for them")
        return INCOMPLETE
    return 0


def summarise(totals: Totals, run: Path) -> None:
    """Say what was asked, what it cost, and what the servers refused or ignored."""
    bill = totals.bill
    if not totals.answers and not bill.owed:
        return
    cost = money(bill.cost)
    say(
        f"{totals.answers:,} answers: {bill.calls:,} calls sent, {bill.from_ledger:,} answers from the ledger {run}, "
        f"{bill.input_tokens:,} + {bill.output_tokens:,} tokens, {cost}"
    )
    if bill.unknown:
        say(f"{bill.unknown:,} calls were sent and never answered; the server may bill them")
    if totals.shortened:
        say(f"a text was too long and was shown without its middle {times(totals.shortened)}, with a note")
    if totals.repeated >= ENOUGH and totals.alike == totals.repeated:
        say(
            f"the draws of all {totals.repeated:,} questions are the same, word for word: the server may ignore the "
            "temperature, and an interval from such draws means nothing"
        )
    for notice, count in totals.notices.most_common():
        say(f"{notice}" + (f" (seen {times(count)})" if count > 1 else ""))
    for line in tally(totals.owed_because, "owed"):
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
