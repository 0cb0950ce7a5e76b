"""The commands that packages declare; a process imports only the module of the command that it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from bonwise.cli.shared_flags import command_of
from bonwise.declared import declared
from bonwise.flags import Command

__all__ = ["app_for"]


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
    places = _places()
    asked = next((one for one in arguments if one != "--"), None)
    for name, place in places.items() if asked not in places else [(asked, places[asked])]:
        made = _made(place, arguments, name)
        if isinstance(made, typer.Typer):
            app.add_typer(made)
        else:
            app.command(name, help=made.__doc__)(made if name == asked else _listed)
    return app


def _places() -> dict[str, str]:
    """Return module and attribute of every command, with a colon between, in the order of the help.

    A package declares its own: ``COMMANDS = {"watch": (130, "front:COMMAND")}``. There is a
    `bonwise.flags.Command`, a function, or of commands that have commands of their own what holds them or makes it.
    """
    found = [(place, name, f"{package}.{at}") for package, name, (place, at) in declared("COMMANDS")]
    return {name: at for _, name, at in sorted(found)}


def _made(place: str, arguments: Sequence[str], name: str) -> typer.Typer | Callable[..., int]:
    module, _, attribute = place.partition(":")
    made = getattr(import_module(module), attribute)
    if isinstance(made, Command):
        return command_of(made)
    if attribute == "app_for":
        group: typer.Typer = made(arguments[arguments.index(name) + 1 :] if name in arguments else None)
        return group
    held: typer.Typer | Callable[..., int] = made
    return held


def _listed() -> int:
    raise AssertionError("a command that is only listed cannot run")


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
