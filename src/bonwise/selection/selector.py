"""The long-lived object that a service holds: one judge, one strategy, one ledger, many pools."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bonwise.errors import UsageError
from bonwise.judges.protocol import Judge
from bonwise.selection.bench import prepare
from bonwise.selection.home import Home, LoopHome, PortalHome
from bonwise.selection.job import Job
from bonwise.selection.plan import OnFailure, Routing, plan_of
from bonwise.selection.protocol import Strategy
from bonwise.selection.selection import Selection

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection

__all__ = ["Selector"]

T = TypeVar("T")


class Selector:
    """Picks the best of n, again and again, from synchronous and asynchronous code and from several threads.

    Its calls run in the event loop in which it is first awaited; where it is first used from synchronous code, in a
    thread of its own. Close it, or use it as a context manager, ``with`` or ``async with``.

    Parameters
    ----------
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    strategy : Strategy, optional
        Every score once, or for a judge that compares all pairs, unless another one is given.
    router : Router, optional
        Sends some pools to a stronger judge.
    deadline : float, optional
        Seconds for one pool; then the best that is known is picked, and `decided_by` says ``deadline``. A judge that
        is an ordinary function cannot be interrupted: what waits for it goes on without it, and it occupies the one
        thread in which such functions run.
    on_failure : {"raise", "first", "random", "owe"}
        What follows where a judge fails: its error; or the best of what could be judged (``partial``), and where
        nothing could be, the first candidate or a random one; or no pick (``owed``).
    ledger : str or pathlib.Path, optional
        A run folder: answers are kept there and never paid twice.
    max_concurrency : int
        Calls in flight at once at each model, and pools under way in `select_many`.
    max_calls, max_tokens, max_cost : optional
        Hard limits on what this selector spends: calls, tokens, US dollars.
    reask : int
        1 asks again, once, where the stored answer is unscored.
    offline : bool
        Whether to take answers from the ledger only: selections of an earlier run come out again.
    seed : int
        Breaks ties, together with the prompt and the candidates.
    text : callable, optional
        Candidate to the text the judge sees.
    connection : Connection, optional
        Timeouts, and the transport that carries the requests.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing.

    Examples
    --------
    >>> with Selector(lambda prompt, text: -len(text)) as selector:
    ...     selector.select("Name a colour", ["red", "a long answer"]).best
    'red'
    """

    def __init__(  # noqa: PLR0913 - settings, all by keyword
        self,
        judge: Judge | Callable[[str, str], Any],
        *,
        strategy: Strategy | None = None,
        router: Routing | None = None,
        deadline: float | None = None,
        on_failure: OnFailure = "raise",
        ledger: str | Path | None = None,
        max_concurrency: int = 64,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        reask: int = 0,
        offline: bool = False,
        seed: int = 0,
        text: Callable[[Any], str] | None = None,
        connection: Connection | None = None,
    ) -> None:
        self._plan = plan_of(
            judge, strategy=strategy, router=router, deadline=deadline, on_failure=on_failure, seed=seed
        )
        if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
            raise UsageError(f"max_concurrency is {max_concurrency!r}", hint="give 1 or more")
        self._text, self._at_once = text, max_concurrency
        self._home: Home | None = None
        self._lock = threading.Lock()
        self._closed = False

        def engine() -> Engine:
            from bonwise.calls.engine import Engine  # noqa: PLC0415 - loads what talks to services, when first needed
            from bonwise.calls.providers.protocol import Connection  # noqa: PLC0415

            # An attempt that takes longer than a selection may take is of no use to it.
            patience = Connection().timeout if deadline is None else min(deadline, Connection().timeout)
            made = Engine(
                ledger,
                max_concurrency=max_concurrency,
                max_calls=max_calls,
                max_tokens=max_tokens,
                max_cost=max_cost,
                deadline=deadline,
                reask=reask,
                connection=connection or Connection(timeout=patience, connections=max_concurrency),
            )
            if offline:
                made.stop("not in the ledger")
            elif self._plan.needs_a_loop:
                prepare(made, self._plan.judges)
            return made

        self._engine = engine

    async def aselect(self, prompt: str, candidates: Sequence[Any], *, prompt_id: str | None = None) -> Selection:
        """Pick the best candidate of one prompt.

        Parameters
        ----------
        prompt : str
        candidates : sequence
            Strings, mappings ``{"id", "text"}``, chat messages, or any objects with `text`.
        prompt_id : str, optional
            Repeated in the result.

        Raises
        ------
        bonwise.errors.UsageError
            No candidates, one without text, or two with one id; or the selector is closed.
        bonwise.errors.JudgeError
            A judge that fails or does not keep its contract.
        bonwise.errors.CallError
            A model that was asked did not answer.
        """
        return await self._awaited(Job.of(prompt, candidates, self._text, prompt_id))

    def select(self, prompt: str, candidates: Sequence[Any], *, prompt_id: str | None = None) -> Selection:
        """Do what `aselect` does, and wait for it; also inside a running event loop and a notebook."""
        job = Job.of(prompt, candidates, self._text, prompt_id)
        if not self._plan.needs_a_loop:
            self._check_open()
            return job.here(self._plan)
        return _result(self._begun(job))

    async def aselect_many(self, pools: Iterable[Any]) -> AsyncIterator[Selection]:
        """Yield the picks of many pools as they come, with up to `max_concurrency` pools under way.

        Parameters
        ----------
        pools : iterable
            Each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps ``prompt_id``, or a pair
            ``(prompt, candidates)``. A pool without an id is named by its position, from 0.

        Raises
        ------
        Exception
            As `aselect`, and the pools under way are given up; with `on_failure` ``owe`` a failure costs one pick.
        """
        waiting: set[asyncio.Task[Selection]] = set()
        try:
            for position, pool in enumerate(pools):
                job = Job.from_any(pool, position, self._text)
                waiting.add(asyncio.create_task(self._awaited(job)))
                while len(waiting) >= self._at_once:
                    done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def select_many(self, pools: Iterable[Any]) -> Iterator[Selection]:
        """Do what `aselect_many` does, from synchronous code."""
        jobs = (Job.from_any(pool, position, self._text) for position, pool in enumerate(pools))
        if not self._plan.needs_a_loop:
            for job in jobs:
                self._check_open()
                yield job.here(self._plan)
            return
        waiting: set[concurrent.futures.Future[Selection]] = set()
        try:
            for job in jobs:
                waiting.add(self._begun(job))
                while len(waiting) >= self._at_once:
                    done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                    yield from map(_result, done)
            while waiting:
                done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                yield from map(_result, done)
        finally:
            for future in waiting:
                future.cancel()

    async def aclose(self, *, wait: bool = True) -> None:
        """Wait for the calls on the wire, then close connections and ledger.

        Parameters
        ----------
        wait : bool
            False gives up the calls on the wire, which may be billed all the same.
        """
        home = self._leave()
        if home is not None:
            await home.aclose(wait=wait)

    def close(self, *, wait: bool = True) -> None:
        """Do what `aclose` does, from synchronous code.

        Raises
        ------
        bonwise.errors.UsageError
            Called in the event loop in which the selector works: there, await `aclose`.
        """
        if self._home is not None:
            self._home.refuse_waiting("close")
        home = self._leave()
        if home is not None:
            home.close(wait=wait)

    async def __aenter__(self) -> Self:
        if self._plan.needs_a_loop:
            self._at_home(LoopHome)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if self._plan.needs_a_loop:
            self._at_home(PortalHome)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _awaited(self, job: Job) -> Selection:
        home = self._at_home(LoopHome)
        if home.is_here:
            return await home.work(job.by, self._plan)
        try:
            return await asyncio.wrap_future(home.submit(job.by, self._plan))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise _closed_meanwhile() from None
            raise

    def _begun(self, job: Job) -> concurrent.futures.Future[Selection]:
        home = self._at_home(PortalHome)
        home.refuse_waiting("select")
        return home.submit(job.by, self._plan)

    def _at_home(self, kind: type[Home]) -> Home:
        with self._lock:
            self._check_open()
            if self._home is None:
                self._home = kind(self._engine)
            return self._home

    def _leave(self) -> Home | None:
        with self._lock:
            self._closed = True
            home, self._home = self._home, None
            return home

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the selector is closed", hint="make another one")


def _result(future: concurrent.futures.Future[T]) -> T:
    try:
        return future.result()
    except concurrent.futures.CancelledError:
        raise _closed_meanwhile() from None
    except BaseException:
        future.cancel()
        raise


def _closed_meanwhile() -> UsageError:
    return UsageError("the selector was closed before the selection was made", hint="close it when all is done")
