"""Candidates that are drawn for a pick: side by side, judged as they come, all within one deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future, as_completed
from contextvars import Context, copy_context
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bonwise.calls.ask import CALLS_FOR
from bonwise.calls.bill import NOTHING_PAID, Bill
from bonwise.errors import CallError, UsageError
from bonwise.judges.judging import Result
from bonwise.judges.protocol import Judgment
from bonwise.judges.worker import Outcome, outcome_of
from bonwise.printable import printable
from bonwise.selection import choosing, contest_run, entrants, judge_runner, pools, protocol, selection
from bonwise.selection.settings import SelectionSettings
from bonwise.selection.strategies.scores import Greedy
from bonwise.table.chat import prompt_text
from bonwise.table.verdicts import Score, Unscored

if TYPE_CHECKING:
    from bonwise.calls.attempts import CallAttempts
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import PoolQueue

T = TypeVar("T")

_LEAVE = 0.05
"""Seconds in which tasks that were cancelled may end before the answer is given."""


class NothingDrawnError(CallError):
    """No draw has given an answer."""


def _in_thread(call: Callable[[], T], context: Context) -> Future[Outcome]:
    """Call a function in a thread of its own, which no program waits for."""
    future = _running_future()

    def draw() -> None:
        future.set_result(context.run(outcome_of, call))

    try:
        threading.Thread(target=draw, name="bonwise-draw", daemon=True).start()
    except RuntimeError as error:  # there may be too many threads; draws that have begun are paid
        future.set_result(Outcome(error=error))
    return future


def _running_future() -> Future[Outcome]:
    future: Future[Outcome] = Future()
    future.set_running_or_notify_cancel()  # who waits for it cannot cancel it
    return future


async def awaited_in_thread(call: Callable[[], T]) -> T:
    """Call a function in a thread of its own and wait for it."""
    outcome = await asyncio.wrap_future(_in_thread(call, copy_context()))
    if outcome.error is not None:
        raise outcome.error
    value: T = outcome.value
    return value


class AnswerDraws(Generic[T]):
    """Draws under way for one pick, ended by the score `stop_at`; with `timed` the deadline is for them too."""

    def __init__(
        self,
        prompt: Any,
        n: int,
        *,
        stop_at: float | None = None,
        timed: bool = False,
        pass_on: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._prompt = prompt_text(prompt)  # what no judge can read is refused before anything is paid
        self._stop_at, self._timed, self._pass_on = stop_at, timed, pass_on
        self._text: Callable[[Any], str] | None = None
        self._futures: list[Future[Outcome]] = []
        self._outcomes: list[Outcome | None] = [None] * n
        self._settled = False
        self._tasks: list[asyncio.Task[T]] = []
        self._calls: list[CallAttempts] = []
        self._clock: Callable[[], float] = time.monotonic
        self.needs_a_loop = stop_at is not None

    def in_threads(self, draw: Callable[[int], T], text: Callable[[Any], str] | None) -> None:
        """Begin all; `draw` takes the number of a draw, and `text` makes of an answer what the judge reads."""
        self._text, self._began = text, self._clock()
        self._futures = [_in_thread(partial(_no_awaitable, draw, at), self._context()) for at in self._numbers]

    def in_tasks(self, draw: Callable[[int], Awaitable[T]], text: Callable[[Any], str] | None) -> None:
        """Do the same in tasks of the running loop."""
        loop = asyncio.get_running_loop()
        self._text, self._clock, self._began = text, loop.time, loop.time()
        self._futures = [_running_future() for _ in self._numbers]
        self._tasks = [loop.create_task(_awaited(draw, at), context=self._context()) for at in self._numbers]
        for task, future in zip(self._tasks, self._futures, strict=True):
            task.add_done_callback(partial(_hand_over, future))

    async def aclose(self) -> None:
        """Cancel tasks that are under way and wait for their end; where an answer is due, not for long."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks, timeout=_LEAVE if self._settled else None)

    @property
    def answers(self) -> list[T]:
        """What came in time, in the order of the draws; an error that is to be passed on is raised."""
        for at, future in enumerate(self._futures):
            if self._outcomes[at] is None and not self._settled and future.done():
                self._outcomes[at] = self._checked(future.result())
        return [outcome.value for outcome in self._outcomes if outcome is not None and outcome.error is None]

    @property
    def errors(self) -> list[BaseException]:
        """Why others did not, in the order of the draws."""
        return [outcome.error for outcome in self._outcomes if outcome is not None and outcome.error is not None]

    def here(self, settings: SelectionSettings) -> selection.Selection:
        """Choose in the caller's own thread, when all draws have ended."""
        for _ in as_completed(self._futures):
            _ = self.answers  # raises what is to be passed on
        pick = pools.Job.of(self._prompt, self._last_answers(settings), self._text).here(settings)
        return replace(pick, generated=self._counts())

    async def by(
        self,
        engine: Engine,
        settings: SelectionSettings,
        turn: choosing.Turn | None = None,
        gate: PoolQueue | None = None,
    ) -> selection.Selection:
        """Choose with the help of an engine, and judge each answer as it comes where that can be."""
        runner = judge_runner.EngineJudgeRunner(engine, gate)
        until = None
        if self._timed and settings.deadline is not None:
            until = runner.now() - self._seconds + settings.deadline
        at_once = (until is not None or self.needs_a_loop) and _scores_alone(settings)
        early = _EarlyJudging(runner, settings, self._prompt, until) if at_once else None
        try:
            late = await self._wait(settings, early, until)
            answers = self._last_answers(settings)
            pick = await choosing.choose(
                settings,
                early or runner,
                self._prompt,
                pools.as_candidates(answers, self._text),
                originals=answers,
                turn=turn,
                judge_all=early is not None and early.stopped,
                spent=self._seconds if self._timed else 0.0,
            )
        finally:
            if early is not None:
                await early.aclose()
        if early is not None:
            why = f"an answer reached stop_at={self._stop_at:g}" if early.stopped else pick.stopped
            pick = replace(pick, bill=pick.bill + early.unused, stopped=why)
        return replace(pick, generated=self._counts(late=late))

    async def _wait(self, settings: SelectionSettings, early: _EarlyJudging | None, until: float | None) -> bool:
        """Wait until there is enough to choose from; tell whether it is because the time is up."""
        loop = asyncio.get_running_loop()
        arriving = {asyncio.wrap_future(future) for future in self._futures}
        try:
            while True:
                texts, end = self._texts(settings), until
                waiting: set[asyncio.Future[Any]] = {draw for draw in arriving if not draw.done()}
                if early is not None:
                    if early.begun(texts, self._stop_at):
                        return False
                    waiting |= early.under_way if self.needs_a_loop else set()
                elif until is not None and settings.deadline is not None and len(texts) > 1:
                    end = until - settings.deadline / 2  # a judge that sees all answers together needs time for it
                if not waiting or (end is not None and end <= loop.time()):
                    return bool(waiting)
                left = None if end is None else end - loop.time()
                await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for draw in arriving:
                draw.cancel()

    def _texts(self, settings: SelectionSettings) -> tuple[str, ...]:
        """Return what there is to be judged."""
        answers, compares = self.answers, settings.strategy.compares
        pool = pools.as_candidates(answers, self._text) if answers else ()
        return entrants.distinct_texts(pool, settings.judge, seed=0, salt="", compares=compares).texts

    def _last_answers(self, settings: SelectionSettings) -> list[T]:
        """Return the answers, to which no later one is added; without any raise the error that counts the causes."""
        answers, self._settled = self.answers, True
        if answers:
            return answers
        n, errors = len(self._outcomes), self.errors
        causes = Counter(map(_in_one_line, errors)).most_common()
        why = "; ".join(f"{cause} ({count:,} of {n:,})" for cause, count in causes)
        if len(errors) == n:
            raise NothingDrawnError(f"no draw gave an answer: {why}") from errors[0]
        why = f"{n - len(errors):,} of {n:,} draws were under way" + (f", others failed: {why}" if why else "")
        raise NothingDrawnError(f"no answer within {settings.deadline:g} s: {why}", hint="allow more time")

    def _counts(self, *, late: bool = False) -> selection.GeneratedAnswers:
        errors, missing = self.errors, self._outcomes.count(None)
        under_way = sum(call.on_the_wire for call in self._calls)
        bill = sum((call.bill for call in self._calls), NOTHING_PAID)
        return selection.GeneratedAnswers(
            drawn=len(self._outcomes) - missing - len(errors),
            failed=len(errors),
            late=missing if late else 0,
            cancelled=0 if late else missing,
            failures=tuple(map(_in_one_line, errors)),
            bill=bill + Bill(unknown=under_way, cost=None) if under_way else bill,
        )

    @property
    def _numbers(self) -> range:
        return range(len(self._outcomes))

    @property
    def _seconds(self) -> float:
        return self._clock() - self._began

    def _context(self) -> Context:
        context = copy_context()
        context.run(CALLS_FOR.set, (*CALLS_FOR.get(), self._calls))
        return context

    def _checked(self, outcome: Outcome) -> Outcome:
        """Return what a draw gave, or a failure where it cannot be judged: the other draws are paid for."""
        error = outcome.error
        if isinstance(error, self._pass_on) or not isinstance(error, Exception | asyncio.CancelledError | None):
            raise error
        try:
            _ = pools.as_candidates([outcome.value], self._text) if error is None else ()
        except UsageError as wrong:
            return Outcome(error=wrong)
        return outcome


