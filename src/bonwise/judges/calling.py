"""Call any judge, any function, or a judge that another one is made of, and hold it to the contract."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from functools import partial
from numbers import Real
from types import FunctionType, MethodType
from typing import Any

from bonwise.errors import JudgeError
from bonwise.flags import takes_numbers
from bonwise.judges.protocol import AskingJudge, Judge, is_asking
from bonwise.table.checks import check_whole
from bonwise.table.verdicts import Score, Unscored, Verdict, kept

_NUMBERS, _LARGEST = (float, int), 1e300
"""What most functions return: of these, nothing else has to be asked."""

_LAYERS = 8
"""How deep judges are looked into; there is none of more layers, except one without end."""

WORKERS, MOST_WORKERS = 8, 32
"""Threads of a function that blocks: usually, and at most, for one deadline may leave as many calls behind."""


@takes_numbers
@dataclass(frozen=True)
class FunctionJudge:
    """A function as a judge, with how many threads may call it, or that it takes all texts at once.

    A function given as ``judge=`` as it is is called by one thread at a time, so it need not be thread-safe. To wrap
    it says that several threads may call it at once, which pays where it blocks. Scores, order and ties are the same.

    Parameters
    ----------
    function : callable
        ``(prompt, text) -> number``, ``async`` or not. It returns a finite number, higher is better; or ``(score,
        reason)``, ``{"score": ..., "reason": ...}``, or an object with ``score`` and perhaps ``reason``. None and NaN
        are unscored; so are bool and what cannot be read, and one warning says so.
    version : str
        Changes whenever the same texts may get other scores.
    workers : int, optional
        Threads, 1 to 32; else a `UsageError`. Unless given 8; 1 with `batch`, for models and tokenizers are seldom
        thread-safe. An ``async`` function is awaited and takes none.
    batch : bool
        Whether it is ``(prompt, texts) -> scores``, one for each text, in order, each as above; else a `JudgeError`
        when it judges. So a cross-encoder or a reward model gets all candidates of a prompt in one call.

    Examples
    --------
    >>> FunctionJudge(lambda prompt, text: len(text)).judge("Say hi", ["hi", "hello"])
    [Score(value=2.0), Score(value=5.0)]
    >>> FunctionJudge(lambda prompt, text: (len(text), "short")).judge("Say hi", ["hi"])[0].raw
    'short'
    >>> FunctionJudge(lambda prompt, texts: map(len, texts), batch=True).judge("Say hi", ["hi", "hello"])
    [Score(value=2.0), Score(value=5.0)]
    """

    function: Callable[..., Any]
    _: KW_ONLY
    version: str = "1"
    workers: int | None = None
    batch: bool = False
    _unsaid: list[str] = field(default_factory=lambda: ["unread"], init=False, repr=False, compare=False)
    """Warnings still to be given; one thread alone takes one out."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise JudgeError(
                f"{type(self.function).__name__} is not a function", hint="pass (prompt, text) -> number"
            )
        usual, most = (1, 1) if self.asynchronous else (1 if self.batch else WORKERS, MOST_WORKERS)
        workers = usual if self.workers is None else self.workers
        hint = "leave it out: an async function is awaited" if self.asynchronous else ""
        check_whole("workers", workers, least=1, most=most, hint=hint)
        object.__setattr__(self, "workers", workers)

    def __repr__(self) -> str:
        settings = f"version={self.version!r}, workers={self.workers}, batch={self.batch}"
        return f"FunctionJudge({self.name}, {settings})"

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def asynchronous(self) -> bool:
        """Whether its answers are awaited, as far as that can be seen before it is called."""
        call = getattr(self.function, "__call__", None)  # noqa: B004 - the method itself, of an object that has one
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def judge(self, prompt: str, candidates: Sequence[str]) -> list[Verdict] | Awaitable[list[Verdict]]:
        """Call the function once a candidate, or for all; of an asynchronous one return what is to be awaited."""
        if self.batch:
            returned, texts = self.function(prompt, list(candidates)), len(candidates)
            return self._later(returned, texts) if inspect.isawaitable(returned) else self._each(returned, texts)
        values = [self.function(prompt, text) for text in candidates]
        for value in values:
            if type(value) not in _NUMBERS and inspect.isawaitable(value):
                return _awaited(values, self._verdict)
        return [self._verdict(value) for value in values]

    async def _later(self, coming: Awaitable[Any], texts: int) -> list[Verdict]:
        return self._each(await coming, texts)

    def _each(self, returned: Any, texts: int) -> list[Verdict]:
        """Read the scores of a batch; a `JudgeError` where there is not one for each text."""
        verdicts = [self._verdict(value) for value in returned] if _is_in_order(returned) else None
        if verdicts is None or len(verdicts) != texts:
            what = type(returned).__name__ if verdicts is None else f"{len(verdicts)} scores"
            hint = "a batch function returns one score for each text, in order"
            raise JudgeError(f"judge {self.name!r} returned {what} for {texts} texts", hint=hint)
        return verdicts

    def _verdict(self, value: Any) -> Verdict:
        if type(value) in _NUMBERS and -_LARGEST < value < _LARGEST:
            return Score(float(value))
        score, reason = _score_and_reason(value)
        if score is None:
            return Unscored("the function returned nothing", reason)
        try:
            number = _number(score)
        except OverflowError:
            return Unscored("the function returned a number too large to compare", reason)
        if number is not None:
            finite = math.isfinite(number)
            return Score(number, raw=reason) if finite else Unscored(f"the function returned {number}", reason)
        kind = type(value).__name__ + ("" if score is value else f" with {type(score).__name__} as the score")
        with suppress(IndexError):
            self._unsaid.pop()
            warnings.warn(
                f"judge {self.name!r} returned {kind}, not a number: such candidates are unscored; return a number, "
                "(score, reason), {'score': ..., 'reason': ...}, an object with .score, or None",
                stacklevel=2,
            )
        return Unscored(f"the function returned {kind}, not a number", repr(value)[:200])


