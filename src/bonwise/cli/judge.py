"""``bonwise judge``: score every candidate of every pool with one or several judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.cli import arguments, model_flags, running
from bonwise.cli.shared_flags import Reading, shared_flags
from bonwise.errors import UsageError
from bonwise.printable import listed, quoted
from bonwise.report.numbers import counted
from bonwise.table.reading_options import ReadingKeywords
from bonwise.table.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.judges.scoring import JudgedPool
    from bonwise.selection.many_pools import JudgedPools


@shared_flags()
def judge(
    pools: Annotated[
        Path,
        typer.Argument(
            help="Pools: JSON lines, or CSV, one candidate per row; scores of judges, for a stack.",
            show_default=False,
        ),
    ],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", help="KIND[:provider/model], such as pointwise:openai/gpt-5-mini or local:length (repeatable)."
        ),
    ] = None,
    rubric: model_flags.RubricFile = None,
    out: Annotated[str, typer.Option("--out", help="Where the scores go (CSV); - for stdout.")] = "-",
    pairs: Annotated[str | None, arguments.rare("--pairs", help="Where single comparisons go (CSV).")] = None,
    raw: Annotated[bool, arguments.rare("--raw", help="Write what the judge said too, in a column raw.")] = False,
    tokens: Annotated[
        bool, arguments.rare("--tokens", help="Write what the answers took too, in a column tokens.")
    ] = False,
    *,
    asking: model_flags.JudgeModelFlags,
    reading: Reading[ReadingKeywords],
    engine: Annotated[str | None, arguments.rare("--engine", help="ray: judge in several processes.")] = None,
    block_size: Annotated[
        int | None, arguments.rare("--block-size", help="Pools in a block, which Ray tries again as a whole.", min=1)
    ] = None,
    workers: Annotated[int | None, arguments.rare("--workers", help="Processes of Ray that judge.", min=1)] = None,
    name: Annotated[str | None, arguments.rare("--name", help="What a stack is called as a judge of scores.")] = None,
    allow_unscored: arguments.AllowUnscored = False,
    force: arguments.Force = False,
) -> int:
    """Score every candidate of every pool with one or more judges.

    Writes one row per prompt, candidate and judge, in input order. Exit codes: 0 done, 1 nothing was scored (the rows
    are written all the same), 2 bad input or no key, 4 answers are pending. A stack of judges also takes a table of
    their scores: it adds its own, as those of a further judge, and asks no model.
    """
    judge = model_flags.judge_specs(judge, rubric)
    if len(judge) == 1 and judge[0].startswith("stack:") and not _holds_pools(pools):
        arguments.refuse_overwriting((pools, *reading.paths()), (out,), force=force)
        arguments.refuse_flags(
            {
                "--pairs": pairs,
                "--raw": raw,
                "--tokens": tokens,
                "--dry-run": asking.dry_run,
                "--check": asking.check,
            },
            "needs pools",
        )
        return _add_stack(pools, judge[0].removeprefix("stack:"), {"name": name, **reading.keywords()}, out)
    arguments.refuse_flags({"--name": name, **reading.values}, "is for a table of scores with --judge stack:FILE")
    if engine not in {None, "ray"}:
        raise UsageError(f"--engine is {engine!r}", hint="--engine ray, or leave it out")
    arguments.refuse_flags({"--batch": engine is not None and asking.engine["batch"]}, "is for a single process")
    if engine is None:
        arguments.refuse_flags({"--block-size": block_size, "--workers": workers}, "needs --engine ray")
    from bonwise.judges import protocol, scoring

    arguments.refuse_overwriting((pools,), (out,), headers=[scoring.SCORE_HEADER], force=force)
    arguments.refuse_overwriting((pools, out), (pairs,), headers=[scoring.PAIR_HEADER], force=force)
    from bonwise.selection import many_pools, settings
    from bonwise.selection.pools import refuse_nul, text_with_images
    from bonwise.table.pools import read_pools

    in_batches = many_pools.batch_options(asking.engine)
    judges = asking.judges(judge)
    read = read_pools(pools, protocol.variables_of(judges), text_with_images(asking.images, judges))
    coming = map(partial(refuse_nul, where=str(pools)), read)
    if asking.dry_run:
        from bonwise.cli.dry_run import show_estimate

        shown = {"as_forms": asking.images is None, "batch": asking.engine["batch"]}
        return show_estimate(coming, judges, asking.place, asking.engine["reask"], **shown)
    asked = list(coming)
    engines = settings.Engines.of(**asking.engine_settings(asks=any(map(protocol.is_asking, judges))))
    many_pools.refuse_without_key(asked, judges, engines)
    judged: list[JudgedPool] = []
    if engine == "ray":
        shares = {"block_size": block_size, "workers": workers}
        summary = running.judge_all_by_ray(asked, judges, engines, shares, judged.append)
    else:
        summary = running.judge_all(asked, judges, engines, asking.place, judged.append, in_batches)
    judged_pools = many_pools.JudgedPools(tuple(judged), judges, summary.engine.totals.bill, engines.run)
    _write(judged_pools, out, pairs, raw=raw, tokens=tokens)
    return running.outcome(summary, allow_unscored=allow_unscored)


def _holds_pools(path: Path) -> bool:
    """Tell whether the first line of a file is of pools; what cannot be read is told when it is read."""
    from bonwise.errors import BonwiseError
    from bonwise.table.pools import is_csv, is_csv_of_pools
    from bonwise.table.text_files import json_lines

    try:
        if is_csv(path):
            return is_csv_of_pools(path)
        return "candidates" in next(iter(json_lines(path)))[1]
    except (BonwiseError, StopIteration):
        return False


def _add_stack(scores: Path, stack: str, settings: Mapping[str, Any], out: str) -> int:
    """Write a table of scores with those of a stack as a further judge."""
    from bonwise.stacks.front import apply_stack
    from bonwise.stacks.stack_table import score_file

    applied = apply_stack(scores, Path(stack), **{key: value for key, value in settings.items() if value is not None})
    arguments.write_text(score_file(applied.table), out)
    for caveat in applied.caveats:
        arguments.say(caveat)
    where = "" if out == "-" else f"{out}: "
    arguments.say(f"{where}the scores of {len(applied.table.judges)} judges, those of the stack among them.")
    return 0


def _write(found: JudgedPools, out: str, pairs: str | None, *, raw: bool, tokens: bool) -> None:
    from bonwise.calls.bill import Bill
    from bonwise.judges import scoring, wrappers

    arguments.write_text(found.to_csv(raw=raw, tokens=tokens), out)
    if pairs is not None:
        arguments.write_text(found.pairs_to_csv(tokens=tokens), pairs)
    for line in _told(found, "" if out == "-" else f" to {out}"):
        arguments.say(line)
    bills = [Bill().with_all(pool.judgments[at].bill for pool in found) for at in range(len(found.judges))]
    for judge, bill in zip(found.judges, bills, strict=True):
        if bill != Bill() and bills.count(Bill()) < len(bills) - 1:
            arguments.say(f"{judge.name}: {running.figures_of(bill)}")
    for at, judge in enumerate(found.judges):
        if lost := scoring.words_of_lost(found.judged, at):
            arguments.say(f"{judge.name}: {lost}: an order could not be read; each counts a half for both sides")
    for effect in scoring.order_effects(found.judged, found.judges):
        arguments.say(str(effect))
    for at, judge in enumerate(found.judges):
        if isinstance(judge, wrappers.Resampled):
            sent = [parameters for one in found for parameters in one.judgments[at].effective]
            arguments.say(f"{judge.name}: draws are meant to differ by {judge.varies_by_what_was_sent(sent)}")


def _told(found: JudgedPools, where: str) -> Iterator[str]:
    from bonwise.judges import scoring

    unscored, pending = Counter(found.unscored), sum(found.pending.values())
    waiting = f" and {pending:,} pending" if pending else ""
    rows, of_members = found.verdicts, scoring.row_count(found.judged, found.judges) - found.verdicts
    apart = "of the members of a jury or the criteria of a rubric"
    beside = f", and {counted(of_members, 'row')} {apart}" if of_members else ""
    yield f"{counted(rows, 'row')}{where}, {unscored.total():,} of them unscored{waiting}{beside}"
    for at, judge in enumerate(found.judges):
        lacking = [
            [isinstance(verdict, Unscored) and not verdict.owed for verdict in pool.judgments[at].verdicts]
            for pool in found
        ]
        missing = sum(map(sum, lacking))
        yield from running.unscored_lines(missing, sum(map(len, lacking)), f" by {quoted(judge.name)}")
        if bare := [pool.pool.prompt_id for pool, its in zip(found, lacking, strict=True) if all(its)]:
            yield f"no candidate has a score by {quoted(judge.name)} in {counted(len(bare), 'pool')}: {listed(bare)}"
    yield from running.tally(unscored, "unscored")
    yield from running.filled_lines(Counter(found.filled))
