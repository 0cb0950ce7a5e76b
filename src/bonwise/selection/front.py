"""``bw.select`` and ``bw.best_of``: the best candidate of one pool, or the best of n answers of a generator."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any, Self, Unpack

from bonwise.errors import JudgeError, UsageError
from bonwise.flags import shows
from bonwise.judges.protocol import Judge
from bonwise.selection.selection import Selection, T
from bonwise.selection.selector import Selector
from bonwise.selection.settings import SelectorSettings
from bonwise.table.checks import check_whole

__all__ = ["BestOf", "Kept", "aselect", "best_of", "select"]


class Kept(str):
    """The text that was kept; its `selection` says how it was chosen."""

    __slots__ = ("selection",)

    selection: Selection

    def __new__(cls, text: str, selection: Selection) -> Self:
        """Return the text with its selection."""
        made = super().__new__(cls, text)
        made.selection = selection
        return made

    def __getnewargs__(self) -> tuple[str, Selection]:  # type: ignore[override]
        """Return what a copy is made from."""
        return str(self), self.selection


class BestOf:
    """A function that generates, called n times for each answer it gives.

    Made by `best_of`. Called as the function itself; `select` and `aselect` return the `Selection` instead of the
    answer. Close it when no more is asked of it.
    """

    def __init__(self, generate: Callable[..., Any], n: int, selector: Selector, prompt: Callable[..., str]) -> None:
        update_wrapper(self, generate)  # first: it copies attributes, and a function may have some of these names
        self._generate, self._n, self._selector, self._prompt = generate, n, selector, prompt

    @property
    def is_asynchronous(self) -> bool:
        """Whether calling it gives something to be awaited."""
        generate = self._generate
        if isinstance(generate, BestOf):
            return generate.is_asynchronous
        return inspect.iscoroutinefunction(generate) or inspect.iscoroutinefunction(type(generate).__call__)

    def __get__(self, instance: object, owner: type | None = None) -> BestOf:
        """Bind the function of a class to its instance, as any function is bound."""
        if instance is None:
            return self
        return BestOf(MethodType(self._generate, instance), self._n, self._selector, self._prompt)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the best answer; of an asynchronous function, what is to be awaited."""
        if self.is_asynchronous:
            return self._kept_later(*args, **kwargs)
        return _kept(self.select(*args, **kwargs))

    def select(self, *args: Any, **kwargs: Any) -> Selection:
        """Generate one after the other, and return the selection among the answers."""
        if self.is_asynchronous:
            raise UsageError("select() cannot wait for an asynchronous function", hint="await aselect(...)")
        prompt = self._prompt(*args, **kwargs)
        return self._selector.select(prompt, [self._generate(*args, **kwargs) for _ in range(self._n)])

    async def aselect(self, *args: Any, **kwargs: Any) -> Selection:
        """Generate all at once, and return the selection among the answers."""
        prompt = self._prompt(*args, **kwargs)
        tasks = [asyncio.create_task(self._generated(*args, **kwargs)) for _ in range(self._n)]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await self._selector.aselect(prompt, answers)

    async def _generated(self, *args: Any, **kwargs: Any) -> Any:
        answer: Awaitable[Any] | Any = self._generate(*args, **kwargs)
        return await answer if inspect.isawaitable(answer) else answer

    async def _kept_later(self, *args: Any, **kwargs: Any) -> Any:
        return _kept(await self.aselect(*args, **kwargs))

    def close(self) -> None:
        """Close the selector."""
        self._selector.close()

    async def aclose(self) -> None:
        """Close the selector, in asynchronous code."""
        await self._selector.aclose()


@shows(SelectorSettings)
def best_of(
    n: int,
    judge: Judge | Callable[[str, str], Any],
    *,
    prompt: Callable[..., str] | None = None,
    **settings: Unpack[SelectorSettings],
) -> Callable[[Callable[..., Any]], BestOf]:
    """Make a generate function return the best of n answers.

    Parameters
    ----------
    n : int
        Answers to choose from, at least 1.
    judge : Judge or callable
        As in `bonwise.select`.
    prompt : callable, optional
        From the function's arguments to the prompt that the judge sees, a text or chat messages; its first argument
        unless given.
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Returns
    -------
    callable
        A decorator of synchronous and asynchronous functions. The decorated function returns the best answer as it
        was generated; a text is a `str` with an attribute ``selection``, and ``function.select(...)`` (asynchronous:
        ``aselect``) returns the `Selection` of any kind of answer.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing, or no prompt among the arguments.
    bonwise.errors.JudgeError
        No answer could be scored, unless `on_failure` says what then.

    Examples
    --------
    >>> drafts = iter(["a long answer", "red", "a longer answer"])
    >>> @best_of(n=3, judge=lambda prompt, text: -len(text))
    ... def generate(prompt):
    ...     return next(drafts)
    >>> answer = generate("Name a colour")
    >>> answer, answer.selection.scores
    ('red', (-13.0, -3.0, -15.0))
    """
    check_whole("n", n, least=1)
    selector = Selector(judge, **settings)
    return lambda generate: BestOf(generate, n, selector, prompt or _first)


def _first(*args: Any, **kwargs: Any) -> Any:
    found = args[0] if args else kwargs.get("prompt")
    if not isinstance(found, str | Sequence | Mapping):
        raise UsageError("best_of sees no prompt among the arguments", hint="pass prompt=function of the arguments")
    return found


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
    **settings
        Those of `SelectorSettings`: strategy, router, deadline, on_failure, ledger, limits, seed ...

    Returns
    -------
    Selection
        An unscored candidate cannot win.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one without text, or two with one id; a setting that means nothing.
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
        return selector.select(prompt, candidates, prompt_id=prompt_id)
    finally:
        selector.close(wait=False)


@shows(SelectorSettings)
async def aselect(
    prompt: Any,
    candidates: Sequence[T],
    *,
    judge: Judge | Callable[[str, str], Any],
    prompt_id: str | None = None,
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
        return await selector.aselect(prompt, candidates, prompt_id=prompt_id)
    finally:
        # On the wire is only what missed the deadline, or what a caller who went away had asked.
        await selector.aclose(wait=False)
