"""``bonwise compare``: two sets of picks, paired by prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(help="Picks, as bonwise select writes them.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Other picks of the same prompts.", show_default=False)],
    labels: Annotated[Path, typer.Option(help="Oracle labels, joined on prompt and candidate.", show_default=False)],
    as_picked: Annotated[
        bool, typer.Option("--as-picked", help="What the seed drew among equals, not its expectation.")
    ] = False,
    rectangular: Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")] = False,
    ragged: Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")] = False,
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
    html: given.HtmlTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    label_col: given.LabelCol = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Compare two sets of picks.

    Prints value, gain and recovery of each, what they cost, and the differences with intervals.

    The columns named are those of the label file.
    """
    shape = given.forced_shape(rectangular, ragged)
    given.refuse_overwriting((first, second, labels), (json, html))
    from bonwise.auditing.compare import compare as run
    from bonwise.data.scales import parse_scale

    document = run(
        first,
        second,
        labels=labels,
        confidence=confidence,
        shape=shape,
        as_picked=as_picked,
        columns=given.columns(prompt_col, candidate_col, None, label_col, None, None),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    ).document()
    given.deliver(document, json, html=html)
    return 0
