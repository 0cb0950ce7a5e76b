"""``bonwise select``: pick the best candidate of every pool."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import Seed, emit, say
from bonwise.cli.running import (
    RUN,
    BaseUrl,
    Deadline,
    DryRun,
    MaxCalls,
    MaxConcurrency,
    MaxCost,
    MaxTokens,
    ModelName,
    Reask,
    RunFolder,
    engine_from,
    judge_all,
    outcome,
)
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.data.pool import Pool
    from bonwise.judges.judgment import Judgment
    from bonwise.judges.scoring import Judged

__all__ = ["select"]


def select(
    pools: Annotated[Path, typer.Argument(help="Pools, one JSON object a line.", show_default=False)],
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            help="KIND[:provider/model], such as pointwise:openai/gpt-5-mini or local:length.",
            show_default=False,
        ),
    ],
    model: ModelName = None,
    base_url: BaseUrl = None,
    run: RunFolder = RUN,
    max_concurrency: MaxConcurrency = 64,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    deadline: Deadline = None,
    reask: Reask = 0,
    seed: Seed = 0,
    dry_run: DryRun = False,
) -> int:
    """Write one line a pool to standard output, in input order."""
    from bonwise.data.pool_file import read_pools
    from bonwise.judges.registry import judge_from_spec
    from bonwise.selection.deciding import decide

    if len(judge) > 1:
        raise UsageError("--judge is given twice", hint="select takes one judge; bonwise judge takes several")
    chosen = judge_from_spec(judge[0], model=model, base_url=base_url, seed=seed)
    given = list(read_pools(pools))
    contested = [pool for pool in given if len(pool.candidates) > 1]
    if dry_run:
        from bonwise.cli.dry_run import show_estimate

        return show_estimate(contested, [chosen], run, reask)
    engine = engine_from(
        [chosen],
        run,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost=max_cost,
        deadline=deadline,
        reask=reask,
    )
    how, waiting = Counter[str](), iter(given)

    def write(pool: Pool, judgment: Judgment | None) -> None:
        found = decide(
            pool.candidates, judgment, judge=chosen, seed=seed, salt=pool.prompt_id, prompt_id=pool.prompt_id
        )
        how[found.decided_by] += 1
        emit(json.dumps(found.to_dict(), allow_nan=False, ensure_ascii=False) + "\n")

    def write_up_to(judged: Judged | None) -> None:
        """Write the pools that need no judge and stand before this one, then this one."""
        for pool in waiting:
            if judged is not None and pool is judged.pool:
                write(pool, judged.judgments[0])
                return
            write(pool, None)

    course = judge_all(contested, [chosen], engine, run, write_up_to)
    write_up_to(None)
    counts = ", ".join(f"{count:,} by {name}" for name, count in how.most_common())
    say(f"{how.total():,} pools by {chosen.name}: {counts}")
    return outcome(course)
