"""``bonwise study shortlist``: would a few of the highest scores do for a closer look?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bonwise.cli import arguments as given

__all__ = ["shortlist"]


def shortlist(
    file: Annotated[Path, typer.Argument(help="Scores (CSV, JSONL, Parquet, a folder).", show_default=False)],
    keep: Annotated[int, typer.Option(help="Places on the shortlist.")] = 2,
    labels: Annotated[Path | None, typer.Option(help="Oracle labels, joined on prompt and candidate.")] = None,
    confidence: given.Confidence = 0.95,
    json: given.JsonTarget = None,
    html: given.HtmlTarget = None,
) -> int:
    """Study how often the highest scores of a judge hold a best candidate."""
    given.refuse_overwriting((file, labels), (json, html))
    from bonwise.auditing.studies.shortlist import study_shortlist
    from bonwise.report.shortlist_text import shortlist_parts

    document = study_shortlist(file, keep=keep, labels=labels, confidence=confidence).to_dict()
    given.deliver(shortlist_parts(document), document, json, html=html)
    return 0
