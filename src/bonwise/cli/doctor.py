"""``bonwise doctor``: what a file was taken for, what is odd about it, what to type next."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli.shared_flags import JsonOutput, Reading, shared_flags
from bonwise.data.reading_options import LabelledKeywords
from bonwise.printable import printable

__all__ = ["doctor"]


@shared_flags()
def doctor(
    *,
    file: Annotated[
        Path, typer.Argument(help="Scores: CSV, JSONL, Parquet or a folder of responses.", show_default=False)
    ],
    output: JsonOutput,
    reading: Reading[LabelledKeywords],
) -> int:
    """Check a file before an audit, and say what to type next."""
    output.refuse_overwriting(file, *reading.paths())
    from bonwise.auditing.doctor import doctor as look_over
    from bonwise.errors import InputError

    try:
        document = look_over(file, **reading.keywords())
    except InputError:
        # Standard output belongs to the error where it goes there as JSON.
        if output.json != "-":
            _show_columns(file, reading.keywords().get("columns") or {})
        raise
    output.deliver(document)
    return 0


def _show_columns(file: Path, columns: Mapping[str, str]) -> None:
    """Print what the columns hold of a file that cannot be read as a table of scores."""
    from bonwise.auditing.doctor import columns_of
    from bonwise.errors import BonwiseError
    from bonwise.report.blocks import Part
    from bonwise.report.console import show
    from bonwise.report.described.doctor import described_columns
    from bonwise.report.terminal import renderables

    with suppress(BonwiseError):
        part = Part(printable(str(file)), list(described_columns(columns_of(file, **columns))))
        show(renderables(part), sys.stdout)
