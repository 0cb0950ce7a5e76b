"""``bonwise convert``: a file in any shape, as the table that every command reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Reading, shared_flags
from bonwise.data.reading_options import RowKeywords

__all__ = ["convert"]


@shared_flags(NO_PROPENSITY)
def convert(
    *,
    file: Annotated[
        Path, typer.Argument(help="A table in any shape, a log or an export of another tool, or a folder.")
    ],
    out: Annotated[Path, typer.Option(help="Write the rows here, as CSV.", show_default=False)],
    reading: Reading[RowKeywords],
    output: JsonOutput,
) -> int:
    """Write the rows of a file of another tool as a table of scores.

    Every row whose prompt and candidate can be told is written; what an audit still lacks is said.
    """
    output.refuse_overwriting(file, also=(out,))
    from bonwise.data.converting import convert as converted
    from bonwise.data.writing import csv_frame, write_whole
    from bonwise.documents.convert import ConvertCounts, ConvertDocument
    from bonwise.printable import shell_path
    from bonwise.release import release
    from bonwise.report.blocks import Said
    from bonwise.report.console import show
    from bonwise.report.described.convert import said_of
    from bonwise.report.terminal import lines

    found = converted(file, **reading.keywords())
    write_whole(out, csv_frame(found.frame))
    document = ConvertDocument(
        source=str(file),
        out=str(out),
        columns=[str(name) for name in found.frame.columns],
        data=ConvertCounts(
            rows=len(found.frame),
            prompts=found.frame["prompt_id"].astype(str).nunique(),
            left_out=found.left_out,
        ),
        read_as=found.said or None,
        lacks=list(found.lacks),
        version=release(),
    )
    then = (Said("note", "Next:"), Said("command", f"bonwise doctor {shell_path(out)}"))
    if output.json == "-":
        given.emit(document.to_json())
    elif output.json is not None:
        write_whole(Path(output.json), document.to_json())
    show(lines([*said_of(document), *then]), sys.stderr if output.json == "-" else sys.stdout)
    return 0