def _no_awaitable(draw: Callable[[int], T], at: int) -> T:
    answer = draw(at)
    if isawaitable(answer):
        getattr(answer, "close", bool)()
        raise UsageError("the function returned something to be awaited", hint="await aselect() or agenerate_best()")
    return answer


async def _awaited(draw: Callable[[int], Awaitable[T]], at: int) -> T:
    return await draw(at)


def _hand_over(future: Future[Outcome], task: asyncio.Task[Any]) -> None:
    error = asyncio.CancelledError("the draw was cancelled") if task.cancelled() else task.exception()
    future.set_result(Outcome(task.result()) if error is None else Outcome(error=error))


def _in_one_line(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}", longest=200)


def _scores_alone(settings: SelectionSettings) -> bool:
    """Tell whether each answer is scored once and by itself, so that it can be judged before the others come."""
    draws = [protocol.Draw(0), protocol.Draw(1)]
    once = type(settings.strategy) is Greedy and settings.router is None
    return once and len(contest_run.calls_for(draws, settings.judge, "", ("a", "b"))) == 2


def check_stop_at(settings: SelectionSettings, stop_at: float | None) -> None:
    """Refuse `stop_at` where the first score of an answer is not what decides."""
    if stop_at is not None and not _scores_alone(settings):
        raise UsageError(
            f"stop_at needs a judge that scores each answer alone, with the strategy greedy and without a router: "
            f"not {settings.judge.name} by {settings.strategy.name}",
            hint="leave it out, or take a judge such as pointwise, or a function (prompt, text) -> number",
        )


