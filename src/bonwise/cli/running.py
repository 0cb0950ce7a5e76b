"""Run something that asks models from the command line: limits, Ctrl-C, the summary."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bonwise.cli.arguments import say
from bonwise.cli.progress import money

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.totals import Totals

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
    "run_engine",
    "summarise",
]

T = TypeVar("T")

RUN = Path("bonwise-run")
"""The run folder of a command that names none: a paid answer is never kept nowhere."""

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
        say(f"{totals.shortened:,} times a text was too long and was shown without its middle, with a note")
    for notice, count in totals.notices.most_common():
        say(f"{notice}" + (f" (seen {count:,} times)" if count > 1 else ""))
    for reason, count in totals.owed_because.most_common(5):
        say(f"{count:,} calls owed: {reason}")
