"""``bonwise preferences``: pairwise verdicts held against oracle preferences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["preferences"]


def preferences(
    file: Annotated[Path, typer.Argument(help="Verdicts: CSV, JSONL or Parquet.", show_default=False)],
    verdict_col: Annotated[
        list[str],
        typer.Option(help="Column of the verdict; twice for two presentation orders.", show_default=False),
    ],
    label_col: Annotated[str, typer.Option(help="Column of the oracle's verdict.", show_default=False)],
    prompt_col: Annotated[
        str, typer.Option(help="Column of the pair's prompt; a,b joins columns, here and below.", show_default=False)
    ],
    judge_col: Annotated[str | None, typer.Option(help="Column of the judge's name.")] = None,
    context_col: Annotated[str | None, typer.Option(help="Column of the context.")] = None,
    pair_col: Annotated[
        str | None, typer.Option(help="Columns that tell the pairs of one prompt apart, where it has several.")
    ] = None,
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
) -> int:
    """Audit pairwise verdicts: agreement, split between and within contexts."""
    given.refuse_overwriting((file,), (json,))
    from bonwise.auditing.preferences import audit_preferences
    from bonwise.report.preference_text import preference_parts

    document = audit_preferences(
        file,
        verdicts=verdict_col,
        oracle=label_col,
        prompt=prompt_col.split(","),
        judge=judge_col.split(",") if judge_col else (),
        context=context_col.split(",") if context_col else (),
        pair=pair_col.split(",") if pair_col else (),
        confidence=confidence,
    ).to_dict()
    given.deliver(preference_parts(document), document, json)
    return 0