def as_judge(judge: Judge | Callable[[str, str], Any]) -> Judge:
    """Return a judge as it is, a function as a `FunctionJudge`; a `JudgeError` refuses all else."""
    if isinstance(judge, type):
        raise JudgeError(f"{judge.__name__} is a class, no judge", hint="pass an instance of it")
    if isinstance(judge, Judge):
        return judge
    if callable(judge):
        return FunctionJudge(judge, workers=1)
    raise JudgeError(
        f"{type(judge).__name__} is not a judge", hint="pass an object with name, version and judge(), or a function"
    )


def innermost(judge: Judge) -> object:
    """Return what is at work in a judge and stays when what leads to it is made anew: code, or a method's object."""
    inner: object = judge
    for _ in range(_LAYERS):
        inner = _inside(inner)
    if isinstance(inner, MethodType):
        return inner.__self__
    return inner.__code__ if isinstance(inner, FunctionType) else inner


def _inside(called: object) -> object:
    """Return what one layer of wrapping hands calls on to; what wraps nothing is itself."""
    if isinstance(called, FunctionJudge):
        return called.function
    if isinstance(called, partial):
        return called.func
    inner = getattr(called, "of", None)
    # By hand, at each call: a check against a protocol takes longer than many a judge.
    return inner if callable(getattr(inner, "judge", None)) else called


def threads_of(judge: Judge) -> int:
    """Return how many threads may call a judge at once: as many as a function that it wraps states, else one."""
    inner: object = judge
    for _ in range(_LAYERS):
        if isinstance(inner, FunctionJudge):
            return inner.workers or 1
        inner = _inside(inner)
    return 1


def checked(judge: Judge, answer: object, texts: Sequence[str]) -> tuple[Verdict, ...]:
    """Return what a judge answered, provided that it is one verdict per candidate; otherwise raise `JudgeError`."""
    if type(answer) not in (list, tuple) and not isinstance(answer, Iterable):
        raise JudgeError(
            f"judge {judge.name!r} returned {type(answer).__name__}",
            hint="return one Score or Unscored a candidate, in order",
        )
    verdicts: tuple[Any, ...] = tuple(answer)  # type: ignore[arg-type]
    if len(verdicts) != len(texts):
        raise JudgeError(
            f"judge {judge.name!r} returned {len(verdicts)} verdicts for {len(texts)} candidates",
            hint="return one Score or Unscored a candidate, in order",
        )
    for verdict in verdicts:
        if not isinstance(verdict, Score | Unscored):
            raise JudgeError(
                f"judge {judge.name!r} returned {type(verdict).__name__}", hint="return Score or Unscored"
            )
    return verdicts


