"""``bonwise study calibration``: would calibrating the judge's scores help selection?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["calibration"]


def calibration(
    file: Annotated[
        Path, typer.Argument(help="Scores (CSV, JSONL, Parquet, a folder of responses).", show_default=False)
    ],
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    oracle: Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(help="A numeric column, or length, that of the candidate's text (repeatable)."),
    ] = None,
    pools: Annotated[Path | None, typer.Option(help="Pools with the texts of the candidates.")] = None,
    folds: Annotated[int, typer.Option(help="Parts of the prompts, each calibrated by the others.")] = 5,
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
    """Calibrate the scores against the labels in four ways: what changes, and which picks."""
    shape = given.forced_shape(rectangular, ragged)
    given.refuse_overwriting((file, labels, pools), (json, html))
    from bonwise.auditing.studies.calibration import study_calibration
    from bonwise.data.scales import parse_scale
    from bonwise.report.calibration_text import calibration_parts

    document = study_calibration(
        file,
        labels=labels,
        oracle=oracle,
        exclude=given.names(exclude),
        covariates=given.names(covariate),
        pools=pools,
        folds=folds,
        confidence=confidence,
        seed=seed,
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    ).to_dict()
    given.deliver(calibration_parts(document), document, json, html=html)
    return 0
