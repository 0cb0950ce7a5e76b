"""What ``--dry-run`` shows: calls, tokens and cost before anything is sent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.cli.arguments import emit, say
from bonwise.printable import printable
from bonwise.report.amounts import money
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.engine import Engine
    from bonwise.calls.estimate import CostEstimate, ModelEstimate
    from bonwise.cli.large_pools import LargePools
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.selection.selection import Selection
    from bonwise.selection.settings import SelectionSettings

__all__ = ["show_estimate", "show_plan"]


def show_estimate(pools: Sequence[Pool], judges: Sequence[Judge], run: Path, reask: int) -> int:
    """Print what judging would use, given what the ledger of the run folder holds already."""
    from bonwise.calls.ask_estimate import estimate_asks
    from bonwise.cli.large_pools import LargePools, calls_of_judge

    large = [LargePools.of(judge.name, pools, calls_of_judge(judge)) for judge in judges]
    with _engine(run, reask) as engine:
        found = estimate_asks(engine, _asks(pools, judges))
    _show([*_counted(_rows(found), found, large), *_remarks([found])])
    _warn(large)
    return 0


def show_plan(
    source: Callable[[], Iterator[Pool]], plan: SelectionSettings, run: Path, reask: int, *, share: float
) -> int:
    """Print what selecting would use: the first pass exactly, and bounds of what follows from its answers.

    Parameters
    ----------
    source : callable
        Returns the pools, from the first one on.
    plan : SelectionSettings
    run : pathlib.Path
    reask : int
    share : float
        Part of the pools that may go to the stronger judge of the plan's router.
    """
    from bonwise.calls.ask_estimate import estimate_asks
    from bonwise.cli.expected_asks import FirstAsks, LaterAsks, StrongerAsks
    from bonwise.cli.large_pools import LargePools, calls_of_plan, name_of_plan, small

    calls = calls_of_plan(plan)
    large = LargePools.of(name_of_plan(plan), source(), calls)

    def looked_at() -> Iterator[Pool]:
        return small(source(), calls)

    with _engine(run, reask) as engine:
        first, further, stronger = FirstAsks(plan), LaterAsks(plan), StrongerAsks(plan)
        left = _undecided(looked_at, plan, run, reask)
        found = [estimate_asks(engine, first.asks(looked_at()))]
        found += [estimate_asks(engine, part.asks(left())) for part in (further, stronger)]
    later = not found[0].asks and any(one.asks for one in found)
    lines = ["the first pass asks no model"] if later else _counted(_rows(found[0]), found[0], [large])
    if further.more:
        lines.append(f"after the first pass up to {_bound(found[1], further.scale)}")
    if found[2].asks:
        most = min(stronger.pools, math.floor(share * stronger.pools) + 1)
        who = f"{stronger.name} decides at most {most:,} of {stronger.pools:,} pools"
        lines.append(f"{who}: about {_bound(found[2], most / stronger.pools)}")
    _show([*lines, *_remarks(found)])
    _warn([large])
    return 0


def _undecided(
    source: Callable[[], Iterator[Pool]], plan: SelectionSettings, run: Path, reask: int
) -> Callable[[], Iterator[Pool]]:
    """Return what yields the pools that the stored answers do not decide.

    What is asked after a first pass depends on its answers, so every pool is selected from by those that are stored.
    """
    from bonwise.calls.ledger.place import ledger_file

    if not ledger_file(run).is_file() or not plan.asks_models:
        return source
    decided = asyncio.run(_decided(source(), plan, run, reask))
    return lambda: (pool for pool, is_decided in zip(source(), decided, strict=True) if not is_decided)


async def _decided(pools: Iterator[Pool], plan: SelectionSettings, run: Path, reask: int) -> list[bool]:
    from bonwise.judges.pool_loop import read_in_thread
    from bonwise.selection.selector import Selector

    stored = Selector(
        plan.judge,
        strategy=plan.strategy,
        router=plan.router,
        on_failure="owe",
        seed=plan.seed,
        ledger=run,
        reask=reask,
        offline=True,
    )
    async with stored, aclosing(read_in_thread(pools)) as coming:
        return [_is_decided(pick) async for pick in stored.aselect_many(coming, ordered=True)]


def _is_decided(pick: Selection) -> bool:
    return pick.decided_by != "owed" and not any(reason.startswith("owed") for reason in pick.unscored.values())


@contextmanager
def _engine(run: Path, reask: int) -> Iterator[Engine]:
    from bonwise.calls.engine import Engine
    from bonwise.calls.ledger.place import ledger_file

    engine = Engine(run if ledger_file(run).is_file() else None, reask=reask)
    try:
        yield engine
    finally:
        engine.ledger.close()


def _show(lines: Sequence[str]) -> None:
    emit("".join(f"{line}\n" for line in lines))


def _counted(rows: Iterator[str], found: CostEstimate, large: Sequence[LargePools]) -> list[str]:
    """Return the rows of what was looked at, then what was counted by formula."""
    lines = [line for one in large for line in one.lines(besides=found.asks > 0)]
    return [*(rows if found.asks or not lines else ()), *lines]


def _warn(large: Sequence[LargePools]) -> None:
    for one in large:
        if one.calls:
            say(f"warning: {one.warning()}")


def _asks(pools: Sequence[Pool], judges: Sequence[Judge]) -> Iterator[Ask]:
    from bonwise.cli.large_pools import calls_of_judge, small
    from bonwise.judges.calling import asked
    from bonwise.judges.protocol import is_asking

    for pool in pools:
        texts = [candidate.text for candidate in pool.candidates]
        for judge in filter(is_asking, judges):
            for _ in small([pool], calls_of_judge(judge)):
                yield from asked(judge, pool.prompt, texts)


def _rows(found: CostEstimate) -> Iterator[str]:
    if not found.asks:
        yield "no call of a model: these judges ask none"
        return
    for row in found.by_model:
        yield _line(row)
    yield f"in all {_figures(found)}"


def _remarks(found: Sequence[CostEstimate]) -> Iterator[str]:
    if not any(one.asks for one in found):
        return
    unknown = dict.fromkeys(row.model for one in found for row in one.by_model if row.cost is None)
    for address in dict.fromkeys(model.base_url for model in unknown):
        names = ", ".join(dict.fromkeys(str(model) for model in unknown if model.base_url == address))
        yield f"price not known: {names}{_elsewhere(address)}; name a price file in BONWISE_PRICES"
    if any(one.assumed_output_models for one in found):
        yield "the length of answers is assumed, without any reasoning of the model, which is billed as output"
    yield f"prices of {found[0].prices}; input tokens are about right to a third; nothing was sent"


def _elsewhere(address: str | None) -> str:
    """Say why a model whose price is built in has none at an address of the user's."""
    if address is None:
        return ""
    from bonwise.calls.prices import server_of

    return f" at {printable(server_of(address))}, where the built-in prices of the provider do not hold"


def _bound(found: CostEstimate, scale: float) -> str:
    """Return the calls of some asks, and the most that they can take, times a factor."""
    tokens = math.ceil((found.input_tokens_most + found.output_tokens_most) * scale)
    cost = "cost unknown" if found.cost_most is None else money(found.cost_most * scale)
    return f"{counted(math.ceil(found.calls * scale), 'more call')}, at most {tokens:,} tokens and {cost}"


def _line(row: ModelEstimate) -> str:
    return f"{row.model}: {_figures(row)}"


def _figures(row: ModelEstimate | CostEstimate) -> str:
    most = f"{row.input_tokens_most + row.output_tokens_most:,} tokens"
    cost = "cost unknown"
    if row.cost is not None and row.cost_most is not None:
        cost, most = f"about {money(row.cost)}", f"{most} and {money(row.cost_most)}"
    return (
        f"{counted(row.calls, 'call')} ({row.stored:,} of {row.samples:,} answers are cached or duplicate), "
        f"about {row.input_tokens:,} input and {row.output_tokens_expected:,} output tokens, {cost}; at most {most}"
    )
