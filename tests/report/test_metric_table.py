from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from auditing.tables import cohort
from bonwise.auditing.audit import audit
from bonwise.report.audit_text import audit_parts
from bonwise.report.metric_table import GROUPS


def shown(document, width):
    """Return the lines of an audit on a terminal of some width."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system=None)
    for part in audit_parts(document):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 104, 160])
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


def test_a_narrow_terminal_says_what_it_leaves_out():
    """Where meanings, counts or intervals give way they are named below the table, and at no other width."""
    document = audit(cohort(60)).to_dict()
    assert not any(line.startswith("left out for want of room") for line in shown(document, 160))
    assert "left out for want of room: what it says; widen the terminal or use --json" in shown(document, 80)
    text = " ".join(shown(document, 50))
    assert "left out for want of room: 95% interval, n, what it says;" in text
    assert "effective_agreement_decided" in text


def test_balance_gives_way_to_its_difference():
    """Of labelled against unlabelled prompts the difference and its interval stay on a narrow terminal."""
    frame = cohort(100, unlabelled=30)
    text = "\n".join(shown(audit(frame).to_dict(), 60))
    table = text[text.index("Labelled against") :]
    assert "left out for want of room: labelled, unlabelled;" in table
    assert "[" in next(line for line in table.splitlines() if line.startswith("margin of the top score"))
