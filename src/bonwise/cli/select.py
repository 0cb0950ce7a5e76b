"""``bonwise select``: pick the best candidate of every pool."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.arguments import Seed, emit, say

__all__ = ["select"]


def select(
    pools: Annotated[Path, typer.Argument(help="Pools, one JSON object a line.", show_default=False)],
    judge: Annotated[str, typer.Option("--judge", help="KIND[:NAME], such as local:length.", show_default=False)],
    seed: Seed = 0,
) -> int:
    """Write one line a pool to standard output, in input order."""
    from bonwise.data.pool_file import read_pools
    from bonwise.judges.registry import judge_from_spec
    from bonwise.selection.select import select as pick

    chosen, how = judge_from_spec(judge), Counter[str]()
    for pool in read_pools(pools):
        found = pick(pool.prompt, pool.candidates, judge=chosen, seed=seed, prompt_id=pool.prompt_id)
        how[found.decided_by] += 1
        emit(json.dumps(found.to_dict(), allow_nan=False, ensure_ascii=False) + "\n")
    counts = ", ".join(f"{count:,} by {name}" for name, count in how.most_common())
    say(f"{how.total():,} pools: {counts}")
    return 0
