"""``bw.select`` and ``bw.aselect``: one pool in, one pick out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bonwise.judges.protocol import Judge
from bonwise.selection.protocol import Strategy
from bonwise.selection.selection import Selection
from bonwise.selection.selector import Selector
from bonwise.selection.settings import OnFailure, Routing

__all__ = ["aselect", "select"]


def select(  # noqa: PLR0913 - the front door; all but the pool by keyword
    prompt: Any,
    candidates: Sequence[Any],
    *,
    judge: Judge | Callable[[str, str], Any],
    strategy: Strategy | None = None,
    router: Routing | None = None,
    deadline: float | None = None,
    on_failure: OnFailure = "raise",
    ledger: str | Path | None = None,
    seed: int = 0,
    text: Callable[[Any], str] | None = None,
    prompt_id: str | None = None,
) -> Selection:
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
    strategy : Strategy, optional
        Every score once, or for a judge that compares all pairs, unless another one is given.
    router : Router, optional
        Sends some pools to a stronger judge.
    deadline : float, optional
        Seconds for one pool; then the best that is known is picked, and `decided_by` says ``deadline``.
    on_failure : {"raise", "first", "random", "owe"}
        What follows where a judge fails: its error; or the best of what could be judged (``partial``), and where
        nothing could be, the first candidate or a random one; or no pick (``owed``).
    ledger : str or pathlib.Path, optional
        A run folder: answers are kept there and never paid twice.
    seed : int
        Breaks ties, together with the prompt and the candidates.
    text : callable, optional
        Candidate to the text the judge sees.
    prompt_id : str, optional
        Repeated in the result.

    Returns
    -------
    Selection
        An unscored candidate cannot win; `best` is None when nothing could be scored.

    Raises
    ------
    bonwise.errors.UsageError
        No candidates, one without text, or two with one id; a setting that means nothing.
    bonwise.errors.JudgeError
        A judge that fails or does not keep its contract.
    bonwise.errors.CallError
        A model that was asked did not answer.

    Examples
    --------
    >>> pick = select("Name a colour", ["red", "a long answer"], judge=lambda prompt, text: -len(text))
    >>> pick.best, pick.decided_by
    ('red', 'score')
    """
    selector = Selector.for_one_pool(
        judge,
        strategy=strategy,
        router=router,
        deadline=deadline,
        on_failure=on_failure,
        ledger=ledger,
        seed=seed,
        text=text,
    )
    try:
        return selector.select(prompt, candidates, prompt_id=prompt_id)
    finally:
        selector.close(wait=False)


async def aselect(  # noqa: PLR0913 - as above
    prompt: Any,
    candidates: Sequence[Any],
    *,
    judge: Judge | Callable[[str, str], Any],
    strategy: Strategy | None = None,
    router: Routing | None = None,
    deadline: float | None = None,
    on_failure: OnFailure = "raise",
    ledger: str | Path | None = None,
    seed: int = 0,
    text: Callable[[Any], str] | None = None,
    prompt_id: str | None = None,
) -> Selection:
    """Do what `select` does, in the running event loop; parameters, result and errors are the same.

    Examples
    --------
    >>> import asyncio
    >>> async def judge(prompt, text):
    ...     return -len(text)
    >>> asyncio.run(aselect("Name a colour", ["red", "a long answer"], judge=judge)).best
    'red'
    """
    selector = Selector(
        judge,
        strategy=strategy,
        router=router,
        deadline=deadline,
        on_failure=on_failure,
        ledger=ledger,
        seed=seed,
        text=text,
    )
    try:
        return await selector.aselect(prompt, candidates, prompt_id=prompt_id)
    finally:
        # On the wire is only what missed the deadline, or what a caller who went away had asked.
        await selector.aclose(wait=False)
