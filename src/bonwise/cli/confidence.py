"""``bonwise confidence``: what a judge says of its own confidence, compared with oracle labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["confidence"]


def confidence(
    file: Annotated[
        Path,
        typer.Argument(
            help="Pairs of bonwise judge --pairs, a table of probability and outcome, or scores with low and high.",
            show_default=False,
        ),
    ],
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    ties: Annotated[str, typer.Option(help="Pairs with equal labels: exclude or half.")] = "exclude",
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
    prompt_col: given.PromptCol = None,
    candidate_col: given.CandidateCol = None,
    score_col: given.ScoreCol = None,
    label_col: given.LabelCol = None,
    judge_col: given.JudgeCol = None,
    judge_scale: given.ScoreScales = None,
    label_scale: given.LabelScale = None,
) -> int:
    """Audit the confidence that a judge states.

    Prints the calibration of probabilities, the accuracy by level and the coverage of intervals.
    """
    given.refuse_overwriting((file, labels), (json,))
    from bonwise.auditing.confidence import audit_confidence
    from bonwise.data.scales import parse_scale

    document = audit_confidence(
        file,
        labels=labels,
        ties=ties,  # type: ignore[arg-type]  # checked by the audit, with its own message
        confidence=confidence,
        columns=given.columns(prompt_col, candidate_col, score_col, label_col, judge_col, None),
        judge_scale=given.scales(judge_scale),
        label_scale=None if label_scale is None else parse_scale(label_scale),
    ).document()
    given.deliver(document, json)
    return 0
