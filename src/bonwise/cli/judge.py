"""``bonwise judge``: score every candidate of every pool with one or several judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.arguments import emit, refuse_overwriting, say
from bonwise.errors import UsageError

__all__ = ["judge"]


def judge(
    pools: Annotated[Path, typer.Argument(help="Pools, one JSON object a line.", show_default=False)],
    judge: Annotated[
        list[str],
        typer.Option("--judge", help="KIND[:NAME], such as local:length (repeatable).", show_default=False),
    ],
    out: Annotated[str, typer.Option("--out", help="Where the scores go (CSV); - for stdout.")] = "-",
) -> int:
    """Write one row per prompt, candidate and judge, in input order."""
    refuse_overwriting((pools,), (out,))
    from bonwise.data.pool_file import read_pools
    from bonwise.data.writing import csv_text, write_whole
    from bonwise.judges.registry import judge_from_spec
    from bonwise.judges.scoring import HEADER, score_rows

    judges = [judge_from_spec(spec) for spec in judge]
    repeated = [one.name for position, one in enumerate(judges) if one.name in [j.name for j in judges[:position]]]
    if repeated:
        raise UsageError(f"--judge names {repeated[0]!r} twice", hint="name each judge once")
    rows = list(score_rows(read_pools(pools), judges))
    text = csv_text(HEADER, rows)
    if out == "-":
        emit(text)
    else:
        write_whole(Path(out), text)
    unscored = sum(1 for row in rows if row[3] == "")
    where = "" if out == "-" else f" to {out}"
    say(f"{len(rows):,} rows{where}, {unscored:,} of them unscored")
    return 0
