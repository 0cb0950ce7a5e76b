"""A command over several files: once for each, with one exit code and one report for a build server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from bonwise.cli.shared_flags import with_parameters
from bonwise.errors import BonwiseError, UsageError

__all__ = ["over_several_files"]

_MERGED = ("markdown", "junit")
"""Outputs that hold what was found in every file."""

_OF_ONE_FILE = ("json", "html", "per_prompt")
"""Outputs that hold what was found in one."""

_BAD_INPUT = 2
_GRAVEST_FIRST = (_BAD_INPUT, 1, 3, 0)


def over_several_files(help_of_file: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Let a command that takes one ``file`` take several.

    Each is worked on by itself, and one that cannot be read keeps no other from its turn. The exit code is the
    gravest: 2, then 1, then 3, then 0.

    Parameters
    ----------
    help_of_file : str
        What the help says of the files.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        shown = {
            name: (parameter.annotation, parameter.default)
            for name, parameter in signature(command).parameters.items()
        }
        argument = typer.Argument(help=help_of_file, show_default=False)
        shown["file"] = (Annotated[list[Path], argument], shown["file"][1])

        @wraps(command)
        def run(**values: Any) -> int:
            files: Sequence[Path] = values.pop("file")
            return command(file=files[0], **values) if len(files) == 1 else _each(command, files, values)

        del run.__wrapped__  # Typer would read the signature of the command itself
        return with_parameters(run, shown)

    return decorate


def _each(command: Callable[..., int], files: Sequence[Path], values: Mapping[str, Any]) -> int:
    _refuse_outputs_of_one(files, values)
    codes = []
    with _merged(files, values) as targets:
        for at, file in enumerate(files):
            codes.append(_once(command, file, {**values, **targets(at)}))
    return next(code for code in _GRAVEST_FIRST if code in codes)


def _once(command: Callable[..., int], file: Path, values: Mapping[str, Any]) -> int:
    from bonwise.cli.arguments import say
    from bonwise.printable import printable

    try:
        return command(file=file, **values)
    except UsageError:
        raise  # the flags are those of all files
    except BonwiseError as error:
        say(printable(str(error), longest=1000))
        return _BAD_INPUT


def _refuse_outputs_of_one(files: Sequence[Path], values: Mapping[str, Any]) -> None:
    for name in _OF_ONE_FILE:
        if values.get(name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} holds what is found in one file, and {len(files)} are given",
                hint=f"drop {flag}, or one file",
            )
    twice = {file for file in files if list(files).count(file) > 1}
    if twice:
        raise UsageError(f"{min(map(str, twice))} is given twice", hint="name each file once")


@contextmanager
def _merged(files: Sequence[Path], values: Mapping[str, Any]) -> Iterator[Callable[[int], dict[str, str]]]:
    """Yield where the reports of each file go; they are put together in the end, also where something was refused."""
    from tempfile import TemporaryDirectory

    from bonwise.cli.arguments import refuse_lost, refuse_overwriting
    from bonwise.data.writing import write_whole

    asked = {name: values[name] for name in _MERGED if values.get(name) is not None}
    if "-" in asked.values():
        raise UsageError("what is found in several files is printed as text", hint="write the report to a file")
    refuse_overwriting(files, asked.values(), force=bool(values.get("force")))
    refuse_lost(asked.values())
    with TemporaryDirectory() as folder:
        yield lambda at: {name: str(Path(folder) / f"{at}.{name}") for name in asked}
        for name, target in asked.items():
            parts = [Path(folder) / f"{at}.{name}" for at in range(len(files))]
            texts = [part.read_text("utf-8") for part in parts if part.exists()]
            if texts:
                write_whole(Path(target), "\n".join(texts) if name == "markdown" else _one_suite(texts))


def _one_suite(texts: Sequence[str]) -> str:
    from bonwise.report.junit import merged

    return merged(texts)
