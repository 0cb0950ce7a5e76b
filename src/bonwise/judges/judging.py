"""Run any judge: put its questions to an engine, or call it, hold it to the contract, and trace what it found."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from bonwise.calls import portal
from bonwise.calls.ask import ASKER, Ask, encoded
from bonwise.calls.bill import NOTHING_PAID, Bill
from bonwise.errors import BonwiseError, CallError, JudgeError, UsageError
from bonwise.judges.calling import FunctionJudge, checked, innermost, threads_of
from bonwise.judges.protocol import AskingJudge, Conclusion, Judge, Judgment, bound, is_asking, variables_of
from bonwise.judges.worker import Outcome, run_all_in_thread
from bonwise.printable import printable
from bonwise.table.verdicts import Preference, Score, Unscored, Verdict
from bonwise.tracing import UNTRACED, Untraced, span

if TYPE_CHECKING:
    from bonwise.calls.ask import Answers
    from bonwise.calls.engine import Engine

UNTOLD = Bill(calls=1)
"""Of rows whose tokens stand in other rows: a call whose tokens are not counted."""

Result = Judgment | BonwiseError | None
"""What came of a call: None where it had not ended when the time was up."""

R = TypeVar("R", bound=Judgment | Sequence[Result])


def traced(judge: Judge, course: Coroutine[Any, Any, R]) -> Coroutine[Any, Any, R]:
    """Return what makes calls of a judge, inside a span where somebody traces."""
    current = span(f"judge {judge.name}", "EVALUATOR")
    return course if current is UNTRACED else _noted(current, judge.name, course)


async def _noted(current: Untraced, judge: str, course: Coroutine[Any, Any, R]) -> R:
    with current:
        returned = await course
        _note(current, judge, (returned,) if isinstance(returned, Judgment) else returned)
    return returned


def _note(current: Untraced, judge: str, results: Sequence[Result]) -> None:
    """Note what a judge found in the calls of one use, and what all of them took."""
    candidates, bill = 0, Bill()
    for result in results:
        if isinstance(result, BonwiseError):
            current.fail(type(result).__name__)
        elif result is not None:
            candidates, bill = candidates + len(result.verdicts), bill + result.bill
            for verdict in result.verdicts:
                current.event("gen_ai.evaluation.result", _evaluation(judge, verdict))
    current.note({"bonwise.judge": judge, "bonwise.candidates": candidates, **spent(bill)})


def _evaluation(judge: str, verdict: Verdict) -> dict[str, Any]:
    name = {"gen_ai.evaluation.name": judge}
    if isinstance(verdict, Score):
        return name | {"gen_ai.evaluation.score.value": verdict.value}
    # Why it is unscored may quote what the model said.
    return name | {"error.type": "owed" if verdict.owed else "unscored"}


def spent(bill: Bill) -> dict[str, Any]:
    """Return the attributes that say what judging took."""
    return {
        "bonwise.calls": bill.calls,
        "bonwise.from_ledger": bill.from_ledger,
        "bonwise.input_tokens": bill.input_tokens,
        "bonwise.output_tokens": bill.output_tokens,
        "bonwise.cost": bill.cost,
    }


T = TypeVar("T")


@dataclass(slots=True)
class _Running:
    """The engine for which a judge is working, so that a judge it asks in turn counts against the same limits."""

    engine: Engine
    loop: asyncio.AbstractEventLoop
    bills: list[Bill] = field(default_factory=list)


_RUNNING: ContextVar[_Running | None] = ContextVar("bonwise engine at work", default=None)


def judge_with(
    engine: Engine,
    judge: Judge,
    prompt: str,
    texts: Sequence[str],
    *,
    draw: int = 0,
    temperature: float | None = None,
) -> Coroutine[Any, Any, Judgment]:
    """Judge the candidates of one prompt; the engine answers the questions of a judge that asks a model.

    A judge that is neither asking nor asynchronous runs in a thread of its own, one call at a time, so it need not be
    thread-safe, unless it states `FunctionJudge.workers`; functions of one definition, and a judge inside of several
    others, count as one. A call whose caller is cancelled runs on beside the next one; with
    `bonwise.judges.worker.MOST_ABANDONED` of these it is not called again.

    Draws 1, 2 ... ask a model for further, independent answers to the same questions. A temperature takes the place
    of the judge's own. What did not arrive is an `Unscored` with ``owed`` set. A judge that does not keep its
    contract, that fails in whatever way, or that is occupied raises `JudgeError`.
    """
    if is_asking(judge):
        return traced(judge, _asked(engine, judge, prompt, texts, draw, temperature))
    return traced(judge, (called if _is_awaited(judge) else _called_in_thread)(engine, judge, prompt, texts))


async def _asked(
    engine: Engine, judge: AskingJudge, prompt: str, texts: Sequence[str], draw: int, temperature: float | None
) -> Judgment:
    several: Callable[..., Awaitable[Judgment]] | None = getattr(judge, "judged_by", None)
    if several is not None:
        return await several(engine, prompt, texts, draw, temperature)
    first: list[Answers] = []
    waiting = NOTHING_PAID
    if hasattr(judge, "first_ask") and (begun := first_asked(judge, prompt, texts)):
        first = [await _first_answers(engine, begun[0])]
        drafted = first[0].answers[0].reading if first[0].answers else None
        if isinstance(drafted, Unscored) and drafted.owed:
            waiting = engine.leave(asked(judge, prompt, texts), drafted.reason.removeprefix("owed: "))
        judge = judge.after(first[0])  # type: ignore[attr-defined]
    asks = [redrawn(ask, draw, temperature) for ask in asked(judge, prompt, texts)]
    answers = [*first, *await _answered(engine, asks)]
    conclusion = concluded(judge, prompt, texts, answers[len(first) :])
    bill = reduce(add, (answer.bill for answer in answers)) + waiting if answers else Bill()
    # A first question is not drawn again, and so perhaps not asked at the temperature of draws.
    effective = _distinct(answer.effective for answer in answers[len(first) :] or first)
    # What the answers took stands with the judge itself.
    members = tuple((name, Judgment(verdicts, bill=UNTOLD)) for name, verdicts in conclusion.members)
    return Judgment(conclusion.verdicts, conclusion.preferences, bill, effective, members)


_FIRST: WeakKeyDictionary[Engine, dict[tuple[object, ...], Answers]] = WeakKeyDictionary()
_MOST_FIRST = 1000
"""How many answers to first questions are kept per engine."""


async def _first_answers(engine: Engine, ask: Ask) -> Answers:
    """Ask a first question, once per engine: all rounds of a pick, and all draws, depend on the same answer."""
    known = _FIRST.setdefault(engine, {})
    about = ASKER.get(), ask.model, ask.system, ask.user, ask.max_tokens, ask.temperature, encoded(ask.params)
    if about not in known:
        (answers,) = await _answered(engine, [ask])
        if not answers.answers or isinstance(answers.answers[0].reading, Unscored):
            return answers
        known[about] = replace(answers, bill=NOTHING_PAID)
        if len(known) > _MOST_FIRST:
            del known[next(iter(known))]
        return answers
    return known[about]


def first_asked(judge: Judge, prompt: str, texts: Sequence[str]) -> tuple[Ask, ...]:
    """Return the questions, if any, on whose answers the others of a judge, or of its parts, depend."""
    with _faults_of(judge, "first_ask"):
        ask: Ask | None = getattr(judge, "first_ask", lambda _prompt, _texts: None)(prompt, texts)
    parts: Iterable[Judge] = getattr(judge, "parts", ()) or getattr(getattr(judge, "of", None), "parts", ())
    return (*(() if ask is None else (ask,)), *chain(*(first_asked(part, prompt, texts) for part in parts)))


def asked(judge: AskingJudge, prompt: str, texts: Sequence[str]) -> tuple[Ask, ...]:
    """Return a judge's questions, provided that they are some; a failure or anything else raises `JudgeError`."""
    with _faults_of(judge, "asks"):
        returned: object = judge.asks(prompt, texts)
        asks = tuple(returned) if isinstance(returned, Iterable) else (returned,)
    for ask in asks:
        if not isinstance(ask, Ask):
            raise JudgeError(f"judge {judge.name!r} asks by {type(ask).__name__}", hint="return Ask objects")
    return asks


