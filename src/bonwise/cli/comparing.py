"""``bonwise compare`` and ``bonwise watch``.

One set of picks against another, and the picks of production against a baseline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NOT_OF_LABELS, Output, Reading, shared_flags
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import PickKeywords

__all__ = ["compare", "watch"]


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
    from bonwise.comparing.front import compare as run

    keywords = reading.keywords()
    output.deliver(run(first, second, labels=labels, confidence=confidence, as_picked=as_picked, **keywords))
    return 0


_CODES = {"nothing moved": 0, "moved": 1, "too early": 3}


@shared_flags(NOT_OF_LABELS)
def watch(
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            help="Picks in the order of time, one file per day or with a time per line.", show_default=False
        ),
    ],
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="An audit (.json), or earlier picks; quote a pattern. Repeatable."),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Oracle labels of some picks: watches recovery.")] = None,
    by: Annotated[str | None, typer.Option(help="A period: file, hour, day, week, or a number of picks.")] = None,
    time: Annotated[str | None, typer.Option(help="Key of a line that holds its time.")] = None,
    first: Annotated[int | None, typer.Option(help="Periods of the log that are its own baseline [14].")] = None,
    judge: Annotated[str | None, typer.Option(help="The judge of an audit that holds several.")] = None,
    year: Annotated[int, typer.Option(help="Looks over which the chance of a false alarm is spent.")] = 365,
    reading: Reading[PickKeywords],
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = 0,
    output: Output,
) -> int:
    """Tell what moved in the picks of production.

    Watches ties, margins, order effect, unscored share, cost, length and, with labels, recovery. Made for a daily
    job: run it over the growing set of files.

    Exit codes: 0 nothing moved, 1 a signal moved, 3 too early to say.

    The columns named are those of the label file.
    """
    from bonwise.watching.front import baseline_files
    from bonwise.watching.front import watch as run
    from bonwise.watching.pick_log import files_of

    audit, earlier = baseline_files(baseline) if baseline else (None, ())
    output.refuse_overwriting(*dict.fromkeys((*files_of(files), *earlier, audit, labels)))
    result = run(
        files,
        baseline=baseline or None,
        labels=labels,
        by=by,
        time=time,
        first=first,
        judge=judge,
        year=year,
        confidence=confidence,
        seed=seed,
        **reading.keywords(),
    )
    output.deliver(result)
    return _CODES[result.verdict]
