"""``bonwise judge``: score every candidate of every pool with one or several judges."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.judges.protocol import Judge

__all__ = ["HEADER", "judge"]

HEADER = ("prompt_id", "candidate", "judge", "judge_score", "unscored")


def judge(
    pools: Annotated[Path, typer.Argument(help="Pools, one JSON object a line.", show_default=False)],
    judge: Annotated[
        list[str],
        typer.Option("--judge", help="KIND[:NAME], such as local:length (repeatable).", show_default=False),
    ],
    out: Annotated[str, typer.Option("--out", help="Where the scores go (CSV); - for stdout.")] = "-",
) -> int:
    """Write one row per prompt, candidate and judge, in input order."""
    from bonwise.data.writing import csv_text, write_whole
    from bonwise.judges.registry import judge_from_spec

    judges = [judge_from_spec(spec) for spec in judge]
    repeated = [one.name for position, one in enumerate(judges) if one.name in [j.name for j in judges[:position]]]
    if repeated:
        raise UsageError(f"--judge names {repeated[0]!r} twice", hint="name each judge once")
    rows = list(_rows(pools, judges))
    text = csv_text(HEADER, rows)
    if out == "-":
        typer.echo(text, nl=False)
    else:
        write_whole(Path(out), text)
    unscored = sum(1 for row in rows if row[3] == "")
    where = "" if out == "-" else f" to {out}"
    sys.stderr.write(f"bonwise: {len(rows):,} rows{where}, {unscored:,} of them unscored\n")
    return 0


def _rows(path: Path, judges: list[Judge]) -> Iterator[tuple[str, str, str, float | str, str]]:
    from bonwise.data.pool_file import read_pools
    from bonwise.data.verdicts import Score
    from bonwise.judges.calling import verdicts

    for pool in read_pools(path):
        texts = [candidate.text for candidate in pool.candidates]
        found = [verdicts(judge, pool.prompt, texts) for judge in judges]
        for position, candidate in enumerate(pool.candidates):
            for one, answers in zip(judges, found, strict=True):
                verdict = answers[position]
                score, reason = (verdict.value, "") if isinstance(verdict, Score) else ("", verdict.reason)
                yield pool.prompt_id, candidate.id, one.name, score, reason
