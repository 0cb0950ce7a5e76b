"""``bonwise route`` and ``study draws``: when a stronger judge is worth it, how the calls of one scatter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments, shared_flags
from bonwise.routing.front import route as study
from bonwise.selection.learning import learn
from bonwise.table import reading_options

if TYPE_CHECKING:
    from bonwise.report.blocks import Said
    from bonwise.routing.saved import SavedRouter
    from bonwise.selection.learnt import LearnDocument


@shared_flags.shared_flags({**reading_options.NO_PROPENSITY, "--label-col": "no labels are needed"}, of=learn)
def draws(
    *,
    call: shared_flags.TypedCall,
    save: Annotated[Path | None, typer.Option("--save", help="Write what was learnt here (JSON).")] = None,
    output: shared_flags.TableOutput,
) -> int:
    """Find when another call is worth it, from repeated scores.

    Needs no labels. With --save it writes a file for the strategy value_of_information.
    """
    output.refuse_overwriting(*call.paths(), also=(save,))
    learnt = call.run()
    if save is not None:
        from bonwise.selection.draw_model import save_model

        save_model(learnt.model, save)
    output.deliver(learnt, then=shared_flags.steps_next(_next(learnt, save, call)))
    return 0


def _next(learnt: LearnDocument, save: Path | None, call: shared_flags.TypedCall) -> Sequence[Said]:
    """Say what to type next."""
    from shlex import quote

    from bonwise.printable import printable, shell_path
    from bonwise.report.blocks import Said
    from bonwise.selection.registry import StrategySpec

    if save is None:
        flags = [
            *shared_flags.flags_of(call.unusual()),
            *reading_options.ReadingOptions(**call.reading.keywords()).as_flags(),
        ]
        again = " ".join(["bonwise study draws", shell_path(call.values["source"]), *flags, "--save voi.json"])
        return [Said("command", again)]
    calls = learnt.prices[min(1, len(learnt.prices) - 1)].mean_calls
    strategy = StrategySpec("value_of_information", {"mean_calls": f"{calls:g}", "model": str(save)})
    return [Said("command", f"bonwise select POOLS.jsonl --judge JUDGE --strategy {quote(printable(str(strategy)))}")]


@shared_flags.shared_flags(of=study)
def route(
    *,
    call: shared_flags.TypedCall,
    save: Annotated[Path | None, typer.Option(help="Write the recommended router here, for bonwise select.")] = None,
    output: shared_flags.TableOutput,
) -> int:
    """Choose which prompts a stronger judge should decide.

    Compares every routing signal with what the stronger judge gains, and recommends one.
    """
    output.refuse_overwriting(*call.paths(), also=(save,))
    studied = call.run()
    if save is not None:
        router = studied.router()
        router.save(save)
        for line in _about_production(save, router):
            arguments.say(line)
    output.deliver(studied, then=shared_flags.steps_next(_by_rule(save)))
    return 0


def _by_rule(save: Path | None) -> Sequence[Said]:
    """Say how to pick by a saved rule; nothing where none was saved: the document itself says what is next."""
    from bonwise.printable import shell_path
    from bonwise.report.blocks import Said

    if save is None:
        return ()
    return [Said("finding", f"Pick by it: give bonwise select --strong KIND:MODEL --route {shell_path(save)}.")]


def _about_production(save: Path, router: SavedRouter) -> Iterator[str]:
    """Warn of a signal that a first pass of one judge does not give."""
    if not router.beyond_first_pass:
        return
    yield (
        f"WARNING: {save} routes by {router.signal}, which needs {' and '.join(router.beyond_first_pass)}: "
        "pools that lack them in production are not sent"
    )
    yield "if production judges each candidate once, by one judge, add --first-pass-only"
