"""``bw.select`` and ``bw.best_of``: the best candidate of one pool, or the best of n answers of a generator."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial, update_wrapper
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack, overload

from bonwise.errors import JudgeError, UsageError
from bonwise.flags import shows
from bonwise.judges.protocol import Judge
from bonwise.selection.generating import AnswerDraws, awaited_in_thread, check_stop_at
from bonwise.selection.selection import Selection, T
from bonwise.selection.selector import Selector
from bonwise.selection.settings import SelectorSettings
from bonwise.table.checks import check_whole

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class Kept(str):
    """The text that was kept; its `selection` says how it was chosen."""

    __slots__ = ("selection",)

    selection: Selection[str]

    def __new__(cls, text: str, selection: Selection[str]) -> Self:
        """Return the text with its selection."""
        made = super().__new__(cls, text)
        made.selection = selection
        return made

    def __getnewargs__(self) -> tuple[str, Selection[str]]:  # type: ignore[override]
        """Return what a copy is made from."""
        return str(self), self.selection


class BestOf(Generic[P, R]):
    """A function that generates, called n times for each answer it gives; `select` returns the `Selection`."""

    def __init__(
        self,
        generate: Callable[P, Any],
        n: int,
        selector: Selector,
        prompt: Callable[..., Any],
        stop_at: float | None,
    ) -> None:
        _refuse_generators(generate)
        update_wrapper(self, generate)  # first: it copies attributes, and a function may have some of these names
        self._generate, self._selector = generate, selector
        self._bound = partial(BestOf, n=n, selector=selector, prompt=prompt, stop_at=stop_at)
        self._draws: Callable[..., AnswerDraws[Any]] = lambda *args, **kwargs: AnswerDraws(
            prompt(*args, **kwargs), n, stop_at=stop_at, timed=True
        )
        if self.is_asynchronous:
            # The mark by which others see that it is to be awaited; which one depends on Python's version.
            getattr(inspect, "markcoroutinefunction", bool)(self)
            self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)

    @property
    def is_asynchronous(self) -> bool:
        """Whether calling it gives something to be awaited."""
        generate = self._generate
        if isinstance(generate, BestOf):
            return generate.is_asynchronous
        return inspect.iscoroutinefunction(generate) or inspect.iscoroutinefunction(type(generate).__call__)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: BestOf[Concatenate[Any, Q], S], instance: object, owner: type | None = None
    ) -> BestOf[Q, S]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind the function of a class to its instance, as any function is bound."""
        return self if instance is None else self._bound(MethodType(self._generate, instance))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the best answer; of an asynchronous function, what is to be awaited."""
        answer: Any = (self._kept_later if self.is_asynchronous else self._kept_now)(*args, **kwargs)
        return answer  # type: ignore[no-any-return]

    def select(self, *args: P.args, **kwargs: P.kwargs) -> Selection:
        """Generate in threads, side by side, and return the selection among the answers."""
        if self.is_asynchronous:
            hint = "await aselect(...), or bonwise.agenerate_best(...)"
            raise UsageError("select() cannot wait for an asynchronous function", hint=hint)
        draws = self._draws(*args, **kwargs)
        return self._selector.select_drawn(draws, lambda _: self._generate(*args, **kwargs))

    async def aselect(self, *args: P.args, **kwargs: P.kwargs) -> Selection:
        """Generate side by side, in threads where the function is not asynchronous, and return the selection."""
        draws, call = self._draws(*args, **kwargs), partial(self._generate, *args, **kwargs)

        async def draw(_: int) -> Any:
            answer = call() if self.is_asynchronous else await awaited_in_thread(call)
            return await answer if inspect.isawaitable(answer) else answer

        return await self._selector.aselect_drawn(draws, draw)

    def _kept_now(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        return _kept(self.select(*args, **kwargs))

    async def _kept_later(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        return _kept(await self.aselect(*args, **kwargs))

    def __repr__(self) -> str:
        n, name = self._bound.keywords["n"], getattr(self, "__qualname__", repr(self._generate))
        return f"best_of({n}, {self._selector.settings.judge.name})({name})"

    def close(self) -> None:
        """Close the selector."""
        self._selector.close()

    async def aclose(self) -> None:
        """Close the selector, in asynchronous code."""
        await self._selector.aclose()


def _refuse_generators(generate: Any) -> None:
    if not callable(generate):
        raise UsageError(f"{type(generate).__name__} is not a function", hint="pass one that returns an answer")
    if inspect.isgeneratorfunction(generate) or inspect.isasyncgenfunction(generate):
        name = getattr(generate, "__name__", "the function")
        raise UsageError(
            f"{name} yields parts, and only a whole answer can be judged", hint="return the whole answer"
        )


class MakesBestOf(Protocol):
    """Decorates a function: parameters and return type stay, and a text is a `Kept`."""

    @overload
    def __call__(
        self, generate: Callable[P, Coroutine[Any, Any, str]], /
    ) -> BestOf[P, Coroutine[Any, Any, Kept]]: ...
    @overload
    def __call__(self, generate: Callable[P, str], /) -> BestOf[P, Kept]: ...
    @overload
    def __call__(self, generate: Callable[P, R], /) -> BestOf[P, R]: ...


@shows(SelectorSettings)
def best_of(
    n: int,
    judge: Judge | Callable[[str, str], Any],
    *,
    prompt: Callable[..., Any] | None = None,
    stop_at: float | None = None,
    **settings: Unpack[SelectorSettings],
) -> MakesBestOf:
    """Make a generate function return the best of n answers, which are drawn side by side.

    The deadline is for drawing and judging together. A judge that scores each answer alone begins when the second
    has come; one that compares them, when all have come or half of the time is over. Draws that fail or are late are
    left out and counted. A thread cannot be interrupted: a late one runs on, and no program waits for it.

    Parameters
    ----------
    n : int
        Answers to choose from, at least 1. An ordinary function runs in n threads, an asynchronous one in n tasks.
    judge : Judge or callable
        As in `bonwise.select`.
    prompt : callable, optional
        From the function's arguments to the prompt that the judge sees, a text or chat messages; its first argument
        unless given.
    stop_at : float, optional
        A score: the first answer that has it, or a higher one, ends the drawing. What is under way is cancelled, and
        may be billed. Only for a judge that scores each answer alone, once.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Returns
    -------
    callable
        A decorator of synchronous and asynchronous functions. The decorated function returns the best answer as it
        was generated; a text is a `str` with an attribute ``selection``, and ``function.select(...)`` (asynchronous:
        ``aselect``) returns the `Selection` of any kind of answer. Its `generated` counts the draws.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing, no prompt among the arguments, or a function that yields.
    bonwise.errors.JudgeError
        No answer could be scored, unless `on_failure` says what then.
    bonwise.errors.CallError
        No draw gave an answer, or none in time; or two or more did, and none was judged in time, unless `on_failure`
        says what then.

    Examples
    --------
    >>> drafts = iter(["a long answer", "red", "a longer answer"])
    >>> @best_of(n=3, judge=lambda prompt, text: -len(text))
    ... def generate(prompt):
    ...     return next(drafts)
    >>> answer = generate("Name a colour")
    >>> answer, sorted(answer.selection.scores), answer.selection.generated.drawn
    ('red', [-15.0, -13.0, -3.0], 3)
    """
    check_whole("n", n, least=1)
    selector = Selector(judge, **settings)
    _make_ready(selector, stop_at)
    decorate: Any = partial(BestOf, n=n, selector=selector, prompt=prompt or _first, stop_at=stop_at)
    return decorate  # type: ignore[no-any-return]


@shows(SelectorSettings)
def generate_best(
    generate: Callable[[Any], T],
    prompt: Any,
    *,
    n: int,
    judge: Judge | Callable[[str, str], Any],
    stop_at: float | None = None,
    **settings: Unpack[SelectorSettings],
) -> Selection[T]:
    """Call a generate function n times, side by side, and pick the best answer: `best_of` for a single call.

    Parameters
    ----------
    generate : callable
        From the prompt to an answer; as of `best_of`.
    prompt : str or chat messages
    n : int
        Answers to choose from, at least 1.
    judge : Judge or callable
        As in `bonwise.select`.
    stop_at : float, optional
        A score: the first answer that has it, or a higher one, ends the drawing. Deadline and errors are as of
        `best_of`.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Returns
    -------
    Selection
        Its `generated` counts the draws.

    Examples
    --------
    >>> drafts = iter(["a long answer", "red", "a longer answer"])
    >>> pick = generate_best(lambda prompt: next(drafts), "Name a colour", n=3, judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.generated.drawn, pick.generated.failed
    ('red', 3, 0)
    """
    check_whole("n", n, least=1)
    selector = Selector.for_one_pool(judge, **settings)
    try:
        _make_ready(selector, stop_at)
        return BestOf(generate, n, selector, _first, stop_at).select(prompt)
    finally:
        selector.close(wait=False)


@shows(SelectorSettings)
async def agenerate_best(
    generate: Callable[[Any], Any],
    prompt: Any,
    *,
    n: int,
    judge: Judge | Callable[[str, str], Any],
    stop_at: float | None = None,
    **settings: Unpack[SelectorSettings],
) -> Selection:
    """Do what `generate_best` does, in the running event loop, also with an asynchronous function.

    Examples
    --------
    >>> import asyncio
    >>> async def generate(prompt):
    ...     return "red"
    >>> asyncio.run(agenerate_best(generate, "Name a colour", n=2, judge=lambda prompt, text: -len(text))).best
    'red'
    """
    check_whole("n", n, least=1)
    selector = Selector(judge, **settings)
    try:
        _make_ready(selector, stop_at)
        return await BestOf(generate, n, selector, _first, stop_at).aselect(prompt)
    finally:
        await selector.aclose(wait=False)


def _make_ready(selector: Selector, stop_at: float | None) -> None:
    check_stop_at(selector.settings, stop_at)
    selector.settings.check_bound()
    if selector.settings.needs_a_loop:
        import_module("bonwise.calls.portal")  # before the time of an answer begins


def _first(*args: Any, **kwargs: Any) -> Any:
    prompt = args[0] if args else kwargs.get("prompt")
    if not isinstance(prompt, str | Sequence | Mapping):
        raise UsageError("best_of sees no prompt among the arguments", hint="pass prompt=function of the arguments")
    return prompt


def _kept(selection: Selection) -> Any:
    if selection.index is None:
        reasons = "; ".join(sorted(set(selection.unscored.values())))
        raise JudgeError(f"none of {len(selection.ids)} answers could be chosen: {reasons}", hint="set on_failure")
    best = selection.best
    return Kept(best, selection) if isinstance(best, str) else best


@shows(SelectorSettings)
def select(
    prompt: Any,
    candidates: Sequence[T],
    *,
    judge: Judge | Callable[[str, str], Any],
    prompt_id: str | None = None,
    images: str | Path | None = None,
    **settings: Unpack[SelectorSettings],
) -> Selection[T]:
    """Judge the candidates of one prompt and pick the best.

    Whoever selects more than once makes a `bonwise.Selector`, which keeps its connections.

    Parameters
    ----------
    prompt : str or chat messages
    candidates : sequence
        Strings, mappings ``{"id", "text"}``, chat messages, documents, nodes, or any objects with `text`. A single
        candidate needs no judging, and identical texts are judged once.
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    prompt_id : str, optional
        Repeated in the result.
    images : str or pathlib.Path, optional
        The folder of images. With it the judges see images in the prompt and the candidates: content parts
        ``{"type": "image_url", "image_url": {"url": ...}}`` with a path below the folder, an https or a data URL.
        Without it an image is the word ``[image]``.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Returns
    -------
    Selection
        An unscored candidate cannot win.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one without text, or two with one id; a setting that means nothing; an image outside of the
        folder, too large or none, or a judge that sees no images.
    bonwise.errors.JudgeError
        A judge that fails, does not keep its contract, or scores no candidate.
    bonwise.errors.CallError
        A model that was asked did not answer.

    Examples
    --------
    >>> pick = select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by
    ('red', 'score')
    """
    selector = Selector.for_one_pool(judge, **settings)
    try:
        return selector.select(prompt, candidates, prompt_id=prompt_id, images=images)
    finally:
        selector.close(wait=False)


@shows(SelectorSettings)
async def aselect(
    prompt: Any,
    candidates: Sequence[T],
    *,
    judge: Judge | Callable[[str, str], Any],
    prompt_id: str | None = None,
    images: str | Path | None = None,
    **settings: Unpack[SelectorSettings],
) -> Selection[T]:
    """Do what `select` does, in the running event loop; parameters, result and errors are the same.

    Examples
    --------
    >>> import asyncio
    >>> async def judge(prompt, text):
    ...     return -len(text)
    >>> asyncio.run(aselect("Name a colour", ["red", "a long answer"], judge=judge)).best
    'red'
    """
    selector = Selector(judge, **settings)
    try:
        return await selector.aselect(prompt, candidates, prompt_id=prompt_id, images=images)
    finally:
        # On the wire is only what missed the deadline, or what a caller who went away had asked.
        await selector.aclose(wait=False)
