"""The page of a study of ways of asking: sections of every kind, names from files kept harmless."""

from __future__ import annotations

import pandas as pd
import pytest

from auditing.studies.pairwise_judges import verdicts
from bonwise.auditing.studies.label_strategy.study import study_label_strategy
from bonwise.auditing.studies.label_strategy.verdict_study import study_verdicts
from bonwise.report.label_strategy_text import label_strategy_text
from bonwise.report.page.studies.label_strategy import label_strategy_sections
from bonwise.testing import simulate

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}\u202eab"
SIMULATION = simulate("arena", n=60, seed=2)


@pytest.fixture(scope="module")
def study():
    """Study a judge with a hostile name."""
    return study_label_strategy(SIMULATION.frame().assign(judge=HOSTILE), verdicts=verdicts(SIMULATION))


def test_tables_and_drawings_hold_the_figures(study):
    """The figures of the document stand in the tables, a drawing shows recovery, another accuracy by gap."""
    document = study.to_dict()
    ways, pairs = label_strategy_sections(document)
    group = document["judges"][HOSTILE]["strategies"]["every_pair"]["strategies"]
    (table,) = ways.tables
    shown = {row[0]: row[table.headers.index("recovery")] for row in table.rows}
    assert shown["every pair"] == f"{group['pairwise']['metrics']['recovery']['estimate']:.3f}"
    assert len(table.rows) == len(group)
    assert [len(section.figures) for section in (ways, pairs)] == [1, 1]
    assert list(ways.sentences) == document["judges"][HOSTILE]["sentences"]
    assert any("input_tokens" in note for note in ways.notes)
    assert "tokens" not in table.headers  # a column of dashes says nothing


def test_a_hostile_judge_breaks_nothing(study):
    """A name with markup, template braces and a bidi control stays text."""
    page = study._repr_html_()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\u202e" not in label_strategy_text(study.to_dict())


def test_judges_of_verdicts_are_drawn_evenly():
    """Forty judges fill two drawings of twenty, the best first, and a table of agreement and one of orders."""
    rows = pd.DataFrame(
        [
            {"q": q, "who": f"{HOSTILE} {j}", "one": 1 + (q < j), "two": 1, "gold": 1}
            for j in range(40)
            for q in range(45)
        ]
    )
    study = study_verdicts(rows, verdicts=["one", "two"], oracle="gold", prompt=["q"], judge=["who"])
    (section,) = label_strategy_sections(study.to_dict())
    assert [figure.says.split(" of ")[1] for figure in section.figures] == ["judges 1 to 20", "judges 21 to 40"]
    assert [len(table.rows) for table in section.tables] == [40, 40]
    assert "56.7 % to 100.0 %" in section.sentences[0]
    assert all("<script" not in figure.svg for figure in section.figures)


def test_a_draw_has_a_table_of_strata():
    """A draw's page lists what was drawn of each stratum."""
    strata = [{"gap_of": "oracle", "stratum": "tie", "pairs": 1200, "drawn": 10}]
    document = {"kind": "draw", "settings": {}, "judges": {}, "strata": strata, "sentences": ["said"]}
    (section,) = label_strategy_sections(document)
    assert section.tables[0].rows == [("oracle gap", "tie", "1,200", "10")]
