"""``bonwise doctor``: what a file was taken for, what is odd about it, what to type next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.shared_flags import JsonOutput, Reading, shared_flags
from bonwise.data.reading_options import TableKeywords

__all__ = ["doctor"]


@shared_flags()
def doctor(
    *,
    file: Annotated[
        Path, typer.Argument(help="Scores: CSV, JSONL, Parquet or a folder of responses.", show_default=False)
    ],
    output: JsonOutput,
    reading: Reading[TableKeywords],
) -> int:
    """Check a file before an audit, and say what to type next."""
    output.refuse_overwriting(file)
    from bonwise.auditing.doctor import doctor as look_over

    document = look_over(
        file,
        **reading.keywords(),
    )
    output.deliver(document)
    return 0
