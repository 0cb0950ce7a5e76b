"""The commands, one module each; a process imports only the module of the command that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

__all__ = ["app_for"]

_COMMANDS = {
    "demo": "first_steps",
    "doctor": "first_steps",
    "convert": "first_steps",
    "judge": "judge",
    "select": "select",
    "audit": "audit",
    "compare": "comparing",
    "route": "judge_studies",
    "learn": "judge_studies",
    "confidence": "judge_studies",
    "plan": "planning",
    "monitor": "planning",
    "watch": "comparing",
    "serve": "servers",
    "mcp": "servers",
    "preferences": "preferences",
    "judges": "lookups",
    "strategies": "lookups",
    "schema": "lookups",
}
"""In the order of the help: each is a function of that name in a module of this room."""

_GROUPS = {
    "labels": "bonwise.cli.labels",
    "factor": "bonwise.cli.factor",
    "study": "bonwise.cli.studies",
    "stack": "bonwise.cli.stack",
    "prompts": "bonwise.cli.lookups",
    "ledger": "bonwise.cli.ledger",
}
"""Commands that have commands of their own, and the module that holds them as ``app``, or makes it: ``app_for``."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the command that the arguments name, or with every command.

    Typer reads the options of every command that it is given, which for all of them takes longer than an audit of a
    small file. So every command is there only for the help, and for a name that is no command.

    Parameters
    ----------
    arguments : sequence of str
        Without the program's name.
    """
    app = typer.Typer(
        name="bonwise",
        help="Pick the best of n answers with a judge, and find out how good the judge is at it.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )
    everything = (*_COMMANDS, *_GROUPS)
    asked = arguments[0] if arguments and arguments[0] in everything else None
    for name in everything if asked is None else (asked,):
        if name in _GROUPS:
            app.add_typer(_group(name, arguments))
        else:
            app.command(name)(getattr(import_module(f"bonwise.cli.{_COMMANDS[name]}"), name))
    return app


def _group(name: str, arguments: Sequence[str]) -> typer.Typer:
    module = import_module(_GROUPS[name])
    if hasattr(module, "app_for"):
        made: typer.Typer = module.app_for(arguments[arguments.index(name) + 1 :] if name in arguments else None)
        return made
    held: typer.Typer = module.app
    return held


def _show_version(wanted: bool) -> None:
    if wanted:
        from bonwise.release import release

        typer.echo(f"bonwise {release()}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version
