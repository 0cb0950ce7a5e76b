"""Flags that several commands share, and how their text is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bonwise.errors import FileError, UsageError
from bonwise.extras import PAGES, TABLES
from bonwise.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.report.blocks import Part, Said
    from bonwise.results import Document
    from bonwise.table.scales import Scale


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


def table_target(path: Path | None) -> Path | None:
    """Refuse at once a table that cannot be written, or of no known kind."""
    if path is None:
        return None
    if path.suffix not in _TABLES:
        raise UsageError(
            f"--out takes a file that ends in {', '.join(_TABLES)}, not {str(path)!r}",
            hint="what another command reads, such as a stack, is written by --save",
        )
    refuse_lost((path,))
    if path.suffix == ".parquet":
        TABLES.require(f"--out {path}")
    return path


_TABLES = (".csv", ".jsonl", ".parquet")

JsonTarget = Annotated[str | None, typer.Option("--json", help="Write the JSON document here; - for stdout.")]
rare = partial(typer.Option, hidden=True)
"""Makes a flag that ``--help`` of a command with many flags leaves to ``--help-all``."""

MarkdownTarget = Annotated[str | None, rare("--markdown", help="Write it as Markdown here; - for stdout.")]
TableTarget = Annotated[
    Path | None,
    typer.Option("--out", callback=table_target, help="Write its table of figures here: .csv, .jsonl or .parquet."),
]

AllowUnscored = Annotated[
    bool, rare("--allow-unscored", help="End with exit code 0, not 1, where no candidate was scored.")
]
HtmlTarget = Annotated[
    Path | None, typer.Option("--html", callback=page_target, help="Write the page here, for a browser.")
]
Confidence = Annotated[float, rare("--confidence", help="Of the two-sided intervals.")]
Force = Annotated[
    bool, rare("--force", help="Replace files that bonwise did not write; never labels that were filled in.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Print every table and sentence of the result, not the short form.")
]
Seed = Annotated[int, rare("--seed", help="Seed of everything that is drawn.")]


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
    """Refuse an output in place of an input, another output, or without `force` what `headers` do not begin."""
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


def refuse_two_for_one(targets: Mapping[str, str | None]) -> None:
    """Refuse two documents on standard output, which no program could take apart."""
    there = [flag for flag, target in targets.items() if target == "-"]
    if len(there) > 1:
        raise UsageError(f"{there[0]} - and {there[1]} - both take standard output", hint="write one to a file")


def refuse_flags(flags: Mapping[str, object], message: str) -> None:
    """Refuse a flag that would be passed over."""
    for name, value in flags.items():
        if value not in (None, (), [], False):
            raise UsageError(f"--{name.removeprefix('--').replace('_', '-')} {message}", hint="leave it out")


def write_text(text: str, target: str) -> None:
    """Write a text to a file, or to standard output where the target is ``-``."""
    from bonwise.table.writing import write_whole

    if target == "-":
        emit(text)
    else:
        write_whole(Path(target), text)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of figures; what holds several values is JSON in a cell."""
    import json

    from bonwise.table.writing import csv_frame, write_whole

    if path.suffix == ".jsonl":
        write_whole(path, frame.to_json(orient="records", lines=True, double_precision=15))
        return
    plain = frame.map(lambda cell: json.dumps(cell) if isinstance(cell, dict | list | tuple) else cell)
    write_whole(path, plain.to_parquet(None, index=False) if path.suffix == ".parquet" else csv_frame(plain))


def deliver(
    document: Document,
    target: str | None,
    *,
    html: str | Path | None = None,
    markdown: str | None = None,
    out: Path | None = None,
    aside: bool = False,
    described: Part | None = None,
    then: Sequence[Said] = (),
    full: bool = False,
) -> None:
    """Write the document where flags ask, then print it, or `described`; `then`, by names of files, is next."""
    from bonwise.report.show import describe
    from bonwise.report.terminal import renderables, show

    if html is not None:
        document.to_html(html)
    if target is not None:
        write_text(document.to_json(), target)
    if markdown is not None:
        write_text(f"<!-- {document.schema_} -->\n{document.to_markdown()}", markdown)
    if out is not None:
        rows = document.to_frame().drop(columns="schema", errors="ignore")
        rows.insert(0, "schema", document.schema_)
        write_table(rows, out)
    parts = renderables(described or describe(document, in_short=not full), then=then)
    show(parts, sys.stderr if aside or "-" in (target, markdown) else sys.stdout)
