"""``bonwise monitor``: whether the labels that came in are enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bonwise.cli.shared_flags import TableOutput, TypedCall, shared_flags
from bonwise.errors import UsageError
from bonwise.monitoring.front import monitor as decide
from bonwise.table import reading_options

if TYPE_CHECKING:
    from bonwise.monitoring.result import Describes, MonitorVerdict


@shared_flags(reading_options.NO_PROPENSITY, of=decide)
def monitor(
    *,
    call: TypedCall,
    scores: Annotated[Path | None, typer.Option(help="Scores, where the label file holds none.")] = None,
    significance: Annotated[
        bool, typer.Option("--significance", help="Stop when recovery is told apart from --than.")
    ] = False,
    question: Annotated[str | None, typer.Option(help="precision, significance or preference.")] = None,
    output: TableOutput,
) -> int:
    """Decide whether the labels so far are enough.

    You may run it after every label. Exit codes: 0 stop, precise enough or better; 1 stop, not better; 3 continue, or
    stop for the labelled prompts alone (many prompts lack labels, and --design does not say how they were drawn), or
    with candidates that neither --control nor --keep-easy names: an easy one, or outstanding ones that carry it.
    """
    file, design, half_width = (call.values[name] for name in ("source", "design", "half_width"))
    output.refuse_overwriting(file, scores, None if design == "uniform" else design)
    asked: dict[str, Any] = {"question": _question(question, half_width, significance, call.values["verdict_col"])}
    if scores is not None:
        asked |= {"source": scores, "label_file": file}
    prompt = call.reading.values.get("--prompt-col") if asked["question"] == "preference" else None
    if prompt is not None:  # of votes it is no column of a table of scores
        call = replace(call, reading=call.reading.without("--prompt-col"))
        asked["prompt_col"] = prompt
    decided = call.run(**asked)
    output.deliver(decided)
    return _exit_code(decided.verdict, decided.describes, suspected=decided.suspicions is not None)


def _exit_code(verdict: MonitorVerdict, describes: Describes, *, suspected: bool) -> int:
    # What is not better with easy or outstanding candidates is not better without them.
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
