"""The pages of the command line, made from the commands themselves."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer.main

from bonwise.cli.app import app_for, examples
from website.made_page import MadePage

__all__ = ["command_pages", "commands"]


@cache
def commands() -> dict[str, Any]:
    """Return every command of the program by what is typed, without ``bonwise``: ``audit``, ``labels draw``."""
    return dict(_below(typer.main.get_command(app_for([])), ()))


def _below(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        path = (*words, name)
        yield " ".join(path), command
        if hasattr(command, "commands"):
            yield from _below(command, path)


@cache
def command_pages() -> dict[str, MadePage]:
    """Return title and text of each page of the command line by its path: one per command or group."""
    top = [name for name in commands() if " " not in name]
    pages = {f"cli/{name}.md": MadePage(f"bonwise {name}", _page(name)) for name in top}
    return {"cli/index.md": MadePage("All commands", _index(top)), **pages}


def _index(top: list[str]) -> str:
    rows = []
    for name, command in commands().items():
        page, anchor = name.partition(" ")[0], f"#bonwise-{name.replace(' ', '-')}" if " " in name else ""
        rows.append(f"| [`bonwise {name}`]({page}.md{anchor}) | {_text(_summary(command))} |")
    return (
        f"# Command line\n\n`bonwise` has {len(top)} commands; some have commands of their own. "
        "`bonwise COMMAND --help` prints what stands on these pages. "
        "[Gates in CI](../ci.md) explains the exit codes.\n\n"
        "| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def _page(name: str) -> str:
    inner = [one for one in commands() if one.startswith(f"{name} ")]
    parts = [f"# bonwise {name}", *_described(name)]
    for one in inner:
        parts += [f"## bonwise {one}", *_described(one)]
    return "\n\n".join(parts) + "\n"


def _described(name: str) -> Iterator[str]:
    command = commands()[name]
    context = command.context_class(command, info_name=f"bonwise {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\nbonwise {name} {usage}\n```"
    yield from (_text(" ".join(part.split())) for part in (command.help or "").split("\n\n"))
    if typed := examples(f"bonwise {name}"):
        yield "```sh\n" + "\n".join(typed) + "\n```"
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.get_params(context) if one.param_type_name == "option"]
    for title, params in (("argument", arguments), ("option", options)):
        records = [record for one in params if (record := one.get_help_record(context)) is not None]
        if records:
            rows = [f"| {_flags(record[0])} | {_text(' '.join(record[1].split()))} |" for record in records]
            yield f"| {title} | meaning |\n|---|---|\n" + "\n".join(rows)


def _summary(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _flags(names: str) -> str:
    """Return the names of an option as code; ``|`` is written so that it does not end the cell."""
    return " ".join(f"<code>{html.escape(word).replace('|', '&#124;')}</code>" for word in names.split())


def _text(words: str) -> str:
    """Escape what Markdown would read as its own."""
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", words)
