from __future__ import annotations

import pandas as pd
import pytest

import bonwise as bw
from bonwise.report.page.pages import page
from bonwise.report.page.section import MOST_DRAWN
from bonwise.report.page.studies.requirements import requirements_sections
from bonwise.report.requirements_text import requirements_text
from report.page.page_documents import SCRIPT, table

DRAWING = "Quality needed for a wanted recovery"


def judged(names):
    """Return a table in which judges of several qualities scored the same prompts."""
    return pd.concat([table(judge=name, shift=at) for at, name in enumerate(names)], ignore_index=True)


def studied(names, **given):
    """Return the document of a study of some judges."""
    return bw.study_requirements(judged(names), **given).to_dict()


NAMES = [f"j{at}" for at in range(MOST_DRAWN + 1)]


def test_up_to_six_judges_are_drawn():
    """Each of six judges has a section with its curve."""
    sections = requirements_sections(studied(NAMES[:6]))
    assert [len(section.figures) for section in sections] == [1] * 6


def test_more_judges_stand_in_one_section_without_drawings():
    """Of seven judges none is drawn and the page says so; a table has a row a judge, with the document's figures."""
    document = studied(NAMES)
    (section,) = requirements_sections(document, drawn=False)
    assert section.anchor == "requirements"
    assert not section.figures
    assert "Nothing is drawn: up to 6 judges are." in page(document)
    over = section.tables[0]
    assert [row[0] for row in over.rows] == NAMES
    for row in over.rows:
        own = document["judges"][row[0]]["judge"]
        assert row[1] == f"{own['within_r']['estimate']:.3f}"
        assert row[2] == f"{own['recovery']['estimate']:.3f}"


def test_the_sentences_of_many_judges_stay():
    """Every sentence on every judge is on the page."""
    document = studied(NAMES)
    found = requirements_sections(document, drawn=False)[0].tables[-1]
    for (name, said), (judge, part) in zip(found.rows, document["judges"].items(), strict=True):
        assert name == judge
        assert all(sentence in said for sentence in part["sentences"])


def test_what_the_same_labels_take_stands_once():
    """Judges of the same prompts need the same: the targets, and what was asked for, have a row each."""
    _, targets, inverse, _ = requirements_sections(studied(NAMES, targets=[0.5, 0.8], within_r=[0.3]), drawn=False)[
        0
    ].tables
    assert [row[0] for row in targets.rows] == ["50%", "80%"]
    assert [row[0] for row in inverse.rows] == ["0.3"]
    assert targets.headers[0] == "recovery"
    assert inverse.headers[0] == "within_r"


@pytest.mark.parametrize("odd", [0, 6])
def test_what_other_labels_take_stands_with_the_judges_name(odd):
    """Where one judge scored fewer prompts each target has a row a judge; without a curve there is none of it."""
    frame = judged(NAMES)
    fewer = frame[(frame["judge"] != NAMES[odd]) | ~frame["prompt_id"].isin(["p1", "p2"])]
    _, targets, inverse, _ = requirements_sections(
        bw.study_requirements(fewer, targets=[0.5], within_r=[0.3]).to_dict(), drawn=False
    )[0].tables
    assert [tuple(row[:2]) for row in targets.rows] == [(name, "50%") for name in NAMES]
    assert [tuple(row[:2]) for row in inverse.rows] == [(name, "0.3") for name in NAMES]
    assert targets.headers[:2] == ("judge", "recovery")
    assert len({tuple(row[1:]) for row in targets.rows}) == 2
    one = frame[(frame["judge"] != NAMES[odd]) | (frame["prompt_id"] == "p0")]  # labels that are all equal
    _, targets, _ = requirements_sections(bw.study_requirements(one, targets=[0.5]).to_dict(), drawn=False)[0].tables
    assert [row[0] for row in targets.rows] == [name for name in NAMES if name != NAMES[odd]]


def test_many_judges_without_a_curve_have_words_alone():
    """Labels that never differ leave no targets to show."""
    (section,) = requirements_sections(
        bw.study_requirements(judged(NAMES).assign(oracle_label=0.5)).to_dict(), drawn=False
    )
    assert [one.title for one in section.tables][1:] == ["Found of each judge"]
    assert "needs a prompt where labels differ" in section.tables[-1].rows[0][1]


def test_the_page_of_a_study_of_many_judges_is_light(tmp_path):
    """Seven judges, one with a hostile name, give a page without a drawing in which the name is text."""
    bw.study_requirements(judged([*NAMES[:6], SCRIPT])).to_html(tmp_path / "page.html")
    shown = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert DRAWING not in shown
    assert SCRIPT not in shown
    assert "alert(1)" in shown
    assert "Nothing is drawn" in shown


def test_the_page_of_an_audit_of_many_judges_draws_no_curve():
    """Beside an audit of seven judges the study is one section without a curve; beside one judge it has its own."""
    alone, many = (page(bw.audit(judged(names)).to_dict(), studies=[studied(names)]) for names in (NAMES[:1], NAMES))
    assert DRAWING in alone
    assert DRAWING not in many
    assert 'id="requirements"' in many


def test_dropped_prompts_are_counted_with_their_noun():
    """The text says of what something was dropped."""
    frame = table().drop(index=[0, 4])
    text = requirements_text(bw.study_requirements(frame).to_dict())
    assert "dropped 1 prompt: " in text
