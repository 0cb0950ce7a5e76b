"""What ``--dry-run`` shows: calls, tokens and cost before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.cli.arguments import emit
from bonwise.cli.progress import money

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.estimate import Estimate, ModelEstimate
    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge

__all__ = ["show_estimate"]


def show_estimate(pools: Sequence[Pool], judges: Sequence[Judge], run: Path, reask: int) -> int:
    """Print what judging would use, given what the ledger of the run folder holds already."""
    from bonwise.calls.engine import Engine
    from bonwise.calls.foresight import foresee
    from bonwise.calls.ledger.place import ledger_file

    engine = Engine(run if ledger_file(run).is_file() else None, reask=reask)
    try:
        found = foresee(engine, _asks(pools, judges))
    finally:
        engine.books.close()
    emit("".join(f"{line}\n" for line in _lines(found)))
    return 0


def _asks(pools: Sequence[Pool], judges: Sequence[Judge]) -> Iterator[Ask]:
    from bonwise.judges.calling import asked
    from bonwise.judges.protocol import is_asking

    for pool in pools:
        texts = [candidate.text for candidate in pool.candidates]
        for judge in judges:
            if is_asking(judge):
                yield from asked(judge, pool.prompt, texts)


def _lines(found: Estimate) -> Iterator[str]:
    if not found.asks:
        yield "no call of a model: these judges ask none"
        return
    for row in found.by_model:
        yield _line(row)
    yield f"in all {_figures(found)}"
    if found.unknown_price_models:
        yield f"price not known: {', '.join(found.unknown_price_models)}; name a price file in BONWISE_PRICES"
    if found.assumed_output_models:
        yield "the length of answers is assumed, without any reasoning of the model, which is billed as output"
    yield f"prices of {found.prices}; input tokens are about right to a third; nothing was sent"


def _line(row: ModelEstimate) -> str:
    return f"{row.model}: {_figures(row)}"


def _figures(row: ModelEstimate | Estimate) -> str:
    most = f"{row.input_tokens_most + row.output_tokens_most:,} tokens"
    cost = "cost unknown"
    if row.cost is not None and row.cost_most is not None:
        cost, most = f"about {money(row.cost)}", f"{most} and {money(row.cost_most)}"
    return (
        f"{row.calls:,} calls ({row.stored:,} of {row.samples:,} answers are in the ledger or asked for twice), "
        f"about {row.input_tokens:,} input and {row.output_tokens_expected:,} output tokens, {cost}; at most {most}"
    )
