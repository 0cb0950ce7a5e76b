"""``bonwise study requirements``: what judge does a wanted recovery take?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["requirements"]


def requirements(
    file: Annotated[
        Path, typer.Argument(help="Scores (CSV, JSONL, Parquet, a folder of responses).", show_default=False)
    ],
    target: Annotated[
        list[float] | None,
        typer.Option(help="A wanted recovery (repeatable) [0.25, 0.5, 0.75, 0.9].", show_default=False),
    ] = None,
    within_r: Annotated[
        list[float] | None, typer.Option(help="What does a judge with this within_r recover? (repeatable)")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    oracle: Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")] = None,
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
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Find the within_r and the effective agreement that a wanted recovery takes on your labels.

    And the inverse: what a judge with a given within_r recovers, and how each judge of the table differs from it.
    """
    shape = given.forced_shape(rectangular, ragged)
    given.refuse_overwriting((file, labels), (json, html))
    from bonwise.auditing.studies.requirements import TARGETS, study_requirements
    from bonwise.data.scales import parse_scale
    from bonwise.report.requirements_text import requirements_parts

    document = study_requirements(
        file,
        labels=labels,
        oracle=oracle,
        exclude=given.names(exclude),
        targets=target or TARGETS,
        within_r=within_r or (),
        confidence=confidence,
        seed=seed,
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    ).to_dict()
    given.deliver(requirements_parts(document), document, json, html=html)
    return 0
