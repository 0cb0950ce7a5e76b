"""The commands that packages declare; a process imports only the module of the command that it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from bonwise.cli.shared_flags import command_of
from bonwise.declared import attribute_at, declared
from bonwise.flags import Command

__all__ = ["app_for"]


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the command named, or all for the help: typer is slow to read them all."""
    app = typer.Typer(
        name="bonwise",
        help="Pick the best of n answers with a judge, and find out how good the judge is at it.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )
    places = _places()
    asked = next((argument for argument in arguments if argument != "--"), None)
    for name, (package, place) in places.items() if asked not in places else [(asked, places[asked])]:
        made = _made(package, place, arguments, name)
        if isinstance(made, typer.Typer):
            app.add_typer(made)
        else:
            app.command(name, help=made.__doc__)(made if name == asked else _listed)
    return app


def _places() -> dict[str, tuple[str, str]]:
    """Return package and place of every command, in the order of the help.

    ``COMMANDS = {"watch": (130, "front:COMMAND")}`` names a Command, a function, a group or its maker.
    """
    ordered = sorted((rank, name, package, place) for package, name, (rank, place) in declared("COMMANDS"))
    return {name: (package, place) for _, name, package, place in ordered}


def _made(package: str, place: str, arguments: Sequence[str], name: str) -> typer.Typer | Callable[..., int]:
    made = attribute_at(package, place)
    if isinstance(made, Command):
        return command_of(made)
    if place.endswith(":app_for"):
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
