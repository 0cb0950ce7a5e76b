"""``bonwise plan``: how many labels are enough?"""

from __future__ import annotations

from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, Output, Reading, shared_flags
from bonwise.data.checks import CONFIDENCE, SEED
from bonwise.data.reading_options import PilotKeywords

__all__ = ["plan"]


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
    from bonwise.planning.plans.plan import plan as run
    from bonwise.planning.plans.request import read_method

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
        method=read_method(method),
        label_cost=label_cost,
        judge_cost=judge_cost,
        raters=raters,
        icc=icc,
        one_cluster=one_cluster,
        tie_rate=tie_rate,
        seed=seed,
        **reading.keywords(),
    ).document()
    output.deliver(document)
    return 0
