"""A run over many pools: ended from outside, how far it has come and who is told, and what it came to."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bonwise.calls.engine import GRACE
from bonwise.calls.portal import running_loop
from bonwise.table.verdicts import Score, Unscored

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.errors import CallError
    from bonwise.judges import protocol, scoring
    from bonwise.selection.selection import Selection

FOR_GOOD = "the server refused the request"
"""How the reason of an unscored verdict begins where the request was refused for good."""

GUESSED = {"first", "random"}
"""What decides where nothing could be judged: an answer was missing, or none that came had a score."""

UNJUDGED = {"only candidate", "same text"}
"""What decides where no judge was needed."""

CUT = {"deadline", "limit", "partial", *GUESSED}
"""What decides where less is known than was asked for."""


@dataclass(slots=True)
class RunSummary:
    """How a run goes."""

    engine: Engine
    """Its `totals` and `spending` hold what was asked and paid."""
    judges: Sequence[protocol.Judge]
    run: Path | str | None = None
    """The run folder."""
    interrupted: bool = False
    """Whether the run was told to end."""
    pools: int = 0
    """Pools that are done."""
    scored: int = 0
    """Candidates with a score."""
    unscored: int = 0
    """Candidates that were judged, or had no words to be judged, and have none."""
    refused: int = 0
    """Verdicts that are missing because a server refused the request for good."""
    owed: int = 0
    """Pools in which nothing is picked because a judge failed or an answer has not arrived."""
    cut: int = 0
    """Pools whose pick does without an answer that has not arrived."""
    failure: CallError | None = None
    """An answer that did not arrive and ended the run."""
    _parameters: dict[str, dict[str, None]] = field(default_factory=dict)

    def note(self, judged: scoring.JudgedPool) -> None:
        """Take in what was found about one pool."""
        self.pools += 1
        for judge, judgment in zip(self.judges, judged.judgments, strict=True):
            self.scored += sum(isinstance(verdict, Score) for verdict in judgment.verdicts)
            self.unscored += sum(isinstance(verdict, Unscored) for verdict in judgment.verdicts)
            self._note_missing(verdict.reason for verdict in judgment.verdicts if isinstance(verdict, Unscored))
            self._parameters.setdefault(judge.name, {}).update(dict.fromkeys(map(_in_words, judgment.effective)))

    def note_pick(self, pick: Selection) -> None:
        """Take in what was picked from one pool."""
        self.pools += 1
        self.owed += pick.decided_by == "owed"
        if pick.decided_by not in UNJUDGED:
            self.scored += len(pick.scores) - pick.scores.count(None)
            self.unscored += len(pick.unscored)
        # Without a failure what is missing was lost: no later run asks again.
        lacking = pick.decided_by in CUT and pick.failure != ""
        self.cut += lacking and (
            pick.decided_by not in GUESSED or any(reason.startswith("owed") for reason in pick.unscored.values())
        )
        self._note_missing(pick.unscored.values())
        # Further draws, another judge and a router ask with parameters of their own.
        asked_once = max(pick.draws, default=1) <= 1 and not (pick.draws and pick.comparisons)
        if pick.settings["parameters"] and asked_once and pick.routed is None:
            sets = map(_in_words, pick.settings["parameters"])
            self._parameters.setdefault(pick.settings["judge"], {}).update(dict.fromkeys(sets))

    def _note_missing(self, reasons: Iterable[str]) -> None:
        self.refused += sum(reason.startswith(FOR_GOOD) for reason in reasons)

    @property
    def mixtures(self) -> Iterator[tuple[str, list[str]]]:
        """Judges whose questions were not all asked with the same parameters, with the sets in words."""
        for name, parameters in self._parameters.items():
            if len(parameters) > 1:
                yield name, list(parameters)


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(parameters.items())) or "none"


Counted = Literal["answers", "pools"]

PAUSE = 0.2
"""Seconds between two looks at a run."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come.

    Parameters
    ----------
    what : {"answers", "pools"}
        What `done` and `total` count.
    done : int
    total : int or None
        None where nobody knows.
    answers : int
        Answers of models, those from the ledger included.
    from_ledger : int
        Answers that cost nothing.
    unscored : int
        Answers that could not be used.
    pending : int
        Answers that did not arrive; a later run on the same ledger asks again.
    waiting : int
        Calls that failed in transport and wait to be tried again.
    trouble : str
        The latest transport failure, empty once something has been answered since.
    cost : float or None
        US dollars; None where a price is not known.
    seconds : float
        Since the run began.
    """

    what: Counted
    done: int
    total: int | None
    answers: int
    from_ledger: int
    unscored: int
    pending: int
    waiting: int
    trouble: str
    cost: float | None
    seconds: float


Progress = Callable[[RunProgress], None]
"""Called with how far a run has come, several times a second and at its end, in the thread of its event loop."""


@asynccontextmanager
async def told(
    progress: Progress | None, summary: RunSummary, what: Counted, total: int | None
) -> AsyncIterator[None]:
    """Tell how far a run has come until the block ends, and at its end; what `progress` raises is raised."""
    if progress is None:
        yield
        return
    began = time.monotonic()

    def tell() -> None:
        progress(_progress(summary, what, total, time.monotonic() - began))

    async def keep_telling() -> None:
        while True:
            tell()
            await asyncio.sleep(PAUSE)

    telling = asyncio.create_task(keep_telling())
    try:
        yield
    finally:
        telling.cancel()
        (failed,) = await asyncio.gather(telling, return_exceptions=True)
    if isinstance(failed, Exception):
        raise failed
    tell()


def _progress(summary: RunSummary, what: Counted, total: int | None, seconds: float) -> RunProgress:
    totals = summary.engine.totals
    return RunProgress(
        what=what,
        done=totals.answers if what == "answers" else summary.pools,
        total=total,
        answers=totals.answers,
        from_ledger=totals.bill.from_ledger,
        unscored=totals.unscored,
        pending=totals.bill.owed,
        waiting=totals.waiting,
        trouble=totals.trouble,
        cost=totals.bill.cost,
        seconds=seconds,
    )


class Stop:
    """Ends a run from outside, from any thread or from a signal handler.

    After the first request nothing new is sent, and the run ends when the calls on the wire, which are paid, have
    been answered, or after 5 seconds: those without an answer by then may be billed. After the second the run gives
    them up at once, and raises `asyncio.CancelledError`, in synchronous code `concurrent.futures.CancelledError`.

    Examples
    --------
    >>> import bonwise as bw
    >>> stop = Stop()
    >>> stop.request()
    >>> found = bw.judge([("Name a colour", ["red"])], judge=bw.Pointwise("openai/gpt-5-mini"), stop=stop)
    >>> found.pending
    {'interrupted': 1}
    """

    def __init__(self) -> None:
        self.requests = 0
        self._heard_by: list[Callable[[int], None]] = []
        self._lock = threading.RLock()  # a signal may come while the same thread holds it

    def __repr__(self) -> str:
        return f"<Stop: requested {self.requests} times>"

    def request(self) -> None:
        """Ask for the end."""
        with self._lock:
            self.requests += 1
            for hear in self._heard_by:
                hear(self.requests)

    @contextmanager
    def heard(self, hear: Callable[[int], None]) -> Iterator[None]:
        """Call a function with the number of each request until the block ends, with those before it at once."""
        with self._lock:
            self._heard_by.append(hear)
            for number in range(1, self.requests + 1):
                hear(number)
        try:
            yield
        finally:
            with self._lock:
                self._heard_by.remove(hear)


@dataclass(slots=True)
class RunControl:
    """Who is told how far a run has come, and who may end it."""

    progress: Progress | None = None
    """Called with a `RunProgress`."""
    stop: Stop = field(default_factory=Stop)
    total: int | None = None
    """How many answers, or pools, there will be."""
    summary: RunSummary | None = field(default=None, init=False)
    """How the run goes, from its beginning."""

    @property
    def how_it_went(self) -> RunSummary:
        """The summary of a run that has begun; `RuntimeError` where it has not."""
        if self.summary is None:
            raise RuntimeError("the run has not begun")
        return self.summary

    @asynccontextmanager
    async def over(self, summary: RunSummary, what: Counted) -> AsyncIterator[asyncio.Event]:
        """Watch a run until the block ends; the event is set once it is told to end."""
        self.summary = summary
        loop = running_loop()
        stopped, task = asyncio.Event(), asyncio.current_task()
        late: list[asyncio.TimerHandle] = []

        def end(requests: int) -> None:
            if requests > 1:
                summary.engine.abandon("interrupted")
                if task is not None:
                    task.cancel()
                return
            summary.interrupted = True
            stopped.set()
            summary.engine.stop("interrupted")
            late.append(loop.call_later(GRACE, summary.engine.abandon, "interrupted"))

        def hear(requests: int) -> None:
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                loop.call_soon_threadsafe(end, requests)

        with self.stop.heard(hear):
            try:
                async with told(self.progress, summary, what, self.total):
                    yield stopped
            finally:
                # The engine may go on, and with it what others asked of it.
                for timer in late:
                    timer.cancel()
