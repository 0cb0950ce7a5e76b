"""``bonwise convert``: a file in any shape, as the table that every command reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, Reading, shared_flags
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
    force: given.Force = False,
) -> int:
    """Write the rows of a file of another tool as a table of scores.

    Every row whose prompt and candidate can be told is written; what an audit still lacks is said.
    """
    given.refuse_overwriting([file], [out], force=force)
    from bonwise.data.converting import convert as converted
    from bonwise.data.writing import csv_frame, write_whole
    from bonwise.printable import printable, shell_path
    from bonwise.report.blocks import Said
    from bonwise.report.console import show
    from bonwise.report.numbers import counted
    from bonwise.report.terminal import lines

    found = converted(file, **reading.keywords())
    write_whole(out, csv_frame(found.frame))
    rows, prompts = len(found.frame), found.frame["prompt_id"].astype(str).nunique()
    said = [Said("finding", f"{printable(str(out))}: {counted(rows, 'row')}, {counted(prompts, 'prompt')}")]
    if found.said:
        said.append(Said("note", f"read as {printable(found.said, longest=1000)}"))
    if found.left_out:
        said.append(Said("caveat", f"{counted(found.left_out, 'row')} without prompt or candidate left out"))
    said += [Said("caveat", f"an audit still lacks: {printable(one, longest=600)}") for one in found.lacks]
    show(lines([*said, Said("note", "Next:"), Said("command", f"bonwise doctor {shell_path(out)}")]), sys.stdout)
    return 0
