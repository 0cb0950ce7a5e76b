"""``bonwise doctor``: what a file was taken for, what is odd about it, what to type next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["doctor"]


def doctor(
    file: Annotated[
        Path, typer.Argument(help="Scores: CSV, JSONL, Parquet or a folder of responses.", show_default=False)
    ],
    json: given.JsonTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    propensity_col: given.PropensityCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Check a file before an audit, and say what to type next."""
    given.refuse_overwriting((file,), (json,))
    from bonwise.auditing.doctor import diagnose
    from bonwise.data.scales import parse_scale

    document = diagnose(
        file,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, propensity_col),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    )
    given.deliver(document, json)
    return 0
