from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing.studies.requirements import study_requirements
from bonwise.report.page.pages import page
from bonwise.report.page.studies.requirements import requirements_sections
from bonwise.testing import simulate

HOSTILE = "_$x^2$<script>alert(1)</script>\u202e{{ 7*7 }}"


@pytest.fixture(scope="module")
def frame():
    """Simulate a table."""
    return simulate("arena", n=100, seed=6).frame()


def test_the_figure_marks_the_judge_on_the_curve(frame):
    """One section, with the sentences, the curve with the judge's name in its legend, and both tables."""
    document = study_requirements(frame, within_r=[0.31]).to_dict()
    (section,) = requirements_sections(document)
    judge = document["judges"]["judge"]
    assert section.anchor == "requirements"
    assert list(section.sentences) == judge["sentences"]
    (figure,) = section.figures
    assert figure.svg.startswith("<svg")
    assert ">judge</text>" in figure.svg
    assert f"recovery {judge['judge']['recovery']['estimate']:.3f}" in figure.says
    assert f"a recovery of {judge['judge']['expected_recovery']['estimate']:.3f}" in figure.says
    assert [row[0] for row in section.tables[0].rows] == ["25%", "50%", "75%", "90%"]
    assert section.tables[1].rows[0][0] == "0.31"


def test_names_cannot_break_the_drawing(frame):
    """A name full of markup, formulas and bidi controls stands in the legend as text, in words written out."""
    several = pd.concat([frame.assign(judge=HOSTILE), frame.assign(judge="other", judge_score=0.5)])
    first, second = requirements_sections(study_requirements(several).to_dict())
    assert "<script" not in first.figures[0].svg
    assert "_$x^2$&lt;script" in first.figures[0].svg
    for shown in (first.title, first.figures[0].says):
        assert shown.isprintable()
    assert (first.anchor, second.anchor) == ("requirements-0", "requirements-1")
    assert "The diamond" not in second.figures[0].says


def test_labels_without_spread_leave_a_section_of_words(frame):
    """Without a curve there is nothing to draw, and the reason is said."""
    (section,) = requirements_sections(study_requirements(frame.assign(oracle_label=0.5)).to_dict())
    assert not section.figures
    assert not section.tables
    assert "needs a prompt where labels differ" in section.sentences[0]


def test_who_was_not_studied_is_told_once(frame):
    """The page of every study names a judge without a labelled prompt, so the sections of this one do not."""
    other = frame.assign(judge="other", oracle_label=np.nan, prompt_id="x" + frame["prompt_id"])
    document = study_requirements(pd.concat([frame.assign(judge="one"), other])).to_dict()
    assert [section.anchor for section in requirements_sections(document)] == ["requirements"]
    assert page(document).count("no prompt that it scored completely has labels") == 1
