"""What an audit leaves for the page of a build: a Markdown summary, and gates as JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.errors import BonwiseError, FileError, UsageError

if TYPE_CHECKING:
    from bonwise.documents.audit import AuditDocument

__all__ = ["errors_told", "write_junit", "write_markdown"]

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file to which a step of a build adds what its page is to show."""

_MARKDOWN, _JUNIT = b"## Audit of ", b'<testsuites name="bonwise audit"'
"""What files begin with that were written here."""


def write_markdown(document: AuditDocument, target: str | Path) -> None:
    """Write an audit's summary to a file, or to standard output for ``-``, and add it to the page of the build.

    That page is the build's own: where it cannot be added to that is said, and changes nothing about the gates.

    Raises
    ------
    bonwise.errors.FileError
        A file that cannot be written.
    """
    text = document.to_markdown()
    _write(target, text)
    _add_to_the_build(target, text)


def write_junit(document: AuditDocument, target: str | Path) -> None:
    """Write an audit's gates to a file, or to standard output for ``-``.

    Raises
    ------
    bonwise.errors.UsageError
        An audit without gates.
    bonwise.errors.FileError
        A file that cannot be written.
    """
    from bonwise.report.junit import junit

    if not document.gates:
        raise UsageError("--junit without gates", hint="state what must hold: --fail-under recovery=0.2")
    _write(target, junit(document))


@contextmanager
def errors_told(
    source: str | Path, *, markdown: str | None, junit: str | None, others: Iterable[str | Path | None]
) -> Iterator[None]:
    """Leave an error in the place of the summary and of the gates that are not there for it, and raise it again.

    What an earlier audit left there would pass for the outcome of this one.

    Parameters
    ----------
    source : str or pathlib.Path
        What was to be audited.
    markdown, junit : str or None
        Where they were asked for; ``-`` is standard output.
    others : iterable
        The other files that the command reads and writes: nothing is written over these.

    Raises
    ------
    bonwise.errors.BonwiseError
        The one that was raised inside.
    """
    try:
        yield
    except BonwiseError as error:
        taken = [_place(one) for one in (markdown, junit, *others) if one is not None]
        if markdown is not None and taken.count(_place(markdown)) == 1:
            _tell_in_markdown(source, error, markdown)
        if junit is not None and taken.count(_place(junit)) == 1:
            from bonwise.report.junit import junit_error

            _tell(junit, junit_error(str(source), error.message, error.hint), _JUNIT, error)
        raise


def _tell_in_markdown(source: str | Path, error: BonwiseError, target: str) -> None:
    from bonwise.report.markdown import markdown_error

    text = markdown_error(str(source), error.message, error.hint)
    _tell(target, text, _MARKDOWN, error)
    _add_to_the_build(target, text)


def _tell(target: str, text: str, beginning: bytes, error: BonwiseError) -> None:
    """Write why there is nothing else, over nothing or over what was written here before, never over data."""
    from bonwise.cli.arguments import say

    path = Path(target)
    try:
        if target != "-" and path.is_file() and not _begins(path, beginning):
            say(f"{target} was not written by an audit, so the error was not written over it")
        else:
            _write(target, text)
    except BonwiseError as failure:
        if str(failure) != str(error):
            say(f"the error could not be written: {failure}")


def _begins(path: Path, beginning: bytes) -> bool:
    from bonwise.data.bytes_check import file_errors

    with file_errors(path), path.open("rb") as stream:
        head = stream.read(200)
    _, _, below = head.partition(b"\n")  # of XML the first line says only that
    return head.startswith(beginning) or below.startswith(beginning)


def _place(path: str | Path) -> str:
    return "-" if str(path) == "-" else os.path.realpath(path)


def _write(target: str | Path, text: str) -> None:
    from bonwise.cli.arguments import emit
    from bonwise.data.writing import write_whole

    if str(target) == "-":
        emit(text)
    else:
        write_whole(Path(target), text)


def _add_to_the_build(target: str | Path, text: str) -> None:
    summary = os.environ.get(STEP_SUMMARY)
    if summary and os.path.realpath(summary) != os.path.realpath(target):
        _add(Path(summary), text)


def _add(path: Path, text: str) -> None:
    """Add to a file that earlier steps have written to, at the beginning of a line of its own."""
    from bonwise.cli.arguments import say
    from bonwise.data.bytes_check import file_errors

    try:
        with file_errors(path), path.open("ab") as stream:
            stream.write(f"\n\n{text}".encode())
    except FileError as error:
        say(f"no summary for the build: {error.message} ({STEP_SUMMARY} names this file)")
