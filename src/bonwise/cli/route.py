"""``bonwise route``: which prompts are worth a stronger judge?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.arguments import say
from bonwise.cli.shared_flags import Output, Reading, shared_flags
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.reading_options import ReadingKeywords
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.routing.saved import SavedRouter

__all__ = ["route"]


@shared_flags()
def route(
    *,
    file: Annotated[
        Path, typer.Argument(help="Scores and labels: CSV, JSONL, Parquet or a folder.", show_default=False)
    ],
    share: Annotated[float, typer.Option(help="Part of the prompts to send on, between 0 and 1.")] = 0.25,
    save: Annotated[Path | None, typer.Option(help="Write the recommended router here, for bonwise select.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose router to save, where there are several judges.")] = None,
    reading: Reading[ReadingKeywords],
    first_pass_only: Annotated[
        bool, typer.Option("--first-pass-only", help="Leave repeated scores and other judges out of the signals.")
    ] = False,
    mean_calls: Annotated[
        float | None, typer.Option(help="Split so many calls per prompt between further draws and routing.")
    ] = None,
    strong_cost: Annotated[float | None, typer.Option(help="Price of routing one prompt, in calls.")] = None,
    confidence: given.Confidence = CONFIDENCE,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Choose which prompts a stronger judge should decide.

    Compares every routing signal with the gain of a perfect judge, and recommends one.
    """
    if judge is not None and save is None:
        raise UsageError("--judge says whose router to save, and none is saved", hint="give --save FILE too")
    output.refuse_overwriting(file, *reading.paths(), also=(save,))
    from bonwise.routing.study import route as run

    found = run(
        file,
        share=share,
        first_pass_only=first_pass_only,
        mean_calls=mean_calls,
        strong_cost=strong_cost,
        confidence=confidence,
        seed=seed,
        **reading.keywords(),
    )
    if save is not None:
        router = found.router(judge)
        router.save(save)
        for line in _about_production(save, router):
            say(line)
    output.deliver(found.document())
    return 0


def _about_production(save: Path, router: SavedRouter) -> Iterator[str]:
    """Warn of a signal that a first pass of one judge does not give."""
    if not router.beyond_first_pass:
        return
    yield (
        f"WARNING: {save} routes by {router.signal}, which needs {' and '.join(router.beyond_first_pass)}: "
        "pools that lack them in production are not sent"
    )
    yield "if production judges each candidate once, by one judge, add --first-pass-only"
