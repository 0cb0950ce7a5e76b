"""``bonwise plan`` and ``bonwise monitor``: how many labels are enough, before the first one and as they come in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Output, Reading, shared_flags
from bonwise.errors import UsageError
from bonwise.table.checks import CONFIDENCE, SEED
from bonwise.table.reading_options import LabelledInOrderKeywords, PilotKeywords

if TYPE_CHECKING:
    from bonwise.monitoring.result import Describes, MonitorVerdict

__all__ = ["monitor", "plan"]


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


@shared_flags(NO_PROPENSITY)
def plan(
    *,
    question: Annotated[
        str,
        typer.Option(
            help="'recovery>0', recovery, 'within_r>=0.4', a-vs-b, margin or equivalence.", show_default=False
        ),
    ],
    candidates: Annotated[int | None, typer.Option(help="Candidates per prompt.")] = None,
    within_r: Annotated[float | None, typer.Option(help="Within-prompt correlation of score and label.")] = None,
    rival_r: Annotated[float | None, typer.Option(help="The same of judge B.")] = None,
    error_correlation: Annotated[
        float | None, typer.Option(help="Of the two judges' errors within a prompt; 0.5 where none is given.")
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="Preference margin P(win) - 1/2, or bound of equivalence.")
    ] = None,
    half_width: Annotated[float | None, typer.Option(help="Of the interval of the recovery.")] = None,
    r0: Annotated[float | None, typer.Option(help="Threshold of within_r>=r0.")] = None,
    pilot: Annotated[
        str | None,
        typer.Option(help="In place of an effect: a labelled table, a file of votes, or votes such as 28/50."),
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Which judge of the pilot; twice for a-vs-b, A first.")
    ] = None,
    reading: Reading[PilotKeywords],
    design: Annotated[
        str | None, typer.Option(help="two_label or complete; discordant or discordant_preference for a-vs-b.")
    ] = None,
    labels: Annotated[int | None, typer.Option(help="Labels that can be had; decides the verdict.")] = None,
    prompts: Annotated[int | None, typer.Option(help="Prompts that can be had; decides the verdict.")] = None,
    power: Annotated[float, typer.Option(help="Probability of finding the effect.")] = 0.9,
    confidence: Annotated[float, typer.Option(help="Of the test or the interval.")] = CONFIDENCE,
    method: Annotated[str, typer.Option(help="For votes: exact, or paper (equation 8).")] = "exact",
    label_cost: Annotated[float | None, typer.Option(help="Price of a label.")] = None,
    judge_cost: Annotated[float | None, typer.Option(help="Price of one score of one judge.")] = None,
    raters: Annotated[int, typer.Option(help="Raters per candidate, or votes per prompt.")] = 1,
    icc: Annotated[float | None, typer.Option(help="Correlation of two raters' labels of one prompt.")] = None,
    one_cluster: Annotated[
        bool, typer.Option("--one-cluster", help="All labels resemble each other by --icc (equation 10).")
    ] = False,
    tie_rate: Annotated[float | None, typer.Option(help="Share of votes that decide nothing.")] = None,
    verdict_col: Annotated[str | None, typer.Option(help="Column of the pilot's votes.")] = None,
    pair_col: Annotated[
        str | None, typer.Option(help="Columns of the two models of a vote, a,b [model_a,model_b].")
    ] = None,
    ties: Annotated[
        str | None, typer.Option(help="How ties of the pilot count: drop, half or pessimistic (against the first).")
    ] = None,
    seed: given.Seed = SEED,
    output: Output,
) -> int:
    """Plan how many labels answer a question.

    Takes an assumed effect or a pilot. The exit code is 0 even if the study is underpowered or infeasible.
    """
    output.refuse_overwriting(pilot)
    from bonwise.planning.front import plan as run

    document = run(
        question=question,
        candidates=candidates,
        within_r=within_r,
        rival_r=rival_r,
        error_correlation=error_correlation,
        effect=effect,
        half_width=half_width,
        r0=r0,
        pilot=pilot,
        judge=given.names(judge),
        verdict_col=verdict_col,
        pair_col=tuple(pair_col.split(",")) if pair_col else (),
        ties=ties,  # type: ignore[arg-type]  # checked where it is used
        design=design,
        labels=labels,
        prompts=prompts,
        power=power,
        confidence=confidence,
        method=method,  # type: ignore[arg-type]  # checked where it is used
        label_cost=label_cost,
        judge_cost=judge_cost,
        raters=raters,
        icc=icc,
        one_cluster=one_cluster,
        tie_rate=tie_rate,
        seed=seed,
        **reading.keywords(),
    )
    output.deliver(document)
    return 0
