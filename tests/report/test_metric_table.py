from __future__ import annotations

import io

import pytest
from rich.console import Console

from auditing.tables import cohort
from bonwise.auditing.audit import audit
from bonwise.report.audit_text import audit_parts
from bonwise.report.metric_table import GROUPS, WIDE


def shown(document, width):
    """Return the lines of an audit on a plain console of some width."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    for part in audit_parts(document):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, WIDE, 160])
def test_each_metric_takes_one_line(width):
    """Whatever the width of the terminal, a metric and its interval stand on one line, once."""
    document = audit(cohort(60)).to_dict()
    lines = shown(document, width)
    for key, _ in (row for _, rows in GROUPS for row in rows):
        low = document["metrics"][key]["low"]
        (line,) = (line for line in lines if line.startswith(f"  {key} "))
        assert f"[{low:.3f}" in line


def test_a_narrow_terminal_keeps_the_reasons():
    """Where there is no room for meanings, why a metric has no estimate is still said."""
    document = audit(cohort(60).assign(judge_score=0.5)).to_dict()
    for width in (80, 140):
        text = " ".join(" ".join(shown(document, width)).split())
        assert "needs scores and labels that vary" in text
        assert "all prompts alike: bound" in text


def test_every_metric_of_the_document_is_shown():
    """The table names each metric of an audit and no other."""
    assert {key for _, rows in GROUPS for key, _ in rows} == set(audit(cohort(60)).metrics)
