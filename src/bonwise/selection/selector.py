"""The long-lived object that a service holds: one judge, one strategy, one ledger, many pools."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, suppress
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from bonwise.calls.portal import LoopHost, Portal, RunningLoopHost, default_portal
from bonwise.calls.settings import EngineSettings
from bonwise.errors import BonwiseError, UsageError
from bonwise.flags import completed, part_of, shows
from bonwise.judges.judging import sample_asks
from bonwise.judges.pool_loop import AsyncReader, ItemReader, Turns, from_callers_thread, work_on_many
from bonwise.judges.protocol import Judge, is_asking
from bonwise.selection.choosing import Turn
from bonwise.selection.generating import AnswerDraws
from bonwise.selection.pools import Job, jobs_of, text_with_images
from bonwise.selection.ranked_candidates import RanksCandidates
from bonwise.selection.selection import Selection, T
from bonwise.selection.selector_settings import CopiesSettings
from bonwise.selection.settings import ChoiceSettings, Engines, SelectionSettings, SelectorSettings, settings_of
from bonwise.tracing import UNTRACED, span

if TYPE_CHECKING:
    from pathlib import Path

    from bonwise.calls.ask import Ask
    from bonwise.calls.engine import Engine

Pick = Callable[..., Coroutine[Any, Any, Selection]]
MakesHost = Callable[["Callable[[], Engine]", int], LoopHost]
"""Makes an event loop with an engine, and a gate for so many pools at once."""

AHEAD = 64
"""The least number of pools of a row that are under way or wait for the one before, where nothing is late."""


@shows(SelectorSettings)
class Selector(RanksCandidates, CopiesSettings):
    """Picks the best of n, again and again, from synchronous and asynchronous code and from several threads.

    Awaited, it works in the running event loop; from synchronous code, in a thread of its own, also inside a running
    loop. A second loop that runs at the same time is served in that thread too. Close it, or use it as a context
    manager: ``with``, or ``async with``, after which the running loop serves all others.

    A copy (`copy.copy`, `copy.deepcopy`) has the same judges, strategy and router, is open, and spends from the same
    limits. One that is unpickled, perhaps in another process, has limits and a router of its own.

    Parameters
    ----------
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

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

    def __init__(self, judge: Judge | Callable[[str, str], Any], **settings: Unpack[SelectorSettings]) -> None:
        self._set_up(judge, settings)
        self._load_sdks()

    def _set_up(self, judge: Judge | Callable[[str, str], Any], settings: SelectorSettings) -> None:
        given = completed(SelectorSettings, settings, "Selector.__init__")
        self._settings = settings_of(judge, given["deadline"], **part_of(given, ChoiceSettings))
        self._engines = Engines.of(**part_of(given, EngineSettings))
        self._engines.refuse_unpriced(self._settings)
        self._text = given["text"]
        self._here = not (self._settings.needs_a_loop or self._engines.bind)
        self._thread_host: MakesHost = _own_thread
        self._hosts: dict[MakesHost, LoopHost] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._prepared = True

    def __repr__(self) -> str:
        made = self._settings
        router = "" if made.router is None else f", router {getattr(made.router, 'name', made.router)}"
        stated = (
            f", {name}={value}" for name, value in self._engines.stated.items() if isinstance(value, int | float)
        )
        return f"<Selector of {made.judge.name} by {made.strategy.name}{router}{''.join(stated)}>"

    @classmethod
    def for_one_pool(cls, judge: Judge | Callable[[str, str], Any], **settings: Unpack[SelectorSettings]) -> Self:
        """Return a selector that is used once, from synchronous code.

        Without a setting of an engine it has no thread of its own but the one that all such selectors share,
        which keeps its connections. What hangs when the time is up would stay on the connections that all share.
        """
        made = cls(judge, **settings)
        if not made._engines.stated:
            made._thread_host = _shared_thread
        return made

    @classmethod
    def for_one_run(cls, judge: Judge | Callable[[str, str], Any], **settings: Unpack[SelectorSettings]) -> Self:
        """Return a selector that loads a client only when a model is asked: none where the ledger has all answers."""
        made = cls.__new__(cls)
        made._set_up(judge, settings)  # noqa: SLF001 - of this class
        made._prepared = False  # noqa: SLF001 - of this class
        return made

    @property
    def settings(self) -> SelectionSettings:
        """Who judges, by which strategy, and what happens when a judge fails."""
        return self._settings

    @property
    def computes_here(self) -> bool:
        """Whether all judges are bonwise's own that ask no model: they wait for nothing, and no pick takes long."""
        return self._here and {type(judge).__module__ for judge in self._settings.judges} == {"bonwise.judges.local"}

    async def engine(self) -> Engine:
        """Return the engine that asks for this event loop: its totals, and what it has spent."""
        return await self._host(RunningLoopHost).work(_itself)

    async def aselect(
        self, prompt: Any, candidates: Sequence[T], *, prompt_id: str | None = None, images: str | Path | None = None
    ) -> Selection[T]:
        """Pick the best candidate of one prompt.

        Parameters
        ----------
        prompt : str or chat messages
        candidates : sequence
            Strings, mappings ``{"id", "text"}``, chat messages, documents, nodes, or any objects with `text`.
        prompt_id : str, optional
            Repeated in the result.
        images : str or pathlib.Path, optional
            The folder of images. See `bonwise.select`.

        Raises
        ------
        bonwise.errors.UsageError
            No candidates, one without text, or two with one id; or the selector is closed.
        bonwise.errors.JudgeError
            A judge that fails, does not keep its contract, or scores no candidate.
        bonwise.errors.CallError
            A model that was asked did not answer.
        """
        host, waited = await self._let_in()
        job = Job.of(prompt, candidates, self._text_of(images), prompt_id)
        return await self._awaited(job, host=host, waited=waited)

    def select(
        self, prompt: Any, candidates: Sequence[T], *, prompt_id: str | None = None, images: str | Path | None = None
    ) -> Selection[T]:
        """Do what `aselect` does, and wait for it; also inside a running event loop and a notebook."""
        return self._picked(Job.of(prompt, candidates, self._text_of(images), prompt_id))

    def _text_of(self, images: str | Path | None) -> Any:
        return self._text if images is None else text_with_images(images, self._settings.all_judges, self._text)

    async def aselect_drawn(self, draws: AnswerDraws[T], draw: Callable[[int], Awaitable[T]]) -> Selection[T]:
        """Draw candidates in tasks and pick the best; `draw` takes the number of a draw, from 0."""
        self._check_open()
        draws.in_tasks(draw, self._text)
        try:
            return await self._awaited(draws)
        finally:
            await draws.aclose()

    def select_drawn(self, draws: AnswerDraws[T], draw: Callable[[int], T]) -> Selection[T]:
        """Do the same in threads, and wait for it."""
        self._check_open()
        draws.in_threads(draw, self._text)
        return self._picked(draws)

    async def aselect_many(
        self,
        pools: Iterable[Any] | AsyncIterable[Any],
        *,
        ordered: bool = False,
        stop: asyncio.Event | None = None,
        images: str | Path | None = None,
    ) -> AsyncGenerator[Selection, None]:
        """Yield the picks of many pools as they come, with up to `max_concurrency` pools under way.

        Parameters
        ----------
        pools : iterable or asynchronous iterable
            Each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps ``prompt_id``, or a pair
            ``(prompt, candidates)``. A pool without an id is named by its position, from 0. What may block, such
            as a file, `bonwise.judges.pool_loop.read_in_thread` reads.
        ordered : bool
            Whether picks come in the order of the pools, and the router sees the pools in that order. Without a
            deadline at least 64 pools are then under way or wait for the one before.
        stop : asyncio.Event, optional
            When set no further pool is begun.
        images : str or pathlib.Path, optional
            The folder of images. See `bonwise.select`.

        Raises
        ------
        Exception
            As `aselect`, and the pools under way are given up; with `on_failure` ``owe`` a failure costs one pick.
        """
        jobs = jobs_of(pools, self._text_of(images), self._settings.variables)
        try:
            async with aclosing(self._picks(AsyncReader(jobs), self._awaited, ordered, stop)) as picks:
                async for pick in picks:
                    yield pick
        finally:
            await jobs.aclose()

    def select_many(
        self, pools: Iterable[Any], *, ordered: bool = False, images: str | Path | None = None
    ) -> Iterator[Selection]:
        """Do what `aselect_many` does, from synchronous code; the pools are read in the caller's thread."""
        wanted, text = self._settings.variables, self._text_of(images)
        jobs = (Job.from_any(pool, position, text, wanted) for position, pool in enumerate(pools))
        if self._here:
            for job in jobs:
                self._check_open()
                yield job.here(self._settings)
            return
        host = self._host(self._thread_host)

        async def pick(job: Job, turn: Turn | None = None) -> Selection:
            return await host.work(job.by, self._settings, turn, host.gate)

        try:
            yield from from_callers_thread(jobs, lambda reader, _: self._picks(reader, pick, ordered), host.submit)
        except concurrent.futures.CancelledError:
            raise _closed_meanwhile() from None

    def _picks(
        self, jobs: ItemReader[Job], pick: Pick, ordered: bool, stop: asyncio.Event | None = None
    ) -> AsyncGenerator[Selection, None]:
        turns = Turns() if ordered and self._settings.router is not None else None

        async def work(position: int, job: Job) -> Selection:
            if turns is None:
                return await pick(job)
            try:
                return await pick(job, partial(_in_turn, turns, position, asyncio.get_running_loop()))
            finally:
                turns.give_up(position)

        at_once = self._engines.settings["max_concurrency"]
        if ordered and self._settings.deadline is None:
            at_once = max(AHEAD, at_once)
        return work_on_many(jobs, work, at_once=at_once, stop=stop, ordered=ordered)

    async def aclose(self, *, wait: bool = True) -> None:
        """Wait up to 5 seconds for the calls on the wire, then close connections and ledger.

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
            self._host(RunningLoopHost).lent = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if not self._here:
            self._host(self._thread_host)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _let_in(self) -> tuple[LoopHost | None, float | None]:
        """Wait at the gate of the running loop before all else: what a crowd does at its first turn blocks the loop.

        Where somebody traces, or the loop has no gate yet, a pick waits later: its span holds the waiting.
        """
        host = self._hosts.get(RunningLoopHost)
        if host is None or host.gate is None or not host.is_here or span("select", "CHAIN") is not UNTRACED:
            return None, None
        clock = asyncio.get_running_loop().time
        came = clock()
        await host.gate.begin()
        return host, clock() - came

    async def _awaited(
        self,
        job: Job | AnswerDraws[Any],
        turn: Turn | None = None,
        *,
        host: LoopHost | None = None,
        waited: float | None = None,
    ) -> Selection:
        if host is not None and isinstance(job, Job):
            return await host.work(job.by, self._settings, turn, host.gate, waited)
        host = self._host(RunningLoopHost)
        if host.is_here:
            return await host.work(job.by, self._settings, turn, host.gate)
        try:
            return await asyncio.wrap_future(host.submit(job.by, self._settings, turn, host.gate))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise _closed_meanwhile() from None
            raise

    def _picked(self, job: Job | AnswerDraws[Any]) -> Selection:
        if self._here and (isinstance(job, Job) or not job.needs_a_loop):
            self._check_open()
            return job.here(self._settings)
        return _result(self._begun(job))

    def _begun(self, job: Job | AnswerDraws[Any]) -> concurrent.futures.Future[Selection]:
        host = self._host(self._thread_host)
        return host.submit(job.by, self._settings, None, host.gate)

    def _host(self, kind: MakesHost) -> LoopHost:
        """Return where the work is done: the running loop, or a thread that does not wait for itself."""
        with self._lock:
            self._check_open()
            fit = [host for host in self._hosts.values() if self._fits(host, kind)]
            if fit:
                return fit[0]
            other = self._hosts.get(RunningLoopHost)
            if kind is RunningLoopHost and other is not None and not other.stands_still:
                kind = self._thread_host  # the other loop may end in the middle of it
            gone = self._hosts.pop(kind, None)
            if gone is not None and not gone.stands_still:
                self._hosts[kind] = gone
                raise UsageError(
                    "select() would wait for the thread it stands in", hint="inside a judge await aselect()"
                )
            if gone is not None:
                gone.close(wait=False)
            made = self._hosts[kind] = kind(self._engine, self._engines.settings["max_concurrency"])
            return made

    def _fits(self, host: LoopHost, kind: MakesHost) -> bool:
        """Tell whether work of a kind can be done there: what waits for it must not be what it runs in."""
        if host.is_here:
            return kind is RunningLoopHost
        return not host.stands_still and (host.lent or isinstance(host, Portal))

    def _engine(self) -> Engine:
        """Return an engine with clients for the judges' models at hand: to load and make them takes a second."""
        engine = self._engines.make()
        if self._prepared and not engine.stopped:
            self._for_each_model(engine.prepare)
        return engine

    def _load_sdks(self) -> None:
        """Load what asks models: the first pick would do so in the event loop, which serves others too."""
        if not self._engines.settings["offline"]:
            self._for_each_model(_load_sdk)

    def _for_each_model(self, do: Callable[[Ask], None]) -> None:
        for judge in filter(is_asking, self._settings.judges):
            with suppress(BonwiseError, ImportError):  # what is wrong with a judge is said when it is asked
                for ask in sample_asks(judge)[:1]:
                    do(ask)

    def _leave(self) -> list[LoopHost]:
        with self._lock:
            self._closed = True
            hosts, self._hosts = list(self._hosts.values()), {}
            return hosts

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the selector is closed", hint="make another one")


def _load_sdk(ask: Ask) -> None:
    from bonwise.calls.providers.protocol import load_sdk  # noqa: PLC0415 - judges that are functions need none

    load_sdk(ask.model)
    import_module("bonwise.calls.engine")


async def _in_turn(turns: Turns, position: int, home: asyncio.AbstractEventLoop) -> None:
    """Wait for a turn, also where the pool is judged in another event loop than the one that reads pools."""
    if asyncio.get_running_loop() is home:
        await turns.wait(position)
    else:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(turns.wait(position), home))


async def _itself(engine: Engine) -> Engine:
    return engine


def _own_thread(make_engine: Callable[[], Engine], at_once: int) -> LoopHost:
    portal = Portal(make_engine, at_once)
    portal.submit(_itself)  # whoever asks first would wait for the engine to be made
    return portal


def _shared_thread(_make_engine: Callable[[], Engine], _at_once: int) -> LoopHost:
    return default_portal()


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
