"""``bonwise monitor``: whether the labels that came in are enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Reading, shared_flags
from bonwise.errors import UsageError
from bonwise.table.checks import CONFIDENCE
from bonwise.table.reading_options import LabelledInOrderKeywords

if TYPE_CHECKING:
    from bonwise.monitoring.result import Describes, MonitorVerdict

__all__ = ["monitor"]


@shared_flags(NO_PROPENSITY)
def monitor(
    *,
    file: Annotated[
        Path, typer.Argument(help="Labels or votes, their rows in the order they came.", show_default=False)
    ],
    scores: Annotated[Path | None, typer.Option(help="Scores, where the label file holds none.")] = None,
    half_width: Annotated[float | None, typer.Option(help="Stop when recovery is known to this half-width.")] = None,
    significance: Annotated[
        bool, typer.Option("--significance", help="Stop when recovery is told apart from --than.")
    ] = False,
    question: Annotated[str | None, typer.Option(help="precision, significance or preference.")] = None,
    than: Annotated[float | None, typer.Option(help="Reference: a recovery [0], or a share of votes [0.5].")] = None,
    planned: Annotated[int | None, typer.Option(help="Labelled prompts that a fixed design would take.")] = None,
    first_look: Annotated[int | None, typer.Option(help="A later first look, in labelled prompts.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose picks, where the table has several judges.")] = None,
    reading: Reading[LabelledInOrderKeywords],
    design: Annotated[
        str | None,
        typer.Option(help="How prompts were drawn: uniform, or the file of bonwise labels draw --design uniform."),
    ] = None,
    verdict_col: Annotated[str | None, typer.Option(help="Column of the votes.")] = None,
    pair_col: Annotated[
        str | None, typer.Option(help="Columns of the two models, a,b, where they change places.")
    ] = None,
    ties: Annotated[str | None, typer.Option(help="How ties count: drop, half or pessimistic.")] = None,
    margin: Annotated[float | None, typer.Option(help="Expected distance of the share from one half [0.1].")] = None,
    control: Annotated[list[str] | None, typer.Option(help="An easy candidate: leave it out (repeatable).")] = None,
    keep_easy: Annotated[
        list[str] | None, typer.Option(help="An easy candidate that counts like any other (repeatable).")
    ] = None,
    confidence: given.Confidence = CONFIDENCE,
    output: JsonOutput,
) -> int:
    """Decide whether the labels so far are enough.

    You may run it after every label. Exit codes: 0 stop, precise enough or better; 1 stop, not better; 3 continue, or
    stop for the labelled prompts alone (many prompts lack labels, and --design does not say how they were drawn), or
    with an easy candidate that neither --control nor --keep-easy names.
    """
    output.refuse_overwriting(file, scores, None if design == "uniform" else design)
    asked = _question(question, half_width, significance, verdict_col)
    from bonwise.monitoring.front import monitor as run

    prompt = reading.values.get("--prompt-col") if asked == "preference" else None
    if prompt is not None:
        reading = reading.without("--prompt-col")  # of votes it is no column of a table of scores
    decided = run(
        file if scores is None else scores,
        question=asked,  # type: ignore[arg-type]  # checked where it is used
        label_file=None if scores is None else file,
        half_width=half_width,
        than=than,
        planned=planned,
        first_look=first_look,
        confidence=confidence,
        judge=judge,
        design=design,
        verdict_col=verdict_col,
        ties=ties,  # type: ignore[arg-type]  # checked where it is used
        pair=tuple(pair_col.split(",")) if pair_col else (),
        prompt=prompt,
        margin=margin,
        control=given.names(control),
        keep_easy=given.names(keep_easy),
        **reading.keywords(),
    )
    output.deliver(decided)
    return _exit_code(decided.verdict, decided.describes, suspected=decided.suspicions is not None)


def _exit_code(verdict: MonitorVerdict, describes: Describes, *, suspected: bool) -> int:
    # What is not better with an easy candidate is not better without it.
    if describes == "labelled prompts" or (suspected and verdict != "stop: not better"):
        return 3
    return {"continue": 3, "stop: not better": 1}.get(verdict, 0)


def _question(question: str | None, half_width: float | None, significance: bool, verdict_col: str | None) -> str:
    """Return what is asked, by name or by the flag that only one question has."""
    implied = [
        name
        for name, flag in (
            ("precision", half_width is not None),
            ("significance", significance),
            ("preference", verdict_col is not None),
        )
        if flag
    ]
    named = {*implied, *([question] if question else [])}
    if len(named) > 1:
        raise UsageError(f"{len(named)} questions at once: {', '.join(sorted(named))}", hint="ask one of them")
    if not named:
        raise UsageError(
            "what is to be decided was not said",
            hint="give --half-width 0.06, --significance, or --question preference --verdict-col winner",
        )
    return named.pop()
