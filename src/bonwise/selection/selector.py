"""The long-lived object that a service holds: one judge, one strategy, one ledger, many pools."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bonwise.errors import UsageError
from bonwise.judges.protocol import Judge
from bonwise.selection.engine_settings import EngineSettings
from bonwise.selection.job import Job
from bonwise.selection.loop_host import LoopHost, OwnThreadHost, RunningLoopHost
from bonwise.selection.protocol import Strategy
from bonwise.selection.selection import Selection
from bonwise.selection.settings import OnFailure, Routing, settings_of

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.providers.protocol import Connection

__all__ = ["Selector"]

T = TypeVar("T")


class Selector:
    """Picks the best of n, again and again, from synchronous and asynchronous code and from several threads.

    Awaited, it works in the running event loop; from synchronous code, in a thread of its own, also inside a running
    loop. Where it has begun in one loop, other loops and threads are served there, as long as that loop runs. Close
    it, or use it as a context manager, ``with`` or ``async with``.

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
        is an ordinary function cannot be interrupted: its call runs on beside the next one, and where 8 such calls of
        it have not ended, it is not called again.
    on_failure : {"raise", "first", "random", "owe"}
        What follows where a judge fails: its error; or the best of what could be judged (``partial``), and where
        nothing could be, the first candidate or a random one; or no pick (``owed``).
    ledger : str or pathlib.Path, optional
        A run folder: answers are kept there and never paid twice.
    max_concurrency : int
        Calls in flight at once at each model, and pools that are judged at once; others wait in line, and their
        deadline runs.
    max_calls, max_tokens, max_cost : optional
        Hard limits on what this selector spends: calls, tokens, US dollars. With one it works in one event loop only.
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
        self._settings = settings_of(
            judge, strategy=strategy, router=router, deadline=deadline, on_failure=on_failure, seed=seed
        )
        self._engine_settings = EngineSettings(
            ledger, max_concurrency, max_calls, max_tokens, max_cost, deadline, reask, offline, connection
        )
        self._text = text
        self._here = not (self._settings.needs_a_loop or self._engine_settings.bind)
        self._hosts: dict[type[LoopHost], LoopHost] = {}
        self._lock = threading.Lock()
        self._closed = False

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
        if self._here:
            self._check_open()
            return job.here(self._settings)
        return _result(self._begun(job))

    async def aselect_many(self, pools: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Selection]:
        """Yield the picks of many pools as they come, with up to `max_concurrency` pools under way.

        Parameters
        ----------
        pools : iterable or asynchronous iterable
            Each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps ``prompt_id``, or a pair
            ``(prompt, candidates)``. A pool without an id is named by its position, from 0.

        Raises
        ------
        Exception
            As `aselect`, and the pools under way are given up; with `on_failure` ``owe`` a failure costs one pick.
        """
        jobs = _jobs(pools, self._text)
        coming: asyncio.Future[Any] | None = asyncio.ensure_future(anext(jobs, None))
        waiting: set[asyncio.Future[Any]] = set()
        try:
            while coming or waiting:
                full = len(waiting) >= self._engine_settings.max_concurrency
                watched = waiting if full or coming is None else {*waiting, coming}
                done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                ready = waiting & done
                waiting -= ready
                if coming is not None and coming in done:
                    job, coming = coming.result(), None
                    if job is not None:
                        waiting.add(asyncio.create_task(self._awaited(job)))
                        coming = asyncio.ensure_future(anext(jobs, None))
                for found in _results(ready):
                    yield found
        finally:
            under_way = waiting if coming is None else {*waiting, coming}
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            await jobs.aclose()

    def select_many(self, pools: Iterable[Any]) -> Iterator[Selection]:
        """Do what `aselect_many` does, from synchronous code."""
        jobs = (Job.from_any(pool, position, self._text) for position, pool in enumerate(pools))
        if self._here:
            for job in jobs:
                self._check_open()
                yield job.here(self._settings)
            return
        waiting: set[concurrent.futures.Future[Selection]] = set()
        try:
            for job in jobs:
                waiting.add(self._begun(job))
                full = len(waiting) >= self._engine_settings.max_concurrency
                yield from _settled(waiting, None if full else 0)
            while waiting:
                yield from _settled(waiting, None)
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
        for host in self._leave():
            await host.aclose(wait=wait)

    def close(self, *, wait: bool = True) -> None:
        """Do what `aclose` does, from synchronous code.

        Raises
        ------
        bonwise.errors.UsageError
            Called in the event loop in which the selector works: there, await `aclose`.
        """
        if any(host.is_here for host in self._hosts.values()):
            raise UsageError(
                "close() would wait for the event loop it stands in", hint="await aclose() in asynchronous code"
            )
        for host in self._leave():
            host.close(wait=wait)

    async def __aenter__(self) -> Self:
        if not self._here:
            self._host(RunningLoopHost)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if not self._here:
            self._host(OwnThreadHost)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _awaited(self, job: Job) -> Selection:
        host = self._host(RunningLoopHost)
        if host.is_here:
            return await host.work(job.by, self._settings, None, host.gate)
        try:
            return await asyncio.wrap_future(host.submit(job.by, self._settings, None, host.gate))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise _closed_meanwhile() from None
            raise

    def _begun(self, job: Job) -> concurrent.futures.Future[Selection]:
        host = self._host(OwnThreadHost)
        return host.submit(job.by, self._settings, None, host.gate)

    def _host(self, kind: type[LoopHost]) -> LoopHost:
        """Return where the work is done: the running loop, or a thread that does not wait for itself."""
        with self._lock:
            self._check_open()
            fit = [host for host in self._hosts.values() if self._fits(host, kind)]
            if fit:
                return fit[0]
            if self._hosts and self._engine_settings.limited:
                raise UsageError(
                    "a limit on what is spent holds in one event loop, and the selector works in another one",
                    hint="make a Selector for each event loop, or leave the limit out",
                )
            gone = self._hosts.pop(kind, None)
            if gone is not None and not gone.stands_still:
                self._hosts[kind] = gone
                raise UsageError(
                    "select() would wait for the thread it stands in", hint="inside a judge await aselect()"
                )
            if gone is not None:
                gone.close(wait=False)
            made = self._hosts[kind] = kind(self._engine, self._engine_settings.max_concurrency)
            return made

    def _fits(self, host: LoopHost, kind: type[LoopHost]) -> bool:
        """Tell whether work of a kind can be done there: what waits for it must not be what it runs in."""
        return not host.stands_still and (kind is RunningLoopHost or not host.is_here)

    def _engine(self) -> Engine:
        return self._engine_settings.engine(self._settings.judges)

    def _leave(self) -> list[LoopHost]:
        with self._lock:
            self._closed = True
            hosts, self._hosts = list(self._hosts.values()), {}
            return hosts

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the selector is closed", hint="make another one")


async def _jobs(
    pools: Iterable[Any] | AsyncIterable[Any], text: Callable[[Any], str] | None
) -> AsyncGenerator[Job, None]:
    position = 0
    if isinstance(pools, AsyncIterable):
        async for pool in pools:
            yield Job.from_any(pool, position, text)
            position += 1
        return
    for position, pool in enumerate(pools):
        yield Job.from_any(pool, position, text)


def _results(tasks: Iterable[asyncio.Future[T]]) -> list[T]:
    """Return what came of tasks that have ended; the first error is raised, and the others are no news."""
    failed = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    if failed:
        raise failed[0]
    return [task.result() for task in tasks]


def _settled(waiting: set[concurrent.futures.Future[T]], timeout: float | None) -> Iterator[T]:
    """Yield what has come, and take it off; without a time limit wait for the next one."""
    done, _ = concurrent.futures.wait(waiting, timeout, return_when=concurrent.futures.FIRST_COMPLETED)
    waiting -= done
    yield from map(_result, done)


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
