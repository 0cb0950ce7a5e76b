"""``bonwise route``: which prompts are worth a stronger judge?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.errors import UsageError

__all__ = ["route"]


def route(
    file: Annotated[
        Path, typer.Argument(help="Scores and labels: CSV, JSONL, Parquet or a folder.", show_default=False)
    ],
    share: Annotated[float, typer.Option(help="Part of the prompts to send on, between 0 and 1.")] = 0.25,
    save: Annotated[Path | None, typer.Option(help="Write the recommended router here, for bonwise select.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose router to save, where there are several judges.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    oracle: Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")] = None,
    first_pass_only: Annotated[
        bool, typer.Option("--first-pass-only", help="Leave repeated scores and other judges out of the signals.")
    ] = False,
    mean_calls: Annotated[
        float | None, typer.Option(help="Split so many calls per prompt between further draws and routing.")
    ] = None,
    strong_cost: Annotated[float | None, typer.Option(help="Price of routing one prompt, in calls.")] = None,
    confidence: given.Confidence = 0.95,
    seed: given.Seed = 0,
    rectangular: Annotated[bool, typer.Option("--rectangular", help="Every prompt must carry all names.")] = False,
    ragged: Annotated[bool, typer.Option("--ragged", help="A shorter pool is a pool.")] = False,
    json: given.JsonTarget = None,
    html: given.HtmlTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    propensity_col: given.PropensityCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Choose which prompts a stronger judge should decide.

    Compares every routing signal with the gain of a perfect judge, and recommends one.
    """
    shape = given.forced_shape(rectangular, ragged)
    if judge is not None and save is None:
        raise UsageError("--judge says whose router to save, and none is saved", hint="give --save FILE too")
    given.refuse_overwriting((file, labels), (json, html, save))
    from bonwise.data.scales import parse_scale
    from bonwise.routing.study import route as run

    found = run(
        file,
        share=share,
        labels=labels,
        oracle=oracle,
        exclude=given.names(exclude),
        first_pass_only=first_pass_only,
        mean_calls=mean_calls,
        strong_cost=strong_cost,
        confidence=confidence,
        seed=seed,
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, propensity_col),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    )
    if save is not None:
        found.save(save, judge)
    given.deliver(found.document(), json, html=html)
    return 0