class _EarlyJudging:
    """Runs the judge for each answer as it comes; a contest that asks the same gets what was found."""

    def __init__(
        self, runner: judge_runner.JudgeRunner, settings: SelectionSettings, prompt: str, until: float | None
    ) -> None:
        self._runner, self._judge, self._prompt, self._until = runner, settings.judge, prompt, until
        self._judged: dict[str, asyncio.Task[Result]] = {}
        self._used: set[str] = set()
        self.now, self.begin = runner.now, runner.begin
        self.stopped = False
        """Whether an answer has reached the score that ends it: what is not judged by then is not waited for."""

    @property
    def under_way(self) -> set[asyncio.Future[Any]]:
        """What is being judged."""
        return {task for task in self._judged.values() if not task.done()}

    @property
    def unused(self) -> Bill:
        """What was paid for verdicts on which the pick does not rest: of a single text, say."""
        ended = [task for text, task in self._judged.items() if text not in self._used and not task.cancelled()]
        results = (task.result() for task in ended)
        return sum((result.bill for result in results if isinstance(result, Judgment)), NOTHING_PAID)

    def begun(self, texts: Sequence[str], stop_at: float | None) -> bool:
        """Begin to judge texts, a single one only where its score may end it; tell whether one has that score."""
        if stop_at is None:
            self._begin(texts if len(texts) > 1 else ())
            return False
        self._begin(texts)
        results = (task.result() for task in self._judged.values() if task.done())
        scores = (result.verdicts[0] for result in results if isinstance(result, Judgment))
        self.stopped = any(isinstance(score, Score) and score.value >= stop_at for score in scores)
        return self.stopped

    async def judge(self, calls: Sequence[judge_runner.Call], until: float | None) -> list[Result]:
        """Return what was found of each text; what was not begun is run, unless it was stopped."""
        del until  # as that of each task
        texts = [call.texts[0] for call in calls]
        self._begin(() if self.stopped else texts)
        self._used.update(texts)
        return [await self._found(text) for text in texts]

    async def aclose(self) -> None:
        """End what is under way."""
        for task in self._judged.values():
            task.cancel()
        await asyncio.gather(*self._judged.values(), return_exceptions=True)

    def _begin(self, texts: Iterable[str]) -> None:
        for text in texts:
            if text not in self._judged:
                self._judged[text] = asyncio.create_task(self._result(text))

    async def _result(self, text: str) -> Result:
        return (await self._runner.judge([judge_runner.Call(self._judge, self._prompt, (text,))], self._until))[0]

    async def _found(self, text: str) -> Result:
        task = self._judged.get(text)
        if task is None or (self.stopped and not task.done()):
            return Judgment((Unscored("not judged: another answer reached stop_at first"),))
        return await task
