from __future__ import annotations

import json

import pytest

from auditing.tables import cohort, two_judges
from bonwise.auditing.studies.calibration import study_calibration
from bonwise.report.calibration_text import calibration_text
from bonwise.report.page.pages import page
from bonwise.report.page.studies.calibration import calibration_sections

HOSTILE = "<script>alert(1)</script> $x$ {{7*7}} \u202e=1+1\n"


@pytest.fixture(scope="module")
def document():
    """Study two judges, one of a hostile name, with a covariate of a hostile name."""
    frame = two_judges(40)
    frame["judge"] = frame["judge"].replace("first", HOSTILE)
    frame[HOSTILE] = range(len(frame))
    return json.loads(json.dumps(study_calibration(frame, covariates=HOSTILE).to_dict()))


def test_each_judge_has_a_section_with_figures_and_tables(document):
    """Two sections of distinct anchors, four figures and two tables each, the figures' words with their numbers."""
    sections = calibration_sections(document)
    assert [one.anchor for one in sections] == ["calibration-1", "calibration-2"]
    for one, judge in zip(sections, document["judges"].values(), strict=True):
        assert list(one.sentences) == judge["sentences"]
        titles = ["recovery", "within_r", "global_r", "sign_agreement"]
        assert [figure.title for figure in one.figures] == [f"Change of {title}" for title in titles]
        change = judge["methods"]["isotonic"]["changes"]["global_r"]["estimate"]
        assert f"isotonic {change:+.3f}" in one.figures[2].says
        assert all(len(row) == len(table.headers) for table in one.tables for row in table.rows)


def test_the_notes_say_which_intervals_take_the_maps_as_fixed(document):
    """Page and text name gradient boosting and the level; the other methods learn their maps again."""
    note = (
        "Intervals learn the maps again without each of 20 groups of prompts; those of the level and all of gradient "
        "boosting take the maps as fixed."
    )
    assert all(note in section.notes for section in calibration_sections(document))
    assert note in " ".join(calibration_text(document).split())
    plain = study_calibration(cohort(20)).to_dict()
    assert "10 groups of prompts; those of the level take" in " ".join(calibration_text(plain).split())


def test_hostile_names_stay_text(document):
    """Neither page nor text holds control characters, and no drawing holds a tag from a name."""
    for section in calibration_sections(document):
        assert "\u202e" not in section.title + "".join(section.notes)
        assert not any("<script" in figure.svg for figure in section.figures)
    assert "\u202e" not in calibration_text(document)


def test_what_is_unknown_is_drawn_and_said():
    """Constant scores leave correlations unknown: no drawing of them, one dash in the table, and words."""
    found = study_calibration(cohort(20).assign(judge_score=0.5)).to_dict()
    (section,) = calibration_sections(found)
    assert section.anchor == "calibration"
    assert "Change of within_r" not in [figure.title for figure in section.figures]
    assert any("within_r unknown" in sentence for sentence in section.sentences)
    relative = {row[1]: row[-1] for row in section.tables[0].rows}
    assert (relative["within_r"], relative["recovery"]) == ("-", "")
    assert "unknown" in calibration_text(found)


def test_one_method_without_a_figure_is_said_beside_the_drawing(document):
    """Where a change of one method has no figure its row has no dot, and the caption says why."""
    judge = dict(document["judges"]["second"])
    one = judge["methods"]["isotonic"]
    gone = {**one["changes"]["recovery"], "estimate": None, "low": None, "high": None, "reason": "no gain"}
    judge["methods"] = {
        **judge["methods"],
        "isotonic": {**one, "changes": {**one["changes"], "recovery": gone}},
    }
    figure = calibration_sections({**document, "judges": {"second": judge}})[0].figures[0]
    assert figure.title == "Change of recovery"
    assert "isotonic unknown, no gain" in figure.says
    assert "A row without a dot has no figure." in figure.says


def test_a_single_prompt_without_labels_lacks_them():
    """Of twelve prompts one without labels is told in the singular, on the page and in the text."""
    found = study_calibration(cohort(12, unlabelled=1)).to_dict()
    note = "from the labelled prompts alone; 1 lacks labels"
    assert note in calibration_text(found)
    assert f"{note.capitalize()}." in calibration_sections(found)[0].notes


def test_who_was_not_studied_and_what_was_dropped_is_told_once():
    """The page of every study tells both in one way, so the sections of this one do not; the text does."""
    frame = two_judges(20)
    few = frame["prompt_id"] > "p0000004"
    found = study_calibration(frame[~((frame["judge"] == "second") & few)]).to_dict()
    assert list(found["judges"]) == ["first"]
    assert [section.title for section in calibration_sections(found)] == ["Calibration"]
    assert "second is not studied" in calibration_text(found)
    assert page(found).count("5 folds need 10 labelled prompts") == 1
    dropped = study_calibration(cohort(20).drop(index=0)).to_dict()
    assert dropped["judges"]["judge"]["data"]["dropped"]
    assert not any("ropped" in note for note in calibration_sections(dropped)[0].notes)
