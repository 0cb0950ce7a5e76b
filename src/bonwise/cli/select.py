"""``bonwise select``: pick the best candidate of every pool."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bonwise.cli import arguments, model_flags, running
from bonwise.cli.picks import PickedPage, PickReport, without_router_warnings
from bonwise.cli.shared_flags import shared_flags
from bonwise.errors import UsageError
from bonwise.flags import as_share

if TYPE_CHECKING:
    from bonwise.routing.router import Router
    from bonwise.selection import run, selection, settings
    from bonwise.table.images import ImageReader
    from bonwise.table.pools import Pool

STANDARD_INPUT = "-"
_HELD_BYTES = 2**25
"""Of a file whose pools are held where they are read more than once."""
_WRITTEN_EVERY = 0.05
"""Seconds between two writes of picks that wait for nothing."""
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False)


@shared_flags()
def select(
    pools: Annotated[
        Path,
        typer.Argument(
            help="Pools: JSON lines, or CSV, one candidate per row; - for standard input (JSON lines).",
            show_default=False,
        ),
    ],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="KIND[:provider/model], such as pointwise:openai/gpt-5-mini or local:length."),
    ] = None,
    rubric: model_flags.RubricFile = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", help="KIND[:option=value,...], such as adaptive:margin=0.1.")
    ] = None,
    strong: Annotated[
        str | None, typer.Option("--strong", help="Stronger judge, for the pools that --route sends to it.")
    ] = None,
    route: Annotated[
        str | None, typer.Option("--route", help="Signal such as interval_width, or a saved router (JSON).")
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="Part of the pools that may be sent.", parser=as_share)
    ] = None,
    among: Annotated[
        str | None, arguments.rare("--among", help="Candidates the stronger judge sees: all, or contenders.")
    ] = None,
    second: Annotated[
        str | None, arguments.rare("--second", help="Further judge of the first pass, for --route disagreement.")
    ] = None,
    on_missing: Annotated[
        str | None,
        arguments.rare("--on-missing", help="Pools without a value of the signal: keep the first pick, or random."),
    ] = None,
    on_failure: Annotated[
        str, arguments.rare("--on-failure", help="Where a judge fails or is late: owe, first, random or raise.")
    ] = "owe",
    *,
    asking: model_flags.PoolModelFlags,
    html: arguments.HtmlTarget = None,
    allow_unscored: arguments.AllowUnscored = False,
    force: arguments.Force = False,
) -> int:
    """Pick the best candidate of every pool.

    Writes one line per pool to standard output, in input order. Exit codes: 0 done, 1 nothing was scored (the lines
    are written all the same), 2 bad input or no key, 4 answers are pending.
    """
    judge = model_flags.judge_specs(judge, rubric)
    if len(judge) > 1:
        raise UsageError("--judge is given twice", hint="select takes one judge; bonwise judge takes several")
    router = _router(
        asking, judge[0], strong, route, second, {"share": share, "among": among, "on-missing": on_missing}
    )
    plan = _plan(asking, judge[0], strategy, router, on_failure)
    # A table without a column of judges names its own "judge".
    whose = getattr(getattr(plan.strategy, "learnt", None), "judge", "")
    if whose not in {"", "judge", plan.judge.name}:
        arguments.say(f"the model of the strategy was learnt from draws of {whose}, not of {plan.judge.name}")
    from bonwise.selection.pools import text_with_images

    images = text_with_images(asking.images, plan.all_judges)
    source = _source(pools, plan.variables, images, hold=not asking.dry_run)
    arguments.refuse_overwriting((pools,), (html,), force=force)
    if asking.dry_run:
        from bonwise.cli.dry_run import show_plan

        if str(pools) == STANDARD_INPUT:
            raise UsageError("--dry-run looks at the pools more than once", hint="write them to a file first")
        if html is not None:
            raise UsageError("--dry-run picks nothing, so there is no page", hint="leave --html out")
        with without_router_warnings():
            share = 0.0 if router is None else router.share
            return show_plan(source, plan, asking.place, asking.engine["reask"], share=share, as_forms=images is None)
    picks = PickReport(plan, router)
    page = None if html is None else PickedPage(html, str(pools), picks.totals, router)
    # A line that is no pool is found before a cent is spent.
    total = None if str(pools) == STANDARD_INPUT else sum(1 for _ in source())
    if plan.asks_models:
        from bonwise.cli.dry_run import refuse_plan_without_key

        refuse_plan_without_key(None if total is None else source, plan, asking.place, asking.engine["reask"])
    run_of, piped = _selection_run(plan, asking, total), total is None
    return _pick_all(source, run_of, picks, page, allow_unscored=allow_unscored, piped=piped)


def _selection_run(
    plan: settings.SelectionSettings, asking: model_flags.ModelFlags, total: int | None
) -> Callable[..., run.RunSummary]:
    from bonwise.selection.selector import Selector

    selector = Selector.for_one_run(
        plan.judge,
        strategy=plan.strategy,
        router=plan.router,
        on_failure=plan.on_failure,
        seed=plan.seed,
        **asking.engine_settings(asks=plan.asks_models),
    )
    return partial(running.select_all, selector=selector, run=asking.place, total=total)


def _pick_all(
    source: Callable[[], Iterator[Pool]],
    run_of: Callable[..., run.RunSummary],
    picks: PickReport,
    page: PickedPage | None,
    *,
    allow_unscored: bool,
    piped: bool,
) -> int:
    """Write the picks as they come, then the page; whatever ends the run, what was found is said.

    Behind a pipe (`piped`) another pool may never follow, so each pick is written at once.
    """
    lines: list[str] = []
    written = 0.0

    def emit_held() -> None:
        held = "".join(lines)
        lines.clear()
        if held:
            arguments.emit(held)

    def write(pick: selection.Selection) -> None:
        nonlocal written
        picks.note(pick)
        if page is not None:
            page.note(pick)
        lines.append(_ENCODER.encode(pick.to_dict()) + "\n")
        # To wake a reader takes as long as many a pick; where models are asked, the next pick may be far.
        if piped or picks.plan.asks_models or time.monotonic() > written + _WRITTEN_EVERY:
            written = time.monotonic()
            emit_held()

    summary, kept = None, True
    try:
        with without_router_warnings():
            summary = run_of(source() if page is None else page.passing(source()), each=write)
    finally:
        emit_held()
        for line in picks.lines():
            arguments.say(line)
        if page is not None:
            kept = page.leave(summary)
    return running.outcome(summary, allow_unscored=allow_unscored) or (0 if kept else running.BAD_INPUT)


def _plan(
    asking: model_flags.ModelFlags, judge: str, strategy: str | None, router: Router | None, on_failure: str
) -> settings.SelectionSettings:
    from bonwise.selection.settings import settings_of

    return settings_of(
        asking.judge(judge),
        strategy=None if strategy is None else asking.strategy(strategy),
        router=router,
        deadline=asking.engine["deadline"],
        on_failure=cast("settings.OnFailure", on_failure),
        seed=asking.seed,
    )


def _source(
    path: Path, wanted: Sequence[str], images: ImageReader | None, *, hold: bool
) -> Callable[[], Iterator[Pool]]:
    """Return what yields the pools; those of a small file are held where they are read more than once."""
    from bonwise.table.pools import read_pool_stream, read_pools

    if str(path) != STANDARD_INPUT:
        if hold and path.suffix != ".gz" and path.is_file() and path.stat().st_size <= _HELD_BYTES:
            held = list(read_pools(path, wanted, images))
            return lambda: iter(held)
        return lambda: read_pools(path, wanted, images)
    if sys.stdin is None:
        raise UsageError("there is no standard input", hint="name a file of pools")
    # A reader of its own: at the end the interpreter takes the lock of sys.stdin, which a waiting thread would hold.
    return lambda: read_pool_stream(open(sys.stdin.fileno(), "rb", closefd=False), wanted=wanted, images=images)


def _router(
    asking: model_flags.ModelFlags,
    judge: str,
    strong: str | None,
    route: str | None,
    second: str | None,
    settings: dict[str, Any],
) -> Router | None:
    stated = {"--strong": strong, "--route": route, "--second": second} | {f"--{k}": v for k, v in settings.items()}
    if strong is None or route is None:
        _refuse_half_a_route({flag for flag, value in stated.items() if value is not None})
        return None
    from bonwise.routing import router, saved

    signal = saved.SavedRouter.load(route) if Path(route).is_file() else route
    if isinstance(signal, saved.SavedRouter) and signal.judge not in {"judge", asking.judge(judge).name}:
        arguments.say(f"{route} was learnt from the first pass of {signal.judge}, not of {asking.judge(judge).name}")
    return router.Router(
        asking.judge(strong),
        signal,
        settings["share"],
        among=settings["among"] or "all",
        on_missing=settings["on-missing"] or "keep",
        second=None if second is None else asking.judge(second),
        seed=asking.seed,
    )


def _refuse_half_a_route(stated: set[str]) -> None:
    if "--strong" in stated:
        raise UsageError(
            "--strong without --route", hint="say which pools go there: --route interval_width, or a saved router"
        )
    if "--route" in stated:
        raise UsageError(
            "--route without --strong", hint="name the stronger judge, such as --strong pairwise:provider/model"
        )
    if stated:
        raise UsageError(f"{min(stated)} without --route", hint="it goes with --strong and --route")
