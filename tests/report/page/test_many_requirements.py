from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort
from bonwise.errors import UsageError
from bonwise.report.metric_table import interval, number
from bonwise.report.page.many_requirements import many_requirements
from bonwise.report.page.section import MOST_DRAWN


def judges(count):
    """Return a table of some judges, each noisier than the one before."""
    frame, noise = cohort(20), np.random.default_rng(5)
    labels = frame["oracle_label"]
    noises = (at * noise.normal(size=len(frame)) / 5 for at in range(count))
    tables = [frame.assign(judge=f"j{at}", judge_score=(labels + one).clip(0, 1)) for at, one in enumerate(noises)]
    return pd.concat(tables, ignore_index=True)


def test_the_table_holds_the_figures_of_each_judge():
    """Each judge has one row with its recovery, that of plain noise and what is needed, and nothing is drawn."""
    document = bw.study_requirements(judges(8)).to_dict()
    section = many_requirements(document)
    (table,) = section.tables
    assert not section.figures
    for row, (name, judge) in zip(table.rows, document["judges"].items(), strict=True):
        own = judge["judge"]
        figures = [
            cell
            for key in ("recovery", "expected_recovery", "difference")
            for cell in (number(own[key]["estimate"]), interval(own[key]))
        ]
        needed = [number(one["within_r"]["estimate"]) for one in judge["targets"]]
        assert list(row) == [name, number(own["within_r"]["estimate"]), *figures, *needed]
        assert len(row) == len(table.headers)
    counts = [int(one) for one in re.findall(r"\d+", section.sentences[0])]
    assert counts[0] == 8
    assert sum(counts[1:]) == 8


def test_judges_without_a_figure_are_named():
    """Judges that have no figure, such as one that ties everything, are named with the reason, once each."""
    frame = judges(8)
    frame.loc[frame["judge"] == "j3", "judge_score"] = 0.5
    document = bw.study_requirements(frame).to_dict()
    told = " ".join(many_requirements(document).sentences[1:])
    found = {name: one["judge"]["expected_recovery"] for name, one in document["judges"].items()}
    without = {name: one["reason"] for name, one in found.items() if one["estimate"] is None}
    assert "j3" in without
    assert sorted(re.findall(r"\bj\d\b", told)) == sorted(without)
    assert all(reason in told for reason in without.values())


@pytest.mark.parametrize(("count", "drawn"), [(MOST_DRAWN, MOST_DRAWN), (MOST_DRAWN + 1, 0)])
def test_few_judges_are_drawn_and_many_are_not(tmp_path, count, drawn):
    """Up to the limit of the page each judge has its curve; of more there is one section, as the page says."""
    bw.audit(judges(count)).to_html(tmp_path / "a.html")
    shown = (tmp_path / "a.html").read_text("utf-8")
    assert shown.count("Quality needed for a wanted recovery</") == drawn
    assert shown.count("Judges and plain noise</") == (not drawn)
    assert (f"up to {MOST_DRAWN} judges are drawn in full" in shown) is (not drawn)


def test_one_result_shown_twice_has_addresses_of_its_own(tmp_path):
    """Each output of a notebook has its own ids, whatever it shows; a page is the same each time."""
    found = bw.audit(cohort(20))
    ids = [set(re.findall(r'<[^>]*?\bid="([^"]*)"', found._repr_html_())) for _ in range(2)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for name in ("a.html", "b.html"):
        found.to_html(tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_an_audit_is_no_part_of_a_page(tmp_path):
    """An audit beside an audit is refused, with what can stand there."""
    found = bw.audit(cohort(20))
    with pytest.raises(UsageError, match="has a page of its own") as refused:
        found.to_html(tmp_path / "a.html", also=[found])
    assert "also= takes studies, routes" in refused.value.hint


def test_one_of_each_is_said_in_the_singular():
    """One prompt of two candidates is one prompt."""
    assert "judge: 1 prompt x 4 candidates, 4 rows" in str(bw.audit(cohort(1)))
