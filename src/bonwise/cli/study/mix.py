"""``bonwise study mix``: what easy candidates do to the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["mix"]


def mix(
    file: Annotated[Path, typer.Argument(help="Scores (CSV, JSONL, Parquet, a folder).", show_default=False)],
    control: Annotated[
        list[str] | None, typer.Option(help="A candidate that is easy to tell apart (repeatable).")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    oracle: Annotated[str | None, typer.Option(help="judge:NAME takes a judge as the reference.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave a candidate name out (repeatable).")] = None,
    confidence: given.Confidence = 0.95,
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
    """Study how the figures rise as easy candidates enter the pools, the choice among the others being the same.

    The curve is calculated, not drawn: from the pools without the control to its pairs alone.
    """
    shape = given.forced_shape(rectangular, ragged)
    given.refuse_overwriting((file, labels), (json, html))
    from bonwise.auditing.studies.mix import study_mix
    from bonwise.data.scales import parse_scale
    from bonwise.report.mix_text import mix_parts

    document = study_mix(
        file,
        control=given.names(control),
        labels=labels,
        oracle=oracle,
        exclude=given.names(exclude),
        confidence=confidence,
        shape=shape,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    ).to_dict()
    given.deliver(mix_parts(document), document, json, html=html)
    return 0
