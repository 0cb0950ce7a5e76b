"""The study of calibration in words, tables and drawings."""

from __future__ import annotations

import pandas as pd
import pytest

from auditing.tables import cohort, two_judges
from bonwise.report.blocks import Part, Table, drawings_of
from bonwise.report.numbers import count, estimate, with_interval
from bonwise.report.show import describe, drawings, markdown, notebook, page, text
from bonwise.studies.calibration.front import study_calibration
from documents.round_trips import read_back, refusal
from report.described.readers import HOSTILE, harmless, lost, words

DRAWN = ["recovery", "within_r", "global_r", "sign_agreement"]


@pytest.fixture(scope="module")
def document():
    """Study two judges, one of a hostile name, with a covariate of a hostile name."""
    frame = two_judges(40)
    frame["judge"] = frame["judge"].replace("first", HOSTILE)
    frame[HOSTILE] = range(len(frame))
    return study_calibration(frame, covariates=HOSTILE)


def of_judges(document):
    """Return the parts of the judges."""
    return [one for one in describe(document).blocks if isinstance(one, Part) and "labelled prompt" in one.title]


def shown(part, title):
    """Return the cells of a table of a part."""
    (table,) = (one for one in part.blocks if isinstance(one, Table) and one.title == title)
    return [row.cells for row in table.rows]


def test_each_judge_has_a_part_with_drawings_and_tables(document):
    """Four drawings and two tables per judge; captions, changes and picks are those of the document."""
    parts = of_judges(document)
    assert len(parts) == len(document.judges) == 2
    for part, judge in zip(parts, document.judges.values(), strict=True):
        drawn = list(drawings_of(part.blocks))
        assert [one.title for one in drawn] == [f"Change of {metric}" for metric in DRAWN]
        one = judge.methods["isotonic"]
        assert f"isotonic {with_interval(one.changes['global_r'], sign=True)}" in drawn[2].says
        rows = {cells[:2]: cells for cells in shown(part, "What calibrating changes")}
        assert rows["isotonic", "recovery"][2:5] == (
            estimate(judge.raw.metrics["recovery"], "share"),
            estimate(one.metrics["recovery"], "share"),
            estimate(one.changes["recovery"], "points", sign=True),
        )
        picks = {cells[0]: cells[1:] for cells in shown(part, "What becomes of the picks")}
        for method, found in judge.methods.items():
            every, untied = found.picks.all, found.picks.without_ties
            changed = (every.picks_changed, untied.picks_changed)
            others = (every.picks_newly_tied, every.ties_broken, every.prompts, untied.prompts)
            assert picks[method.replace("_", " ")] == (*map(count, changed), *map(count, others))
    assert len({one.key for one in drawings(document)}) == 8


def test_the_page_holds_what_the_text_holds(document, tmp_path):
    """Every word of the text is on the page; Markdown and the notebook are made; a loaded document says the same."""
    found = study_calibration(two_judges(40))
    assert not lost(found)
    assert markdown(found).startswith("## ")
    assert "<script" not in notebook(found)
    for one in (found, document):
        assert text(read_back(one, tmp_path)) == text(one)


def test_every_sentence_is_said_once():
    """The findings of the only judge are in the text, each once."""
    document = study_calibration(cohort(20))
    said = " ".join(text(document).split())
    for sentence in document.judges["judge"].sentences:
        assert said.count(sentence) == 1, sentence


def test_the_notes_say_which_intervals_take_the_maps_as_fixed(document):
    """Gradient boosting and the level are named; the other methods learn their maps again."""
    note = (
        "Intervals learn the maps again without each of 20 groups of prompts; those of the level and all of gradient "
        "boosting take the maps as fixed."
    )
    assert words(page(document)).count(note) == len(document.judges)
    assert note in " ".join(text(document).split())
    plain = " ".join(text(study_calibration(cohort(20))).split())
    assert "10 groups of prompts; those of the level take" in plain


def test_hostile_names_stay_text(document):
    """Judges and covariates are text wherever they are shown."""
    harmless(document)


def test_what_is_unknown_is_said():
    """Constant scores leave correlations unknown, which the findings say."""
    document = study_calibration(cohort(20).assign(judge_score=0.5))
    assert "within_r unknown" in " ".join(text(document).split())


def test_one_method_without_a_figure_is_said_beside_the_drawing(document):
    """Where a change of one method has no figure its row has no dot, and the caption says why."""
    judge = document.judges["second"]
    one = judge.methods["isotonic"]
    gone = one.changes["recovery"].model_copy(
        update={"estimate": None, "low": None, "high": None, "se": None, "reason": "no gain"}
    )
    method = one.model_copy(update={"changes": {**one.changes, "recovery": gone}})
    changed = judge.model_copy(update={"methods": {**judge.methods, "isotonic": method}})
    drawing = drawings(document.model_copy(update={"judges": {"second": changed}}))[0]
    assert drawing.title == "Change of recovery"
    assert "isotonic unknown, no gain" in drawing.says
    assert "A row without a dot has no figure." in drawing.says


def test_a_single_prompt_without_labels_lacks_them():
    """Of twelve prompts one without labels is told in the singular, and every metric has its star."""
    document = study_calibration(cohort(12, unlabelled=1))
    assert "from the labelled prompts alone; 1 lacks labels" in " ".join(text(document).split())
    (part,) = of_judges(document)
    assert all(cells[1].endswith(" *") for cells in shown(part, "What calibrating changes"))


def test_who_was_not_studied_and_what_was_dropped_is_told_once():
    """A judge with too few prompts is named with the reason, and dropped prompts are counted."""
    frame = two_judges(20)
    few = frame["prompt_id"] > "p0000004"
    document = study_calibration(frame[~((frame["judge"] == "second") & few)])
    assert list(document.judges) == ["first"]
    for said in (" ".join(text(document).split()), words(page(document))):
        assert said.count("second: 5 folds need 10 labelled prompts") == 1
    dropped = study_calibration(cohort(20).drop(index=0))
    assert sum(dropped.judges["judge"].data.dropped.values()) == 1
    assert text(dropped).count("dropped 1 prompt: ") == 1


def test_more_judges_than_are_drawn_have_tables_alone():
    """Of many judges every figure is in a table and none is drawn, which the page says."""
    frame = cohort(20)
    judged = [frame.assign(judge=f"j{at}") for at in range(12)]
    many = study_calibration(pd.concat(judged, ignore_index=True))
    assert drawings(many) == []
    assert "No judge is drawn" in words(page(many))
    assert text(many).count("What becomes of the picks") == 12


def test_counts_that_contradict_each_other_are_refused(document, tmp_path):
    """More picks cannot have changed than there are prompts, and no change is of a metric that is not there."""
    picks = "judges.second.methods.isotonic.picks.all.picks_changed"
    assert "more prompts are counted than there are" in refusal(document, tmp_path, picks, 41)
    metric = "judges.second.methods.isotonic.metrics.recovery"
    assert "recovery is not a metric" in refusal(document, tmp_path, metric, ...)
