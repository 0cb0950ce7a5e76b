"""``bonwise factor`` and ``stack``: ratings fused with few human ones, and judges weighed by labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.cli.shared_flags import Reading, TableOutput, TypedCall, command_of, flags_of, shared_flags, steps_next
from bonwise.errors import UsageError
from bonwise.factors.front import COMMANDS, compare_models, fit_factors, study_factors
from bonwise.printable import shell_path
from bonwise.stacks.front import AUDIT, fit_stack
from bonwise.table.reading_options import LabelledKeywords, ReadingOptions

if TYPE_CHECKING:
    from bonwise.report.blocks import Said
    from bonwise.stacks.result import StackFit

factor = typer.Typer(
    name="factor", help="Fuse judges' ratings of models with few human ratings.", rich_markup_mode=None
)


@factor.command("fit")
@shared_flags(of=fit_factors)
def fit_ratings(
    *,
    call: TypedCall,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write what the other commands of bonwise factor read (JSON).")
    ] = None,
    reading: Reading[LabelledKeywords],
    output: TableOutput,
) -> int:
    """Fit capabilities of models to judges' ratings, and align them with human ratings.

    For models that answer the same prompts. Where candidates differ from prompt to prompt, fit a stack of judges.
    """
    output.refuse_overwriting(*call.paths(), also=(save,))
    if save is not None and call.values["interval"] == "none":
        raise UsageError("--save writes what the interval is made of", hint="leave out --interval none, or --save")
    from bonwise.factors.view_answers import next_steps

    fitted = call.run(**_of_scores(call, reading))
    if save is not None:
        fitted.view.save(save)
    again = ("bonwise factor fit", "bonwise factor study")
    flags = [*reading.as_flags(), *flags_of({"--pairs": call.values["pairs"]})]
    steps = [
        replace(step, text=" ".join([step.text, *flags])) if step.text.startswith(again) else step
        for step in next_steps(fitted, save)
    ]
    output.deliver(fitted, then=steps_next(steps))
    return 0


def _of_scores(call: TypedCall, reading: Reading[LabelledKeywords]) -> dict[str, Any]:
    """Return the table of scores that flags of columns are of; ratings have columns of their own."""
    from bonwise.factors.rating_sources import ratings_of_scores
    from bonwise.table.opening import open_labelled

    options = ReadingOptions.of(ratings_of_scores, reading.keywords())
    return {"source": open_labelled(call.values["source"], options)[0]} if reading.values else {}


@factor.command("study")
@shared_flags(of=study_factors)
def study_ratings(*, call: TypedCall, reading: Reading[LabelledKeywords], output: TableOutput) -> int:
    """Study what further human ratings and further judges are worth.

    Fits shares of the human ratings, and of the judges, and predicts the same other human ratings from each.
    """
    output.refuse_overwriting(*call.paths())
    output.deliver(call.run(**_of_scores(call, reading)))
    return 0


@factor.command("compare")
@shared_flags(of=compare_models)
def compare(
    *,
    call: TypedCall,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the router of --equivalence here (JSON).")
    ] = None,
    output: TableOutput,
) -> int:
    """Compare two models on every prompt, and by category.

    With --equivalence it says where the first can replace the second, and --save writes a rule for new prompts.
    """
    output.refuse_overwriting(*call.paths(), also=(save,))
    from bonwise.report.blocks import Said
    from bonwise.table.writing import write_whole

    compared = call.run()
    route = []
    if save is not None:
        write_whole(save, compared.router.to_json())
        route = [Said("finding", f'Route new prompts by it, in Python: bw.load("{save}").choose("prompts.csv")')]
    output.deliver(compared, then=steps_next(route))
    return 0


for _name, _command in COMMANDS.items():
    factor.command(_name, help=_command.help)(command_of(_command))


stack = typer.Typer(name="stack", help="Weigh several judges by labels.", rich_markup_mode=None)


@stack.command("fit")
@shared_flags(of=fit_stack)
def fit_scores(
    *,
    call: TypedCall,
    save: Annotated[Path | None, typer.Option("--save", help="Write the stack here (JSON).")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write the scores with the stack as a further judge here (CSV), out of fold.")
    ] = None,
    output: TableOutput,
) -> int:
    """Fit a stack of the judges of a file to its labels.

    Prints what its picks are worth on prompts it was not fitted to, beside each judge and other rules.
    """
    output.refuse_overwriting(*call.paths(), also=(save, scores))
    fitted = call.run()
    if scores is not None:
        from bonwise.stacks.stack_table import score_file
        from bonwise.table.writing import write_whole

        write_whole(scores, score_file(fitted.scores()))
    if save is not None:
        fitted.save(save)
    output.deliver(fitted, then=steps_next(_after_stack(fitted, save)))
    return 0


stack.command("audit", help=AUDIT.help)(command_of(AUDIT))


def _after_stack(fitted: StackFit, save: Path | None) -> Sequence[Said]:
    """Say how to pick by a saved stack; nothing where the document itself says what is next."""
    from bonwise.report.blocks import Said
    from bonwise.stacks.view import is_better

    if save is None or not is_better(fitted):
        return ()
    return [Said("finding", f"Pick by it: give bonwise select --judge stack:{shell_path(save)}.")]
