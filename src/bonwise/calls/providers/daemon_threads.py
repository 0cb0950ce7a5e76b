"""Calls that block, each in a thread of its own that no program waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import copy_context
from typing import Any

__all__ = ["in_daemon_thread"]


async def in_daemon_thread(call: Callable[[], Any]) -> Any:
    """Make a call in a thread of its own and wait for it while the event loop goes on.

    Who is cancelled leaves the call behind: it cannot be interrupted and runs on. A pool of threads would give its
    place to nobody else meanwhile, and a program would wait for it at its end.

    Examples
    --------
    >>> asyncio.run(in_daemon_thread(lambda: 1 + 1))
    2
    """
    context = copy_context()
    value, error = await asyncio.get_running_loop().run_in_executor(_DaemonThread(), context.run, call)
    if error is None:
        return value
    # What is no plain exception would end the event loop, or pass for the end of whoever waits.
    raise error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__} in a thread")


class _DaemonThread(Executor):
    """An executor, for event loops keep an eye on those."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        """Start a thread."""
        result: Future[Any] = Future()

        def run() -> None:
            if not result.set_running_or_notify_cancel():
                return
            try:
                outcome: tuple[Any, BaseException | None] = call(*arguments, **settings), None
            except BaseException as error:  # noqa: BLE001 - nobody could catch it here, and who waits would wait for ever
                outcome = None, error
            # A value, for the future of an event loop does not take every exception.
            result.set_result(outcome)

        threading.Thread(target=run, name="bonwise-client", daemon=True).start()
        return result
