"""``bonwise judge``: score every candidate of every pool with one or several judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments, model_flags, running
from bonwise.cli.shared_flags import shared_flags
from bonwise.printable import quoted
from bonwise.report.numbers import counted
from bonwise.table.verdicts import Unscored

if TYPE_CHECKING:
    from bonwise.judges.scoring import JudgedPool
    from bonwise.selection.many_pools import JudgedPools

__all__ = ["judge"]


@shared_flags()
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
    *,
    asking: model_flags.ModelFlags,
    allow_unscored: arguments.AllowUnscored = False,
    force: arguments.Force = False,
) -> int:
    """Score every candidate of every pool with one or more judges.

    Writes one row per prompt, candidate and judge, in input order. Exit codes: 0 done, 1 nothing was scored (the rows
    are written all the same), 2 bad input or no key, 4 answers are pending.
    """
    from bonwise.judges import protocol, scoring

    arguments.refuse_overwriting((pools,), (out,), headers=[scoring.SCORE_HEADER], force=force)
    arguments.refuse_overwriting((pools, out), (pairs,), headers=[scoring.PAIR_HEADER], force=force)
    from bonwise.selection import many_pools, settings
    from bonwise.selection.pools import refuse_nul
    from bonwise.table.pools import read_pools

    judges = asking.judges(judge)
    coming = map(partial(refuse_nul, where=str(pools)), read_pools(pools))
    if asking.dry_run:
        from bonwise.cli.dry_run import show_estimate

        return show_estimate(coming, judges, asking.run, asking.engine["reask"])
    asked = list(coming)
    engines = settings.Engines.of(**asking.engine_settings(asks=any(map(protocol.is_asking, judges))))
    many_pools.refuse_without_key(asked, judges, engines)
    judged: list[JudgedPool] = []
    summary = running.judge_all(asked, judges, engines, asking.run, judged.append)
    judged_pools = many_pools.JudgedPools(tuple(judged), judges, summary.engine.totals.bill, engines.run)
    _write(judged_pools, out, pairs, raw=raw, tokens=tokens)
    return running.outcome(summary, allow_unscored=allow_unscored)


def _write(found: JudgedPools, out: str, pairs: str | None, *, raw: bool, tokens: bool) -> None:
    from bonwise.judges import scoring, wrappers

    _deliver(found.to_csv(raw=raw, tokens=tokens), out)
    if pairs is not None:
        _deliver(found.pairs_to_csv(tokens=tokens), pairs)
    for line in _told(found, "" if out == "-" else f" to {out}"):
        arguments.say(line)
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
    beside = f", and {counted(of_members, 'row')} of the members of a jury" if of_members else ""
    yield f"{counted(rows, 'row')}{where}, {unscored.total():,} of them unscored{waiting}{beside}"
    for at, judge in enumerate(found.judges):
        verdicts = [verdict for one in found for verdict in one.judgments[at].verdicts]
        missing = sum(isinstance(one, Unscored) and not one.owed for one in verdicts)
        yield from running.unscored_lines(missing, len(verdicts), f" by {quoted(judge.name)}")
    yield from running.tally(unscored, "unscored")
    yield from running.filled_lines(Counter(found.filled))


def _deliver(text: str, target: str) -> None:
    from bonwise.table.writing import write_whole

    if target == "-":
        arguments.emit(text)
    else:
        write_whole(Path(target), text)