def concluded(judge: AskingJudge, prompt: str, texts: Sequence[str], answers: Sequence[Answers]) -> Conclusion:
    """Return what a judge makes of the answers; `JudgeError` where it fails or is about other candidates."""
    with _faults_of(judge, "conclude"):
        conclusion: object = judge.conclude(prompt, texts, answers)
    if not isinstance(conclusion, Conclusion):
        raise JudgeError(f"judge {judge.name!r} concluded {type(conclusion).__name__}", hint="return a Conclusion")
    preferences = tuple(conclusion.preferences)
    for preference in preferences:
        if not isinstance(preference, Preference) or preference.b >= len(texts):
            shown = printable(repr(preference), longest=80)
            raise JudgeError(
                f"judge {judge.name!r} prefers among {len(texts)} candidates by {shown}",
                hint="return Preference objects that name positions of candidates",
            )
    members = tuple((name, checked(judge, verdicts, texts)) for name, verdicts in conclusion.members)
    return Conclusion(checked(judge, conclusion.verdicts, texts), preferences, members)


@contextmanager
def _faults_of(judge: Judge, method: str) -> Iterator[None]:
    """Name the judge whose code fails: it may be a plug-in's."""
    try:
        yield
    except BonwiseError:
        raise
    except Exception as error:
        raise fault(error, f"judge {judge.name!r}", method, "mend the judge") from error


