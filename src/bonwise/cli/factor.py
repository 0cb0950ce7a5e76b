"""``bonwise factor``: ratings of several judges fused with few human ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.shared_flags import Output, TypedCall, command_of, shared_flags, steps_next
from bonwise.errors import UsageError
from bonwise.factors.front import COMMANDS, fit_factors

__all__ = ["app"]

app = typer.Typer(name="factor", help="Fuse judges' ratings of models with few human ratings.", rich_markup_mode=None)


@app.command("fit")
@shared_flags(
    of=fit_factors,
    before={
        "normalize": "restarts",
        "holdout": "categories",
        "interval": "categories",
        "backend": "confidence",
        "save": "confidence",
    },
)
def fit(
    *,
    call: TypedCall,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write what the other commands of bonwise factor read (JSON).")
    ] = None,
    output: Output,
) -> int:
    """Fit capabilities of models to judges' ratings, and align them with human ratings.

    For models that answer the same prompts. Where candidates differ from prompt to prompt, fit a stack of judges.
    """
    output.refuse_overwriting(*call.paths(), also=(save,))
    if save is not None and call.values["interval"] == "none":
        raise UsageError("--save writes what the interval is made of", hint="leave out --interval none, or --save")
    fitted = call.run()
    if save is not None:
        fitted.view.save(save)
    from bonwise.factors.view_answers import next_steps

    output.deliver(fitted, then=steps_next(next_steps(fitted, save)))
    return 0


for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(command_of(_command))
