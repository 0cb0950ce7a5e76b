"""``bonwise monitor``: labels as they come in, go on or stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.documents.monitor import Describes, MonitorVerdict

__all__ = ["monitor"]


def monitor(
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
    exclude: Annotated[list[str] | None, typer.Option(help="Candidate to leave out (repeatable).")] = None,
    design: Annotated[
        str | None,
        typer.Option(help="How prompts were drawn: uniform, or the file of bonwise labels draw --design uniform."),
    ] = None,
    rectangular: Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")] = False,
    ragged: Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")] = False,
    verdict_col: Annotated[str | None, typer.Option(help="Column of the votes.")] = None,
    pair_col: Annotated[
        str | None, typer.Option(help="Columns of the two models, a,b, where they change places.")
    ] = None,
    ties: Annotated[str | None, typer.Option(help="How ties count: drop, half or pessimistic.")] = None,
    margin: Annotated[float | None, typer.Option(help="Expected distance of the share from one half [0.1].")] = None,
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Decide whether the labels so far are enough.

    You may run it after every label. Exit codes: 0 stop, precise enough or better; 1 stop, not better; 3 continue, or
    stop for the labelled prompts alone (many prompts lack labels, and --design does not say how they were drawn).
    """
    shape = given.forced_shape(rectangular, ragged)
    given.refuse_overwriting((file, scores, None if design == "uniform" else design), (json,))
    asked = _question(question, half_width, significance, verdict_col)
    from bonwise.data.scales import parse_scale
    from bonwise.planning.monitoring.monitor import monitor as run

    of_votes = asked == "preference"
    document = run(
        file if scores is None else scores,
        question=asked,  # type: ignore[arg-type]  # checked where it is used
        label_file=None if scores is None else file,
        half_width=half_width,
        than=than,
        planned=planned,
        first_look=first_look,
        confidence=confidence,
        judge=judge,
        exclude=given.names(exclude),
        shape=shape,
        columns=given.columns(None if of_votes else prompt_col, candidate_col, score_col, label_col, judge_col, None),
        label_scale=None if label_scale is None else parse_scale(label_scale),
        design=design,
        verdict_col=verdict_col,
        ties=ties,  # type: ignore[arg-type]  # checked where it is used
        pair=tuple(pair_col.split(",")) if pair_col else (),
        prompt=prompt_col if of_votes else None,
        margin=margin,
    ).document()
    given.deliver(document, json)
    return _exit_code(document.verdict, document.describes)


def _exit_code(verdict: MonitorVerdict, describes: Describes) -> int:
    if describes == "labelled prompts":
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
