"""``bonwise study``: the studies that decide between judges, and between ways of asking one.

Every study is here that is registered (`bonwise.auditing.studies.registration`). Its command is made from its
function; one that is more than that has a module of its name in ``cli/study/by_hand``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules

import typer

__all__ = ["app_for"]


def app_for(arguments: Sequence[str] | None) -> typer.Typer:
    """Return the group with the study that the arguments name, or with the names of all for the help.

    Parameters
    ----------
    arguments : sequence of str or None
        After ``study``; None where nothing is to be known of the studies but that there are some.
    """
    app = typer.Typer(
        name="study",
        help="Study a judge further: recovery, ways of asking, calibration.",
        rich_markup_mode=None,
        no_args_is_help=True,
        # A group of one command would be that command.
        callback=_studies,
    )
    if arguments is None:
        return app
    from bonwise.documents.study import study_class, study_names

    names = study_names()
    asked = next((one for one in arguments if one != "--"), None)
    for name in [asked] if asked in names else sorted(names, key=lambda one: (study_class(one).place, one)):
        command = _command(name) if name == asked else _listed
        app.command(name, help=study_class(name).about)(command)
    return app


def _studies() -> None:
    """Do nothing: each study is a command."""


def _listed() -> int:
    raise AssertionError("a study that is only listed cannot run")


def _command(name: str) -> Callable[..., int]:
    import bonwise.cli.study.by_hand as room

    module = name.replace("-", "_")
    if module in {one.name for one in iter_modules(room.__path__)}:
        command: Callable[..., int] = getattr(import_module(f"{room.__name__}.{module}"), module)
        return command
    from bonwise.auditing.studies.registration import study_of
    from bonwise.cli.study.command import command_of

    return command_of(study_of(name))
