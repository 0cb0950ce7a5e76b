"""What an audit leaves for the page of a build: a Markdown summary, and gates as JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bonwise.errors import FileError, UsageError

__all__ = ["write_junit", "write_markdown"]

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file to which a step of a build adds what its page is to show."""


def write_markdown(document: Mapping[str, Any], target: str | Path) -> None:
    """Write an audit's summary to a file, or to standard output for ``-``, and add it to the page of the build.

    That page is the build's own: where it cannot be added to that is said, and changes nothing about the gates.

    Raises
    ------
    bonwise.errors.FileError
        A file that cannot be written.
    """
    from bonwise.cli.arguments import emit
    from bonwise.data.writing import write_whole
    from bonwise.report.markdown import markdown

    text = markdown(document)
    if str(target) == "-":
        emit(text)
    else:
        write_whole(Path(target), text)
    summary = os.environ.get(STEP_SUMMARY)
    if summary and os.path.realpath(summary) != os.path.realpath(target):
        _add(Path(summary), text)


def write_junit(document: Mapping[str, Any], target: str | Path) -> None:
    """Write an audit's gates to a file, or to standard output for ``-``.

    Raises
    ------
    bonwise.errors.UsageError
        An audit without gates.
    bonwise.errors.FileError
        A file that cannot be written.
    """
    from bonwise.cli.arguments import emit
    from bonwise.data.writing import write_whole
    from bonwise.report.junit import junit

    if not document.get("gates"):
        raise UsageError("--junit without gates", hint="state what must hold: --fail-under recovery=0.2")
    text = junit(document)
    if str(target) == "-":
        emit(text)
    else:
        write_whole(Path(target), text)


def _add(path: Path, text: str) -> None:
    """Add to a file that earlier steps have written to, at the beginning of a line of its own."""
    from bonwise.cli.arguments import say
    from bonwise.data.bytes_check import file_errors

    try:
        with file_errors(path), path.open("ab") as stream:
            stream.write(f"\n\n{text}".encode())
    except FileError as error:
        say(f"no summary for the build: {error.message} ({STEP_SUMMARY} names this file)")
