"""What build servers are given of an audit: Markdown, gates as JUnit XML, one exit code for several files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from bonwise.cli.arguments import say, write_text
from bonwise.cli.shared_flags import with_parameters
from bonwise.errors import BonwiseError, FileError, UsageError

if TYPE_CHECKING:
    from bonwise.auditing.result import Audit

_MERGED = ("markdown", "junit")
"""Outputs that hold what was found in every file."""

_PARTS = ".stats"
"""Ending of files that are parts of one table."""

_OF_ONE_FILE = ("json", "html", "out", "per_prompt", "stats_out", "examples")
"""Outputs that hold what was found in one."""

_BAD_INPUT = 2
_GRAVEST_FIRST = (_BAD_INPUT, 1, 3, 0)


def over_several_files(command: Callable[..., int]) -> Callable[..., int]:
    """Let a command that takes one ``file`` take several, each by itself; the gravest exit code: 2, 1, 3, 0."""
    shown = {
        name: (parameter.annotation, parameter.default) for name, parameter in signature(command).parameters.items()
    }
    annotation, default = shown["file"]
    shown["file"] = (Annotated[list[Path], *get_args(annotation)[1:]], default)

    @wraps(command)
    def run(**values: Any) -> int:
        files: Sequence[Path] = values.pop("file")
        if values.get("compare_regimes") or (len(files) > 1 and all(file.suffix == _PARTS for file in files)):
            return command(file=files, **values)
        return command(file=files[0], **values) if len(files) == 1 else _each(command, files, values)

    del run.__wrapped__  # Typer would read the signature of the command itself
    return with_parameters(run, shown)


def _each(command: Callable[..., int], files: Sequence[Path], values: Mapping[str, Any]) -> int:
    _refuse_outputs_of_one(files, values)
    codes = []
    with _merged(files, values) as targets:
        for at, file in enumerate(files):
            codes.append(_once(command, file, {**values, **targets(at)}))
    return next(code for code in _GRAVEST_FIRST if code in codes)


def _once(command: Callable[..., int], file: Path, values: Mapping[str, Any]) -> int:
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
    from bonwise.table.writing import write_whole

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
    from bonwise.auditing.junit import merged

    return merged(texts)


STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file to which a step of a build adds what its page is to show."""

_MARKDOWN, _JUNIT = b"## Audit of ", b'<testsuites name="bonwise audit"'
"""What files begin with that were written here."""


def write_markdown(document: Audit, target: str) -> None:
    """Write a summary to a file, or ``-``, and to the page of the build; where that fails, no gate changes."""
    text = document.to_markdown()
    write_text(text, target)
    _add_to_the_build(target, text)


def write_junit(document: Audit, target: str) -> None:
    """Write an audit's gates to a file, or to standard output for ``-``; without gates it is a `UsageError`."""
    from bonwise.auditing.junit import junit

    if not document.gates:
        raise UsageError("--junit without gates", hint="state what must hold: --fail-under recovery=0.2")
    write_text(junit(document), target)


@contextmanager
def errors_told(
    source: str | Path, *, markdown: str | None, junit: str | None, others: Iterable[str | Path | None]
) -> Iterator[None]:
    """Leave an error where an earlier audit's files would pass for this one's, not over `others`; raise it again."""
    try:
        yield
    except BonwiseError as error:
        taken = [_place(one) for one in (markdown, junit, *others) if one is not None]
        if markdown is not None and taken.count(_place(markdown)) == 1:
            _tell_in_markdown(source, error, markdown)
        if junit is not None and taken.count(_place(junit)) == 1:
            from bonwise.auditing.junit import junit_error

            _tell(junit, junit_error(str(source), error.message, error.hint), _JUNIT, error)
        raise


def _tell_in_markdown(source: str | Path, error: BonwiseError, target: str) -> None:
    from bonwise.report.markdown import markdown_error

    text = markdown_error(str(source), error.message, error.hint)
    _tell(target, text, _MARKDOWN, error)
    _add_to_the_build(target, text)


def _tell(target: str, text: str, beginning: bytes, error: BonwiseError) -> None:
    """Write why there is nothing else, over nothing or over what was written here before, never over data."""
    path = Path(target)
    try:
        if target != "-" and path.is_file() and not _begins(path, beginning):
            say(f"{target} was not written by an audit, so the error was not written over it")
        else:
            write_text(text, target)
    except BonwiseError as failure:
        if str(failure) != str(error):
            say(f"the error could not be written: {failure}")


def _begins(path: Path, beginning: bytes) -> bool:
    from bonwise.table.text_files import file_errors

    with file_errors(path), path.open("rb") as stream:
        head = stream.read(200)
    _, _, below = head.partition(b"\n")  # of XML the first line says only that
    return head.startswith(beginning) or below.startswith(beginning)


def _place(path: str | Path) -> str:
    return "-" if str(path) == "-" else os.path.realpath(path)


def _add_to_the_build(target: str | Path, text: str) -> None:
    summary = os.environ.get(STEP_SUMMARY)
    if summary and os.path.realpath(summary) != os.path.realpath(target):
        _add(Path(summary), text)


def _add(path: Path, text: str) -> None:
    """Add to a file that earlier steps have written to, at the beginning of a line of its own."""
    from bonwise.table.text_files import file_errors

    try:
        with file_errors(path), path.open("ab") as stream:
            stream.write(f"\n\n{text}".encode())
    except FileError as error:
        say(f"no summary for the build: {error.message} ({STEP_SUMMARY} names this file)")
