"""``bonwise compare``: two sets of picks, paired by prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NOT_OF_LABELS, Output, Reading, shared_flags
from bonwise.data.checks import CONFIDENCE
from bonwise.data.reading_options import PickKeywords

__all__ = ["compare"]


@shared_flags(NOT_OF_LABELS)
def compare(
    *,
    first: Annotated[Path, typer.Argument(help="Picks, as bonwise select writes them.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Other picks of the same prompts.", show_default=False)],
    labels: Annotated[Path, typer.Option(help="Oracle labels, joined on prompt and candidate.", show_default=False)],
    as_picked: Annotated[
        bool, typer.Option("--as-picked", help="What the seed drew among equals, not its expectation.")
    ] = False,
    reading: Reading[PickKeywords],
    confidence: given.Confidence = CONFIDENCE,
    output: Output,
) -> int:
    """Compare two sets of picks.

    Prints value, gain and recovery of each, what they cost, and the differences with intervals.

    The columns named are those of the label file.
    """
    output.refuse_overwriting(first, second, labels)
    from bonwise.auditing.compare import compare as run

    document = run(
        first,
        second,
        labels=labels,
        confidence=confidence,
        as_picked=as_picked,
        **reading.keywords(),
    ).document()
    output.deliver(document)
    return 0
