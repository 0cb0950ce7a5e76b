"""The page of a study of shortlists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.report.metric_table import interval, interval_header, number
from bonwise.report.page.section import Section, Table

__all__ = ["shortlist_sections"]


def shortlist_sections(document: Mapping[str, Any], *, drawn: bool = True) -> list[Section]:
    """Return one section for all judges.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``shortlist``.
    drawn : bool
        Whether the sections have figures; this study has none.
    """
    del drawn
    headers = ("judge", "held", interval_header(document["settings"]["confidence"]))
    judges = document["judges"].items()
    rows = [(name, number(judge["held"]["estimate"]), interval(judge["held"])) for name, judge in judges]
    sentences = [sentence for _, judge in judges for sentence in judge["sentences"]]
    return [Section("Shortlists", "shortlist", sentences, tables=[Table(headers, rows)])]
