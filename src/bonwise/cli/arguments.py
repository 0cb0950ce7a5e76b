"""Flags that several commands share, and how their text is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bonwise.errors import FileError, UsageError
from bonwise.extras import PAGES
from bonwise.printable import printable

if TYPE_CHECKING:
    from bonwise.report.blocks import Part, Said
    from bonwise.results import Document
    from bonwise.table.scales import Scale

__all__ = [
    "AllowUnscored",
    "Confidence",
    "Force",
    "HtmlTarget",
    "JsonTarget",
    "Seed",
    "deliver",
    "emit",
    "forced_shape",
    "page_target",
    "refuse_lost",
    "refuse_overwriting",
    "say",
    "scales",
    "write_json",
]


def page_target(path: Path | None) -> Path | None:
    """Refuse at once what no page can be written to, or one whose extra or documentation is missing."""
    if path is None:
        return None
    if not path.name or str(path) == "-":
        raise UsageError(f"--html takes the name of a file, not {str(path)!r}", hint="such as --html page.html")
    refuse_lost((path,))
    PAGES.require(f"--html {path}")
    from bonwise.report.page.docs_site import docs_site

    docs_site()
    return path


JsonTarget = Annotated[str | None, typer.Option("--json", help="Write the JSON document here; - for stdout.")]
AllowUnscored = Annotated[
    bool, typer.Option("--allow-unscored", help="End with exit code 0, not 1, where no candidate was scored.")
]
HtmlTarget = Annotated[
    Path | None, typer.Option("--html", callback=page_target, help="Write the page here, for a browser.")
]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the two-sided intervals.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that bonwise did not write; never labels that were filled in.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")]


def scales(texts: Iterable[str] | None) -> Mapping[str, Scale]:
    """Read ``LOW:HIGH`` and ``JUDGE=LOW:HIGH``; the key of the former is empty."""
    from bonwise.table.scales import parse_scale

    by_judge = {}
    for text in texts or ():
        judge, _, scale = text.rpartition("=")
        if judge in by_judge:
            raise UsageError(f"--judge-scale is given twice for {judge or 'all judges'}", hint="give it once")
        by_judge[judge] = parse_scale(scale)
    return by_judge


def say(line: str) -> None:
    """Tell the user something on standard error, in one line, where no program reads it."""
    from bonwise.report.terminal import write

    # Where standard error cannot be written nobody can be told, and what is under way, perhaps paid, goes on.
    with suppress(FileError):
        write(f"bonwise: {printable(line)}\n", sys.stderr)


def forced_shape(rectangular: bool, ragged: bool) -> Literal["rectangular", "ragged"] | None:
    """Return the shape that two flags force, None where neither does; both are a `bonwise.errors.UsageError`."""
    if rectangular and ragged:
        raise UsageError("--rectangular and --ragged contradict each other", hint="give one of them")
    return "rectangular" if rectangular else "ragged" if ragged else None


def refuse_overwriting(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[str | Path | None],
    *,
    headers: Iterable[Sequence[str]] = (),
    force: bool = False,
) -> None:
    """Refuse an output that would replace an input, another output, or a file that bonwise did not write.

    `headers` begin the rows that the command writes. A foreign file is a FileError, but by `force`; the rest a
    UsageError.
    """
    from bonwise.table.writing import refuse_foreign

    headers = tuple(headers)
    taken = {os.path.realpath(path) for path in inputs if path is not None}
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        path = os.path.realpath(output)
        if path in taken:
            raise UsageError(f"{output} is read or written already", hint="give the output a name of its own")
        taken.add(path)
        refuse_foreign(output, headers, force=force)


def refuse_lost(outputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that cannot be written, before anything is done; ``-`` is standard output."""
    from bonwise.table.writing import refuse_unwritable

    for path in outputs:
        if path is not None and str(path) != "-":
            refuse_unwritable(path)


def emit(text: str) -> None:
    """Write UTF-8 and Unix line ends to standard output, for a program; a reader that left ends the writing only."""
    from bonwise.report.terminal import write

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    write(text, sys.stdout)


def write_json(document: Document, target: str | None) -> None:
    """Write a document as strict JSON to a file, or to standard output where the target is ``-``."""
    from bonwise.table.writing import write_whole

    if target == "-":
        emit(document.to_json())
    elif target is not None:
        write_whole(Path(target), document.to_json())


def deliver(
    document: Document,
    target: str | None,
    *,
    html: str | Path | None = None,
    aside: bool = False,
    described: Part | None = None,
    then: Sequence[Said] = (),
    full: bool = False,
) -> None:
    """Write the document as strict JSON where ``--json`` asks for it, and as a page, then print the result.

    `described` is printed where more is known than the document holds; `then`, by names of files, is what is next.
    Words step aside to standard error where standard output is for this document or another one (`aside`).
    """
    from bonwise.report.show import describe
    from bonwise.report.terminal import renderables, show

    if html is not None:
        document.to_html(html)
    write_json(document, target)
    parts = renderables(described or describe(document, in_short=not full), full=full, then=then)
    show(parts, sys.stderr if aside or target == "-" else sys.stdout)
