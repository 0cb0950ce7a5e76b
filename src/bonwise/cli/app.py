"""The commands that packages declare; a process imports only the module of the command that it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from itertools import groupby
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from bonwise.cli.shared_flags import made_at
from bonwise.declared import declared

MOST_FLAGS = 14
"""Flags that ``--help`` shows of a command; with more, the rare ones are left to ``--help-all``."""

_TYPED = "bonwise.typed"
_JOBS = ("Start here", "Judge", "Label", "Study", "Fuse", "Run", "Files", "Look up")
"""Headings of the help, by the hundreds of a command's rank."""


def examples(command: str) -> list[str]:
    """Return what may be typed for a command, such as ``bonwise audit``."""
    lines = resources.files("bonwise.cli").joinpath("examples.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(f"{command} ")]


class _ByJob(TyperGroup):
    """Lists the commands by job, on one screen."""

    def format_options(self, _: Any, formatter: Any) -> None:
        """Write the commands, then the options."""
        jobs = {name: _JOBS[rank // 100] for name, (rank, *_) in _places().items() if name in self.commands}
        formatter.write_paragraph()
        for job, names in groupby(jobs, jobs.__getitem__):
            rows = [f"  {name.ljust(12)} {self.commands[name].get_short_help_str(formatter.width)}" for name in names]
            formatter.write("\n".join([f"{job}:", *rows, ""]))
        formatter.write("\n--version shows the version, and bonwise COMMAND --help what a command takes.\n")


class _InShort(TyperCommand):
    """Shows its flags under headings, and examples; of many flags ``--help`` leaves the rare ones out."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.options: list[Any] = [param for param in self.params if param.param_type_name == "option"]
        self.rare = [option for option in self.options if option.hidden]
        for option in self.rare:
            option.hidden = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note what was typed: which help is asked for."""
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and flags under their headings."""
        short = len(self.options) > MOST_FLAGS and "--help-all" not in ctx.meta.get(_TYPED, ())
        left_out = self.rare if short else []
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.params:
            panel = getattr(param, "rich_help_panel", None)
            heading = panel or ("Options" if param in self.options else "Arguments")
            if param not in left_out and (record := param.get_help_record(ctx)) is not None:
                records.setdefault(heading, []).append(record)
        records["Options"] += [] if left_out else [("--help", "Show this message and exit.")]
        for heading, rows in records.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        command = ctx.command_path
        typed = "".join(f"\n  {line}" for line in examples(command))
        formatter.write(f"\nExamples:{typed}\n" if typed else "")
        formatter.write(f"\n{len(left_out)} more flags: {command} --help-all\n" if left_out else "")


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the command named, or all for the help: typer is slow to read them all."""
    app = typer.Typer(
        name="bonwise",
        cls=_ByJob,
        help="Pick the best of n answers with a judge, and measure how good the judge is.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )
    places = {name: place for name, (_, *place) in _places().items() if " " not in name}
    asked = next((argument for argument in arguments if argument != "--"), None)
    for name, (package, place) in places.items() if asked not in places else [(asked, places[asked])]:
        made = _made(package, place, arguments, name)
        if asked not in (None, name):  # only the names are needed, not what each takes
            about = made.info.help if isinstance(made, typer.Typer) else made.__doc__
            app.command(name, help=about)(_listed)
        elif isinstance(made, typer.Typer):
            app.add_typer(made)
        else:
            app.command(name, help=made.__doc__)(made)
    for group in (app, *(inner.typer_instance or app for inner in app.registered_groups)):
        for command in group.registered_commands:
            command.cls = _InShort
            command.context_settings = {"help_option_names": ["--help", "--help-all"]}
    return app


def _places() -> dict[str, tuple[int, str, str]]:
    """Return rank, package and place of every command in the order of the help; a rank's hundreds are the job."""
    ordered = sorted((rank, name, package, place) for package, name, (rank, place) in declared("COMMANDS"))
    return {name: (rank, package, place) for rank, name, package, place in ordered}


def _made(package: str, place: str, arguments: Sequence[str], name: str) -> typer.Typer | Callable[..., int]:
    made = made_at(package, place)
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
