"""Pools as callers hold them: a file, or anything that yields them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from bonwise.data.pool import Pool
from bonwise.data.pool_file import read_pools
from bonwise.data.wording import quoted
from bonwise.errors import InputError, UsageError
from bonwise.judges.pool_loop import AsyncReader, ItemReader, SyncReader, ThreadReader, read_in_thread
from bonwise.selection.job import Job

__all__ = ["PoolSource", "beside_the_loop", "opened", "pools_of", "reader_of", "refuse_nul"]

PoolSource = str | Path | Iterable[Any]
"""The path of a file of pools; or `Pool` objects, mappings with ``prompt`` and ``candidates``, or pairs of these."""


def opened(pools: PoolSource) -> Iterable[Any]:
    """Return the pools themselves, those of the file where a path is given.

    Raises
    ------
    bonwise.errors.UsageError
        Neither a path nor an iterable.
    """
    if isinstance(pools, str | Path):
        return read_pools(pools)
    if not isinstance(pools, Iterable):
        raise UsageError(
            f"pools is a {type(pools).__name__}", hint="pass the path of a file of pools, or an iterable of pools"
        )
    return pools


def pools_of(pools: PoolSource, text: Callable[[Any], str] | None = None) -> Iterator[Pool]:
    """Yield pools, each checked.

    Raises
    ------
    bonwise.errors.UsageError
        Something that is no pool, or a prompt id that occurs twice.
    bonwise.errors.InputError
        A line of a file that is no pool, or a name that holds a NUL.
    """
    check = _Checked(text)
    return (check(given) for given in opened(pools))


def reader_of(
    pools: PoolSource | AsyncIterable[Any], text: Callable[[Any], str] | None = None
) -> tuple[ItemReader[Pool], AsyncGenerator[Pool, None] | None]:
    """Return what reads pools in an event loop, and what to close afterwards.

    A collection is read at once; a file, or another iterator that may block, in a thread of its own.
    """
    if isinstance(pools, AsyncIterable):
        coming = _checked_pools(pools, _Checked(text))
        return AsyncReader(coming), coming
    found = pools_of(pools, text)
    at_hand = isinstance(pools, Collection) and not isinstance(pools, str)
    return (SyncReader(found) if at_hand else ThreadReader(found)), None


def beside_the_loop(pools: PoolSource | AsyncIterable[Any]) -> Iterable[Any] | AsyncIterable[Any]:
    """Return pools as `bonwise.Selector.aselect_many` takes them: what may block is read in a thread."""
    if isinstance(pools, AsyncIterable):
        return pools
    at_hand = isinstance(pools, Collection) and not isinstance(pools, str)
    return opened(pools) if at_hand else read_in_thread(opened(pools))


def refuse_nul(pool: Pool, where: str) -> None:
    """Refuse names that no table of text can hold, before anything is paid.

    Raises
    ------
    bonwise.errors.InputError
        With the name.
    """
    for name in (pool.prompt_id, *(candidate.id for candidate in pool.candidates)):
        if "\0" in name:
            raise InputError(
                f"{where}: the identifier {quoted(name)} holds a NUL, which no text table can hold",
                hint="leave it out",
            )


class _Checked:
    """Makes pools of what a caller gives, and refuses two of one prompt id: rows could not be told apart."""

    def __init__(self, text: Callable[[Any], str] | None) -> None:
        self._text = text
        self._seen: dict[str, int] = {}

    def __call__(self, given: Any) -> Pool:
        position = len(self._seen)
        job = Job.from_any(given, position, self._text)
        pool = given if isinstance(given, Pool) else Pool(job.prompt_id or "", job.prompt, job.candidates)
        first = self._seen.setdefault(pool.prompt_id, position)
        if first != position:
            raise UsageError(
                f"pools {first} and {position} (counted from 0) both have the prompt_id {quoted(pool.prompt_id)}",
                hint="give every pool a prompt_id of its own",
            )
        refuse_nul(pool, f"pool {position}")
        return pool


async def _checked_pools(pools: AsyncIterable[Any], check: _Checked) -> AsyncGenerator[Pool, None]:
    async for given in pools:
        yield check(given)
