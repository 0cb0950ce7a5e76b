"""Judges whose questions go into batches: planned, submitted and awaited, until no further question can be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from bonwise.errors import BonwiseError
from bonwise.judges import judging, protocol, scoring

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.batches import ProviderBatches
    from bonwise.calls.engine import Engine
    from bonwise.table.pools import Pool


async def answer_in_batches(
    pools: Iterable[Pool],
    judges: Sequence[protocol.Judge],
    engine: Engine,
    stopped: asyncio.Event,
    *,
    wait: bool = True,
    resubmit: bool = False,
    tell: Callable[[str], None],
) -> None:
    """Put into batches what judges ask about pools, and have the answers in the ledger of the engine.

    A round plans all questions that have no answer, submits them, and waits. Another one follows as long as answers
    come: for questions that depend on them, for parameters that a model does not take, and for what has expired.
    Afterwards the engine asks live what cannot go into a batch. Pools are read once per round.
    """
    from bonwise.calls.batches import ProviderBatches  # noqa: PLC0415 - few ask in batches

    asking = [judge for judge in judges if protocol.is_asking(judge)]
    if not asking:
        return
    batches = ProviderBatches(engine, _sample_asks(asking), wait=wait, resubmit=resubmit, tell=tell)
    engine.batches = batches
    try:
        await batches.begin()
        while not stopped.is_set():
            await plan(pools, asking, engine, batches, stopped)
            if stopped.is_set():
                break
            await batches.submit(stopped)
            if not await batches.collect(stopped) or not batches.is_idle or not wait:
                break
    finally:
        await batches.aclose()


async def plan(
    pools: Iterable[Pool],
    judges: Sequence[protocol.Judge],
    engine: Engine,
    batches: ProviderBatches,
    stopped: asyncio.Event,
) -> None:
    """Put the questions about pools into batches to be; nothing of a pool is kept."""
    batches.planning = True
    try:
        async with (
            engine.for_planning() as planning,
            aclosing(scoring.judge_pools(pools, judges, planning)) as coming,
        ):
            async for _ in coming:
                if stopped.is_set():
                    break
    finally:
        batches.planning = False


def _sample_asks(judges: Iterable[protocol.AskingJudge]) -> list[Ask]:
    asks: list[Ask] = []
    for judge in judges:
        try:
            asks += judging.sample_asks(judge)
        except BonwiseError:  # what is wrong with a judge is said when it is asked
            continue
    return asks
