"""``bonwise route`` and ``learn``: when a stronger judge is worth it, how the calls of one scatter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.arguments import say
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Output, Reading, TypedCall, shared_flags
from bonwise.errors import UsageError
from bonwise.routing.front import route as study
from bonwise.table.checks import SEED
from bonwise.table.reading_options import ColumnKeywords

if TYPE_CHECKING:
    from bonwise.report.blocks import Said
    from bonwise.routing.saved import SavedRouter
    from bonwise.selection.draw_model import Pilot
    from bonwise.selection.learnt import LearnDocument, PriceOfCalls
    from bonwise.selection.learnt_draws import DrawModel
    from bonwise.stats.redraws import CallPrice

__all__ = ["learn", "route"]


MAX_DRAWS = 8
"""Draws of one candidate at most, where nothing else is asked for."""

_PASSES = (1.25, 1.5, 2.0, 3.0, 4.0)
"""Mean calls in first passes, of which prices are shown."""


@shared_flags({**NO_PROPENSITY, "--label-col": "no labels are needed"})
def learn(
    *,
    file: Annotated[
        Path,
        typer.Argument(help="Scores with columns draw_0, draw_1 ... or a column draw.", show_default=False),
    ],
    save: Annotated[Path | None, typer.Option("--save", help="Write what was learnt here (JSON).")] = None,
    judge: Annotated[str | None, typer.Option("--judge", help="Whose draws, where several judges have some.")] = None,
    mean_calls: Annotated[
        float | None, typer.Option("--mean-calls", help="Also tell the price for so many calls per pool.")
    ] = None,
    max_draws: Annotated[int, typer.Option("--max-draws", help="Most draws of one candidate.")] = MAX_DRAWS,
    seed: given.Seed = SEED,
    output: JsonOutput,
    reading: Reading[ColumnKeywords],
) -> int:
    """Learn from repeated scores when another call is worth it.

    Needs no labels. The result is a file for the strategy value_of_information.
    """
    output.refuse_overwriting(file, also=(save,))
    from bonwise.printable import shell_word
    from bonwise.selection.draw_model import learnt_from, save_model
    from bonwise.table.reading_options import ReadingOptions
    from bonwise.table.score_table import ScoreTable

    table = ScoreTable.read(file, **reading.keywords())
    pilot, model = learnt_from(table, judge=judge, max_draws=max_draws, seed=seed)
    document = _document(str(file), pilot, model, mean_calls)
    if save is not None:
        save_model(model, save)
    own = {
        "--judge": judge,
        "--mean-calls": mean_calls,
        "--max-draws": None if max_draws == MAX_DRAWS else max_draws,
        "--seed": None if seed == SEED else seed,
    }
    given_flags = [f"{flag} {shell_word(str(value))}" for flag, value in own.items() if value is not None]
    flags = [*given_flags, *ReadingOptions(**reading.keywords()).as_flags()]
    output.deliver(document, then=_next(document, save, file, flags))
    return 0


def _document(source: str, pilot: Pilot, model: DrawModel, mean_calls: float | None) -> LearnDocument:
    from bonwise.release import release
    from bonwise.selection.learnt import FirstCallRecord, LearnDocument, LearnSettings
    from bonwise.stats.draw_prior import first_call_test

    least, most = model.mean_calls[0], model.mean_calls[-1]
    usual = [least * passes for passes in _PASSES if least * passes <= most]
    wanted = usual if mean_calls is None else [float(mean_calls)]
    try:
        prices = [_price(calls, model.prices_for(calls)) for calls in wanted]
    except ValueError as error:
        raise UsageError(f"--mean-calls is {mean_calls:g}", hint=str(error)) from error
    tested = first_call_test(pilot.draws)
    return LearnDocument(
        source=source,
        judge=pilot.judge,
        first_calls=pilot.first,
        prompts=model.prompts,
        candidates=model.candidates,
        draws=model.draws,
        prompts_left_out=model.left_out,
        call_sd=model.call_sd,
        candidate_sd=model.candidate_sd,
        reliability=model.reliability,
        beta=model.prior.beta,
        prices=prices,
        first_call=FirstCallRecord(
            averaged_in=tested.averaged_in,
            reason=tested.reason,
            p=tested.p,
            mean_p=tested.mean,
            variance_p=tested.variance,
            covariance_p=tested.covariance,
            prompts=tested.prompts,
        ),
        settings=LearnSettings(max_draws=model.max_draws, version=release()),
    )


def _price(calls: float, prices: CallPrice) -> PriceOfCalls:
    from bonwise.selection.learnt import PriceOfCalls

    return PriceOfCalls(
        mean_calls=calls, lower_price=prices.lower, higher_price=prices.higher, share_at_lower=prices.share
    )


def _next(document: LearnDocument, save: Path | None, file: Path, flags: list[str]) -> list[Said]:
    """Say what to type next."""
    from shlex import quote

    from bonwise.printable import printable, shell_path
    from bonwise.report.blocks import Said
    from bonwise.selection.registry import StrategySpec

    if save is None:
        again = " ".join(["bonwise learn", shell_path(file), *flags, "--save voi.json"])
        return [Said("note", "Next:"), Said("command", again)]
    calls = document.prices[min(1, len(document.prices) - 1)].mean_calls
    strategy = StrategySpec("value_of_information", {"mean_calls": f"{calls:g}", "model": str(save)})
    command = f"bonwise select POOLS.jsonl --judge JUDGE --strategy {quote(printable(str(strategy)))}"
    return [Said("note", "Next:"), Said("command", command)]


@shared_flags(of=study, before={"reading": "first_pass_only", "save": "reading", "judge": "reading"})
def route(
    *,
    call: TypedCall,
    save: Annotated[Path | None, typer.Option(help="Write the recommended router here, for bonwise select.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose router to save, where there are several judges.")] = None,
    output: Output,
) -> int:
    """Choose which prompts a stronger judge should decide.

    Compares every routing signal with the gain of a perfect judge, and recommends one.
    """
    if judge is not None and save is None:
        raise UsageError("--judge says whose router to save, and none is saved", hint="give --save FILE too")
    output.refuse_overwriting(*call.paths(), also=(save,))
    found = call.run()
    if save is not None:
        router = found.router(judge)
        router.save(save)
        for line in _about_production(save, router):
            say(line)
    output.deliver(found)
    return 0


def _about_production(save: Path, router: SavedRouter) -> Iterator[str]:
    """Warn of a signal that a first pass of one judge does not give."""
    if not router.beyond_first_pass:
        return
    yield (
        f"WARNING: {save} routes by {router.signal}, which needs {' and '.join(router.beyond_first_pass)}: "
        "pools that lack them in production are not sent"
    )
    yield "if production judges each candidate once, by one judge, add --first-pass-only"
