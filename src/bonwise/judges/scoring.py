"""Score pools with judges, many at once, in input order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.data.pool import Pool
from bonwise.judges.judging import judge_now, judge_with
from bonwise.judges.judgment import Judgment
from bonwise.judges.pool_loop import ItemReader, SyncReader, work_on_many
from bonwise.judges.protocol import Judge
from bonwise.judges.wrapping import calls_of

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["JudgedPool", "expected_answers", "judge_pools", "judge_pools_now"]


@dataclass(frozen=True, slots=True)
class JudgedPool:
    """A pool with what each judge found."""

    pool: Pool
    judgments: tuple[Judgment, ...]
    """One a judge, in the order of the judges."""


def judge_pools(
    pools: Iterable[Pool] | ItemReader[Pool], judges: Sequence[Judge], engine: Engine, *, at_once: int = 64
) -> AsyncGenerator[JudgedPool, None]:
    """Yield each pool with its judgments, in input order, while up to `at_once` pools are under way.

    Raises
    ------
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    """

    async def judged(_position: int, pool: Pool) -> JudgedPool:
        return await _judged(pool, judges, engine)

    source = SyncReader(iter(pools)) if isinstance(pools, Iterable) else pools
    return work_on_many(source, judged, at_once=at_once)


def judge_pools_now(pools: Iterable[Pool], judges: Sequence[Judge]) -> list[JudgedPool]:
    """Judge pools one after the other from synchronous code."""
    return [
        JudgedPool(
            pool, tuple(judge_now(judge, pool.prompt, [one.text for one in pool.candidates]) for judge in judges)
        )
        for pool in pools
    ]


def expected_answers(pools: Iterable[Pool], judges: Sequence[Judge]) -> int:
    """Return how many answers of models the judges will want, blank candidates counted as if they were not."""
    sizes = Counter(len(pool.candidates) for pool in pools)
    return sum(number * calls_of(judge, size) for size, number in sizes.items() for judge in judges)


async def _judged(pool: Pool, judges: Sequence[Judge], engine: Engine) -> JudgedPool:
    texts = [candidate.text for candidate in pool.candidates]
    found = await asyncio.gather(*(judge_with(engine, judge, pool.prompt, texts) for judge in judges))
    return JudgedPool(pool, tuple(found))
