"""``bw.select_many`` and ``bw.aselect_many``: many pools in, one pick per pool out, in input order."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bonwise.judges.protocol import Judge
from bonwise.runs.control import RunControl
from bonwise.runs.pools import PoolSource, beside_the_loop, opened
from bonwise.runs.summary import RunSummary
from bonwise.selection.protocol import Strategy
from bonwise.selection.selection import Selection
from bonwise.selection.selector import Selector
from bonwise.selection.settings import OnFailure, Routing

if TYPE_CHECKING:
    from bonwise.calls.providers.protocol import Connection

__all__ = ["aselect_many", "select_many", "selected_by"]


class SelectorSettings(TypedDict, total=False):
    """The settings of a `bonwise.Selector`, by keyword."""

    strategy: Strategy | None
    router: Routing | None
    deadline: float | None
    on_failure: OnFailure
    ledger: str | Path | None
    max_concurrency: int
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    reask: int
    offline: bool
    seed: int
    text: Callable[[Any], str] | None
    connection: Connection | None


def select_many(
    pools: PoolSource, *, judge: Judge | Callable[[str, str], Any], **settings: Unpack[SelectorSettings]
) -> Iterator[Selection]:
    """Pick the best candidate of each of many pools, and yield the picks in the order of the pools.

    Parameters
    ----------
    pools : str, pathlib.Path or iterable
        A file of pools (JSONL); or pools, each a `Pool`, a mapping with ``prompt``, ``candidates`` and perhaps
        ``prompt_id``, or a pair ``(prompt, candidates)``. A pool without an id is named by its position, from 0.
    judge : Judge or callable
        A judge, or a function ``(prompt, text) -> number``.
    **settings
        Those of `bonwise.Selector`, such as ``ledger``, ``max_cost`` and ``on_failure``.

    Raises
    ------
    Exception
        As `bonwise.Selector.aselect`; the pools under way are then given up.

    Examples
    --------
    >>> pools = [("Name a colour", ["red", "sky blue"]), ("Name a fish", ["cod", "salmon"])]
    >>> [pick.best for pick in select_many(pools, judge=lambda prompt, text: len(text))]
    ['sky blue', 'salmon']
    """
    with Selector(judge, **settings) as selector:
        yield from selector.select_many(opened(pools), ordered=True)


async def aselect_many(
    pools: PoolSource | AsyncIterable[Any],
    *,
    judge: Judge | Callable[[str, str], Any],
    **settings: Unpack[SelectorSettings],
) -> AsyncIterator[Selection]:
    """Do what `select_many` does, in the running event loop; pools may come from an asynchronous iterable too.

    A file, or an iterator that may block, is read in a thread of its own.
    """
    async with (
        Selector(judge, **settings) as selector,
        aclosing(selector.aselect_many(beside_the_loop(pools), ordered=True)) as picks,
    ):
        async for pick in picks:
            yield pick


async def selected_by(
    selector: Selector, pools: AsyncIterable[Any], control: RunControl, run: Path | None = None
) -> AsyncGenerator[Selection, None]:
    """Yield the picks of many pools in input order, by a selector of the caller's; after a stop no pool is begun."""
    summary = RunSummary(await selector.engine(), [selector.settings.judge], run)
    async with (
        control.over(summary, "pools") as stopped,
        aclosing(selector.aselect_many(pools, ordered=True, stop=stopped)) as picks,
    ):
        async for pick in picks:
            summary.note_pick(pick)
            yield pick