def fault(error: Exception, who: str, method: str, hint: str) -> JudgeError:
    """Return the error that says in one line whose code has failed."""
    why = printable(f"{type(error).__name__}: {error}", longest=200)
    return JudgeError(f"{who} failed in {method}(): {why}", hint=hint)


async def asked_or_failed(
    engine: Engine, judge: AskingJudge, prompt: str, texts: Sequence[str], draw: int, temperature: float | None
) -> tuple[Judgment | BonwiseError]:
    """Do what `judge_with` does, of a judge that asks a model, and return an error of the judge's."""
    task = asyncio.current_task()
    cancels = task.cancelling() if task else 0
    try:
        return (await _asked(engine, judge, prompt, texts, draw, temperature),)
    except asyncio.CancelledError as error:
        # Only the judge's own code can have raised this where nobody has cancelled who asks.
        if task and task.cancelling() > cancels:
            raise
        return (failed(judge, error),)
    except BonwiseError as error:
        return (error,)


async def _answered(engine: Engine, asks: Sequence[Ask]) -> list[Answers]:
    if len(asks) == 1:
        # Several begin in the next turn of the loop; one that began at once would overtake those of earlier pools.
        await asyncio.sleep(0)
        return [await engine.ask(asks[0])]
    return await asyncio.gather(*(engine.ask(ask) for ask in asks))


def redrawn(ask: Ask, draw: int, temperature: float | None) -> Ask:
    """Return the question that wants another answer to an ask, the first being draw 0; None keeps its temperature."""
    if draw == 0 and temperature is None:
        return ask
    asked_at = ask.temperature if temperature is None else temperature
    return replace(ask, first_sample=draw * ask.samples, temperature=asked_at)