async def _awaited(values: Sequence[Any], verdict: Callable[[Any], Verdict]) -> list[Verdict]:
    import asyncio  # noqa: PLC0415 - functions that are not asynchronous need no event loop

    async def score_of(value: Any) -> Verdict:
        return verdict(await value if inspect.isawaitable(value) else value)

    if len(values) == 1:
        return [await score_of(values[0])]
    try:
        return list(await asyncio.gather(*(score_of(value) for value in values)))
    except asyncio.CancelledError:
        for value in values:
            # Python warns of a coroutine that is never awaited; cancelled at once, none of these has begun.
            if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
                value.close()
        raise


def _is_in_order(returned: Any) -> bool:
    # An array without dimensions is iterable by its type alone.
    whole = isinstance(returned, str | bytes | Mapping | AbstractSet) or getattr(returned, "shape", None) == ()
    return isinstance(returned, Iterable) and not whole


def _score_and_reason(value: Any) -> tuple[Any, str]:
    """Return the score in what a function returned, None where it gave none, and the reason beside it."""
    score, reason = value, None
    if isinstance(value, Mapping):
        score, reason = (value["score"], value.get("reason")) if "score" in value else (value, None)
    elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str | None):
        score, reason = value
    elif not callable(getattr(value, "score", callable)):  # a method scores something, and is no score
        score, reason = value.score, getattr(value, "reason", None)
    return score, kept(reason) if isinstance(reason, str) else ""


def _number(score: Any) -> float | None:
    """Return a score as a number, None where it is none, such as a bool; raises OverflowError as float() does."""
    if getattr(score, "shape", None) == () and callable(getattr(score, "item", None)):
        score = score.item()  # of numpy and torch, a scalar or an array without dimensions
    if isinstance(score, bool) or not isinstance(score, Real | Decimal):
        return None
    # A signalling NaN of decimal is refused by float().
    return math.nan if isinstance(score, Decimal) and score.is_nan() else float(score)


Verdicts = tuple[Verdict, ...]


def as_asking(judge: Judge) -> AskingJudge:
    """Return a judge that asks a model; any other raises `JudgeError`."""
    if not is_asking(judge):
        raise JudgeError(f"judge {judge.name!r} asks no model", hint="call its judge() instead")
    return judge


def calls_of(judge: Judge, candidates: int, *, again: bool = False) -> int:
    """Return how many answers of a model a judge needs, `again` for a further draw, which has a first one already."""
    needed = judge.calls(candidates) if is_asking(judge) else 0
    return max(needed - getattr(judge, "first_calls", 0), 0) if again else needed


def called(
    judge: Judge, prompt: str, candidates: Sequence[str], times: int, then: Callable[[Sequence[Verdicts]], Verdicts]
) -> Verdicts | Awaitable[Verdicts]:
    """Call a judge's own `judge` some times and check each answer; a coroutine where it is asynchronous."""
    first = judge.judge(prompt, candidates)
    if inspect.isawaitable(first):
        return _awaited_scores(judge, prompt, candidates, times, first, then)
    answers = [first, *(judge.judge(prompt, candidates) for _ in range(times - 1))]
    return then([checked(judge, answer, candidates) for answer in answers])


async def _awaited_scores(
    judge: Judge,
    prompt: str,
    candidates: Sequence[str],
    times: int,
    first: Awaitable[Any],
    then: Callable[[Sequence[Verdicts]], Verdicts],
) -> Verdicts:
    answers = [checked(judge, await first, candidates)]
    for _ in range(times - 1):
        answer = judge.judge(prompt, candidates)
        answers.append(checked(judge, await answer if inspect.isawaitable(answer) else answer, candidates))
    return then(answers)
