"""``bonwise confidence``: what a judge says of its own confidence, compared with oracle labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given
from bonwise.cli.shared_flags import NO_PROPENSITY, JsonOutput, Reading, shared_flags
from bonwise.data.checks import CONFIDENCE
from bonwise.data.reading_options import LabelledKeywords

__all__ = ["confidence"]


@shared_flags(NO_PROPENSITY)
def confidence(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            help="Pairs of bonwise judge --pairs, a table of probability and outcome, or scores with low and high.",
            show_default=False,
        ),
    ],
    reading: Reading[LabelledKeywords],
    ties: Annotated[str, typer.Option(help="Pairs with equal labels: exclude or half.")] = "exclude",
    confidence: given.Confidence = CONFIDENCE,
    output: JsonOutput,
) -> int:
    """Audit the confidence that a judge states.

    Prints the calibration of probabilities, the accuracy by level and the coverage of intervals.
    """
    output.refuse_overwriting(file, *reading.paths())
    from bonwise.auditing.confidence import audit_confidence

    document = audit_confidence(
        file,
        ties=ties,  # type: ignore[arg-type]  # checked by the audit, with its own message
        confidence=confidence,
        **reading.keywords(),
    ).document()
    output.deliver(document)
    return 0