def judge_now(judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Judge from synchronous code, in a loop too; a missing answer is a `CallError`, a bad one a `JudgeError`."""
    if isinstance(judge, FunctionJudge) or not is_asking(judge):
        answer: Any = judge.judge(prompt, texts)
        if type(answer) is list and type(judge) is FunctionJudge:
            return Judgment(tuple(answer))  # it has looked at each
        returned = portal.default_portal().run(_awaited, answer) if inspect.isawaitable(answer) else answer
        return Judgment(checked(judge, returned, texts))
    judgment = _asked_now(judge, prompt, texts)
    for verdict in judgment.verdicts:
        if isinstance(verdict, Unscored) and verdict.owed:
            raise CallError(f"judge {judge.name!r} was not answered: {verdict.reason.removeprefix('owed: ')}")
    return judgment


def _distinct(effective: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    distinct: list[Mapping[str, Any]] = []
    for parameters in effective:
        if parameters not in distinct:
            distinct.append(parameters)
    return tuple(distinct)


def _asked_now(judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Ask by the engine for which this thread works, else by the shared one."""
    running = _RUNNING.get()
    if running is None:
        return portal.default_portal().run(judge_with, judge, prompt, texts)
    if _is_running_here(running.loop):
        raise UsageError(
            f"an asynchronous judge asked {judge.name!r} synchronously, which would wait for ever",
            hint="inside a judge await bonwise.judges.judging.judge_with",
        )
    judgment = asyncio.run_coroutine_threadsafe(
        judge_with(running.engine, judge, prompt, texts), running.loop
    ).result()
    running.bills.append(judgment.bill)
    return judgment


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def missing_key(judge: Judge) -> CallError | None:
    """Return the error that says for which model of a judge there is no key; None where there is none to say."""
    if not is_asking(judge):
        return None
    from bonwise.calls.providers.protocol import provider  # noqa: PLC0415 - functions ask no model

    try:
        for ask in sample_asks(judge):
            provider(ask.model.provider).account(ask.model)
    except BonwiseError as error:  # what else is wrong with a judge is said when it is asked
        return error if isinstance(error, CallError) else None
    return None


def sample_asks(judge: AskingJudge) -> tuple[Ask, ...]:
    """Return the questions of a judge about a pool that is not there: they tell which models it asks."""
    return asked(bound(judge, dict.fromkeys(variables_of([judge]), "?")), "?", ("a", "b"))


async def called(engine: Engine, judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Do what `judge_with` does, of a judge that asks no model and is asynchronous."""
    running = _Running(engine, asyncio.get_running_loop())
    return await _heard(running, judge, texts, lambda: judge.judge(prompt, texts))


async def _heard(running: _Running, judge: Judge, texts: Sequence[str], call: Callable[[], Any]) -> Judgment:
    """Await what a judge answers; what it asks of others goes through the same engine."""
    token = _RUNNING.set(running)
    try:
        answer = call()
        outcome = Outcome(await answer if inspect.isawaitable(answer) else answer)
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        outcome = Outcome(error=error)
    except Exception as error:  # noqa: BLE001 - a judge may fail in any way
        outcome = Outcome(error=error)
    finally:
        _RUNNING.reset(token)
    return _judgment(running, judge, texts, outcome)


def _judgment(running: _Running, judge: Judge, texts: Sequence[str], outcome: Outcome) -> Judgment:
    """Hold what came of a call to the contract, and add what the judge has asked of others."""
    verdicts: tuple[Verdict, ...] = ()
    error = outcome.error
    if error is None:
        try:
            verdicts = checked(judge, outcome.value, texts)
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - what it returned may be lazy, and fail
            error = raised
    if isinstance(error, CallError):
        verdicts = (Unscored(f"owed: {error}", owed=True),) * len(texts)
    elif isinstance(error, BonwiseError):
        raise error
    elif error is not None:
        raise failed(judge, error) from error
    return Judgment(verdicts, bill=sum(running.bills, NOTHING_PAID))


def _is_cancelled() -> bool:
    """Tell whether somebody has cancelled who judges, and not the judge itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def failed(judge: Judge, error: BaseException) -> JudgeError:
    """Return the error that says in one line that a judge's own code has failed."""
    if isinstance(error, asyncio.CancelledError):
        return JudgeError(f"judge {judge.name!r} cancelled itself")
    return JudgeError(f"judge {judge.name!r} failed: {printable(f'{type(error).__name__}: {error}', longest=200)}")


def _is_awaited(judge: Judge) -> bool:
    return judge.asynchronous if isinstance(judge, FunctionJudge) else inspect.iscoroutinefunction(judge.judge)


def blocks(judge: Judge) -> bool:
    """Tell whether a judge is called in a thread of its own: it asks no model and is not asynchronous."""
    return not (is_asking(judge) or _is_awaited(judge))


async def _called_in_thread(engine: Engine, judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    alone = threads_of(judge) > 1 and isinstance(judge, FunctionJudge) and not judge.batch
    about = [(prompt, (text,)) for text in texts] if alone else [(prompt, texts)]
    judgments = []
    for result in await CallsInThread(engine, judge, about).run():
        if isinstance(result, BonwiseError):
            raise result
        judgments.append(result)
    return Judgment(
        sum((judgment.verdicts for judgment in judgments), ()),
        bill=sum((judgment.bill for judgment in judgments), NOTHING_PAID),
    )


class CallsInThread:
    """Calls of a judge that `blocks`, in one turn of its thread or over its threads; `about` is what each judges."""

    def __init__(self, engine: Engine, judge: Judge, about: Sequence[tuple[str, Sequence[str]]]) -> None:
        loop = asyncio.get_running_loop()
        self._judge, self._about = judge, about
        self._running = [_Running(engine, loop) for _ in about]
        self.found: list[Judgment | BonwiseError | None] = [None] * len(about)
        """What came of each call; None where it had not ended when `run` was cancelled."""

    async def run(self) -> list[Judgment | BonwiseError]:
        """Make the calls, await what they return where that is to be awaited, and return what came of each."""
        calls = [
            partial(_in_thread, running, self._judge, *about)
            for running, about in zip(self._running, self._about, strict=True)
        ]
        threads, each = threads_of(self._judge), range(len(calls))
        turns = [each] if threads == 1 else [each[at : at + 1] for at in each]
        outcomes: list[list[Outcome]] = [[] for _ in turns]
        made = [self._turn(calls[at.start : at.stop], its, threads) for at, its in zip(turns, outcomes, strict=True)]
        try:
            await (made[0] if len(made) == 1 else asyncio.gather(*made))
        finally:
            # A copy: what cannot be interrupted, and ends when nobody waits for it any more, comes too late.
            ended = [zip(at, tuple(its), strict=False) for at, its in zip(turns, outcomes, strict=True)]
            waiting = self._take(dict(chain.from_iterable(ended)))
        if waiting:
            await self._awaited(waiting)
        return [result for result in self.found if result is not None]

    async def _turn(self, calls: Sequence[Callable[[], Any]], outcomes: list[Outcome], threads: int) -> None:
        try:
            await run_all_in_thread(innermost(self._judge), self._judge.name, calls, outcomes, threads)
        except JudgeError as error:
            outcomes[:] = [Outcome(error=error)] * len(calls)

    def _take(self, outcomes: Mapping[int, Outcome]) -> dict[int, Any]:
        """Take what came of calls, by position; return what of it is still to be awaited."""
        waiting = {}
        for at, outcome in outcomes.items():
            if outcome.error is None and inspect.isawaitable(outcome.value):
                waiting[at] = outcome.value
                continue
            try:
                self.found[at] = _judgment(self._running[at], self._judge, self._about[at][1], outcome)
            except BonwiseError as error:
                self.found[at] = error
        return waiting

    async def _awaited(self, waiting: Mapping[int, Any]) -> None:
        # Each in a task of its own: what a judge sets or cancels there is its own.
        tasks = {asyncio.create_task(self._one(at, value)): at for at, value in waiting.items()}
        ended: set[asyncio.Task[Judgment | BonwiseError]] = set()
        try:
            await run_together(tasks, ended)
        finally:
            for task in ended:
                itself = task.cancelled()
                self.found[tasks[task]] = failed(self._judge, asyncio.CancelledError()) if itself else task.result()

    async def _one(self, at: int, value: Any) -> Judgment | BonwiseError:
        try:
            return await _heard(self._running[at], self._judge, self._about[at][1], lambda: value)
        except BonwiseError as error:
            return error


async def run_together(
    tasks: Collection[asyncio.Task[T]], ended: set[asyncio.Task[T]], patience: float | None = None
) -> None:
    """Wait for tasks, `patience` seconds at most; cancel what has not ended, also with who waits."""
    try:
        await asyncio.wait(tasks, timeout=patience)
    finally:
        ended.update(task for task in tasks if task.done())
        given_up = [task for task in tasks if task not in ended]
        for task in given_up:
            task.cancel()
        if given_up:
            await asyncio.gather(*given_up, return_exceptions=True)


def _in_thread(running: _Running, judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    _RUNNING.set(running)  # in the context of this call only
    returned: Any = judge.judge(prompt, texts)
    # What a generator does is done here too, and not in the event loop.
    return tuple(returned) if isinstance(returned, Iterator) else returned


async def _awaited(_engine: Engine, answer: Awaitable[Any]) -> Any:
    return await answer
