"""``bonwise judge``: score every candidate of every pool with one or several judges."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli.arguments import Seed, emit, refuse_overwriting, say
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
from bonwise.cli.summary import tally
from bonwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bonwise.data.pool import Pool
    from bonwise.judges.protocol import Judge
    from bonwise.judges.scoring import JudgedPool

__all__ = ["judge"]


def judge(
    pools: Annotated[Path, typer.Argument(help="Pools, one JSON object per line.", show_default=False)],
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            help="KIND[:provider/model], such as pointwise:openai/gpt-5-mini or local:length (repeatable).",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Option("--out", help="Where the scores go (CSV); - for stdout.")] = "-",
    pairs: Annotated[str | None, typer.Option("--pairs", help="Where single comparisons go (CSV).")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Write what the judge said too, in a column raw.")] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Write what the answers took too, in a column tokens.")
    ] = False,
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
    """Score every candidate of every pool with one or more judges.

    Writes one row per prompt, candidate and judge, in input order.
    """
    refuse_overwriting((pools,), (out, pairs))
    from bonwise.data.pool_file import read_pools
    from bonwise.judges.registry import judges_from_specs

    judges = judges_from_specs(judge, model=model, base_url=base_url, seed=seed)
    asked = list(read_pools(pools))
    _refuse_nul(asked, pools)
    if dry_run:
        from bonwise.cli.dry_run import show_estimate

        return show_estimate(asked, judges, run, reask)
    engine = engine_from(
        judges,
        run,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost=max_cost,
        deadline=deadline,
        reask=reask,
    )
    judged: list[JudgedPool] = []
    summary = judge_all(asked, judges, engine, run, judged.append)
    _write(judged, judges, out, pairs, raw=raw, tokens=tokens)
    return outcome(summary)


def _refuse_nul(pools: Sequence[Pool], source: Path) -> None:
    """Refuse names that no table of text can hold, before anything is paid."""
    from bonwise.data.wording import quoted

    for pool in pools:
        for name in (pool.prompt_id, *(candidate.id for candidate in pool.candidates)):
            if "\0" in name:
                raise InputError(
                    f"{source}: the identifier {quoted(name)} holds a NUL, which no text table can hold",
                    hint="leave it out",
                )


def _write(
    judged: Sequence[JudgedPool], judges: Sequence[Judge], out: str, pairs: str | None, *, raw: bool, tokens: bool
) -> None:
    from bonwise.data.verdicts import Unscored
    from bonwise.data.writing import csv_text
    from bonwise.judges.judged_table import PAIR_HEADER, pair_rows, score_table
    from bonwise.judges.order_effect import order_effects
    from bonwise.judges.resampled import Resampled

    header, rows = score_table(judged, judges, raw=raw, tokens=tokens)
    _deliver(csv_text(header, rows), out)
    if pairs is not None:
        _deliver(csv_text((*PAIR_HEADER, *("tokens",) * tokens), pair_rows(judged, judges, tokens=tokens)), pairs)
    missing = [verdict for one in judged for found in one.judgments for verdict in found.verdicts]
    reasons = Counter(one.reason for one in missing if isinstance(one, Unscored) and not one.owed)
    owed = sum(isinstance(one, Unscored) and one.owed for one in missing)
    where = "" if out == "-" else f" to {out}"
    waiting = f" and {owed:,} owed" if owed else ""
    say(f"{len(rows):,} rows{where}, {reasons.total():,} of them unscored{waiting}")
    for line in tally(reasons, "unscored"):
        say(line)
    if rows and reasons.total() == len(rows):
        say("nothing was scored: look at what the judges said with bonwise ledger export")
    for effect in order_effects(judged, judges):
        say(str(effect))
    for at, judge in enumerate(judges):
        if isinstance(judge, Resampled):
            sent = [parameters for one in judged for parameters in one.judgments[at].effective]
            say(f"{judge.name}: draws are meant to differ by {judge.varies_by_what_was_sent(sent)}")


def _deliver(text: str, target: str) -> None:
    from bonwise.data.writing import write_whole

    if target == "-":
        emit(text)
    else:
        write_whole(Path(target), text)
