from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from auditing.tables import cohort
from bonwise.auditing.audit import audit
from bonwise.report.audit_text import audit_parts
from bonwise.report.fitted import FittedTable
from bonwise.report.metric_table import GROUPS, WIDE


def shown(document, width):
    """Return the lines of an audit on a plain console of some width."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    for part in audit_parts(document):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def rendered(part, width):
    """Return one renderable as plain text."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(part)
    return stream.getvalue()


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


def test_several_judges_fit_eighty_columns():
    """On a narrow terminal columns give way whole: no name and no figure is cut short."""
    frame = pd.concat(
        [cohort(60).assign(judge=name) for name in ("local:consensus", "local:length", "local:lexical")]
    )
    text = shown(audit(frame).to_dict(), 80)
    assert not any("…" in line for line in text)
    assert sum("local:consensus" in line for line in text) >= 3


def test_a_fitted_table_drops_what_may_be_spared():
    """Spare columns go one by one, in their order, and only while the table is too wide."""
    table = FittedTable(("name", "a", "b", "c"), [["x" * 10, "1" * 10, "2" * 10, "3" * 10]], spare=("b", "a"))
    found = {width: rendered(table, width) for width in (80, 40, 28)}
    assert "2" * 10 in found[80]
    assert "2" * 10 not in found[40]
    assert "1" * 10 in found[40]
    assert "1" * 10 not in found[28]
    assert "3" * 10 in found[28]
