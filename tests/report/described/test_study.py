from __future__ import annotations

import re

import pytest

from auditing.tables import cohort
from bonwise.report.blocks import Part, Said, Table, drawings_of
from bonwise.report.numbers import estimate, number
from bonwise.report.show import markdown, notebook, page, text
from bonwise.studies.calibration.front import study_calibration
from bonwise.studies.mix.front import study_mix
from bonwise.studies.requirements.front import study_requirements
from bonwise.studies.view import describe, described
from documents.studied import RESULTS, controlled, judged, result
from report.described.readers import HOSTILE, harmless, lost, words

SEVEN = [f"j{at}" for at in range(7)]


def flat(part):
    """Yield every block of a description."""
    for block in part.blocks:
        yield block
        if isinstance(block, Part):
            yield from flat(block)


def tables(document):
    """Return the tables of a description by title."""
    return {one.title: one for one in flat(describe(document)) if isinstance(one, Table)}


def said(document):
    """Return every sentence of a description, in one line each."""
    return [one.text for one in flat(describe(document)) if isinstance(one, Said)]


@pytest.mark.parametrize("name", RESULTS)
def test_every_reader_sees_the_same(name, tmp_path):
    """Each word of the text is on the page; Markdown and notebook are made; no two drawings share a key."""
    document = result(name, tmp_path)
    assert not lost(document)
    assert markdown(document).startswith("## ")
    assert notebook(document)
    keys = [one.key for one in drawings_of(describe(document).blocks)]
    assert len(keys) == len(set(keys))
    assert bool(keys) == (name != "draw")


@pytest.mark.parametrize("name", RESULTS)
def test_the_sentences_of_the_document_are_said_once(name, tmp_path):
    """Each finding stands once in the text, and once in the description of the page."""
    document = result(name, tmp_path)
    found = [one for judge in document.judges.values() for one in judge["sentences"]] if name != "draw" else []
    found += getattr(document, "sentences", [])
    assert found
    shown = " ".join(text(document).split())
    for sentence in dict.fromkeys(found):
        assert shown.count(" ".join(sentence.split())) == found.count(sentence)
        assert said(document).count(sentence) == found.count(sentence)


def test_every_target_has_its_figures(tmp_path):
    """A row per target and per within_r has the figures of the document; the diamond is where the judge stands."""
    document = result("requirements", tmp_path)
    judge = document.judges["a"]
    needed = tables(document)["Needed for a wanted recovery"]
    assert [row.cells[0] for row in needed.rows] == ["25%", "50%", "75%", "90%"]
    half = judge.targets[1]
    assert needed.rows[1].cells[1] == estimate(half.within_r)
    assert needed.rows[1].cells[3] == estimate(half.effective_agreement, "share")
    (row,) = tables(document)["Recovered by a judge of plain noise"].rows
    assert row.cells[0] == "0.3"
    drawing = next(drawings_of(describe(document).blocks))
    assert f"recovery {estimate(judge.judge.recovery, 'share')}" in drawing.says
    assert list(drawing.to_frame()["what"]) == ["curve"] * len(judge.curve) + ["target"] * 4 + ["a"]


def test_another_judge_as_reference_is_not_called_an_oracle():
    """What stands in for the labels is not an oracle and no label."""
    frame = judged("ab").drop(columns="oracle_label")
    document = study_requirements(frame, oracle="judge:b")
    assert "label" not in text(document).replace(" on the labels of table", "")
    mixed = study_mix(controlled(judged("ab")).drop(columns="oracle_label"), control="bad", oracle="judge:b")
    assert "value_reference" in text(mixed)
    assert "oracle" not in text(mixed)


def test_labels_that_never_differ_have_no_table():
    """Without a curve there are words alone."""
    document = study_requirements(cohort(20).assign(oracle_label=0.5))
    assert "needs a prompt where labels differ" in text(document)
    assert "Needed for a wanted recovery" not in tables(document)
    assert list(drawings_of(describe(document).blocks)) == []


def test_the_curve_of_mixed_difficulty_is_thinned():
    """Every second point of the first leg stands there, all pools among them, and each of the second."""
    document = study_mix(controlled(cohort(30)), control="bad")
    names = [row.cells[0] for row in tables(document)["The curve"].rows]
    assert names[:6] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert names[6:] == [*(f"all + {at}0%" for at in range(1, 10)), "easy alone"]


def test_an_interval_of_prompts_all_alike_is_explained():
    """Metrics that no prompt changed share one note, which names the prompts behind the exact bound."""
    document = study_mix(controlled(cohort(30)), control="bad")
    change = document.judges["judge"].change
    names = {name for name, one in change.items() if one.interval == "exact"}
    (note,) = (one for one in said(document) if one.endswith("no prompt changed: exact bound of 30 prompts"))
    assert set(note.partition(":")[0].split(", ")) == names
    assert "value_oracle" in names


def test_a_metric_without_figures_is_a_dash():
    """Of a judge that ties everything what has figures is drawn, and the reason is told."""
    document = study_mix(controlled(cohort(30)).assign(judge_score=0.5), control="bad")
    drawing = next(drawings_of(describe(document).blocks))
    assert "global_r - to -" in drawing.says
    assert set(drawing.to_frame()["line"]) == {"effective_agreement"}
    assert any("scores and labels that vary" in one for one in said(document))


def test_changes_of_calibrating_have_rows_and_drawings(tmp_path):
    """Each method and metric has a row; what was drawn is said with its figures."""
    document = result("calibration", tmp_path)
    judge = document.judges["b"]
    rows = tables(document)["What calibrating changes"].rows
    assert len(rows) == 9 * len(judge.methods)
    drawing = next(one for one in drawings_of(describe(document).blocks) if one.key == "calibration-2-global-r")
    assert f"isotonic {estimate(judge.methods['isotonic'].changes['global_r'], sign=True)}" in drawing.says
    assert any("those of the level take the maps as fixed" in one for one in said(document))


def test_a_change_without_a_figure_is_said():
    """Constant scores leave correlations unknown: a dash in the table, no drawing, and words."""
    document = study_calibration(cohort(20).assign(judge_score=0.5))
    rows = {row.cells[1]: row.cells for row in tables(document)["What calibrating changes"].rows}
    assert rows["within_r"][6:] == ("-", "-")
    assert rows["recovery"][6:] == ("", "")
    assert "Change of within_r" not in [one.title for one in drawings_of(describe(document).blocks)]


@pytest.mark.parametrize("scale", [1, 1e-4])
def test_gains_have_the_same_decimals_whatever_their_size(scale):
    """Gains per call are plain numbers; where labels are of a ten-thousandth they do not vanish."""
    from auditing.studies.pairwise_judges import verdicts  # noqa: PLC0415
    from bonwise.studies.label_strategy.front import study_label_strategy  # noqa: PLC0415
    from documents.studied import SIMULATION  # noqa: PLC0415

    scores = SIMULATION.frame()
    scores["oracle_label"] *= scale
    document = study_label_strategy(scores, verdicts=verdicts(SIMULATION))
    table = next(one for title, one in tables(document).items() if title.startswith("Best of n"))
    at = [column.title for column in table.columns].index("gain / call")
    cells = [row.cells[at] for row in table.rows]
    if scale < 1:
        assert all(re.fullmatch(r"-?\d\.\d\de-\d\d", cell) for cell in cells), cells
    else:
        assert all(re.fullmatch(r"-?0\.\d{4}", cell) for cell in cells), cells
    assert len(set(cells)) > 3
    assert "tokens" not in [column.title for column in table.columns]  # a column of dashes says nothing


def test_accuracy_by_gap_says_over_how_many_decided_pairs(tmp_path):
    """Beside the pairs that scores tie stand those that verdicts decide."""
    document = result("strategies", tmp_path)
    where = document.judges["judge"].matched_pairs.where_pointwise_tied
    table = tables(document)["Where scores tie, by oracle gap"]
    assert [row.cells[2] for row in table.rows] == [str(one.decided_pairs) for one in where.by_gap]
    share = number(where.decided.estimate, "share")
    told = f"Verdicts decide {where.decided_pairs} of {where.pairs} ({share}); accuracy is over those."
    assert told in said(document)


def test_judges_of_verdicts_are_drawn_evenly():
    """Forty judges fill two drawings of twenty, the best first, and one table."""
    from documents.studied import orders  # noqa: PLC0415

    document = orders(judges=[f"{HOSTILE} {at}" for at in range(40)])
    shown = [one.says.split(" of ")[1] for one in drawings_of(describe(document).blocks)]
    assert shown == ["judges 1 to 20", "judges 21 to 40"]
    assert len(tables(document)["Each order, both together, and what the order did"].rows) == 40
    assert any(one.startswith("40 judges agree with the labels in") for one in said(document))


def test_a_draw_has_its_strata(tmp_path):
    """What was drawn of each stratum, and how many pairs each stands for."""
    document = result("draw", tmp_path)
    rows = tables(document)[""].rows
    assert [row.cells[:2] for row in rows] == [(f"{one.gap_of} gap", one.stratum) for one in document.strata]
    assert rows[0].cells[4] == f"{document.strata[0].pairs / document.strata[0].drawn:.3g}"
    more = document.model_copy(update={"prompts_left_out": {HOSTILE: 1200}})
    assert "left out 1,200 prompts: " in text(more)
    harmless(more)


@pytest.mark.parametrize("name", ["requirements", "mix", "calibration"])
def test_many_judges_are_told_and_not_drawn(name):
    """Six judges are drawn without a word on it; of seven there are the tables, and a note."""
    frame = controlled(judged(SEVEN, prompts=10))
    study = {
        "requirements": study_requirements,
        "mix": lambda some: study_mix(some, control="bad"),
        "calibration": study_calibration,
    }[name]
    six, seven = (study(frame[frame["judge"].isin(SEVEN[:count])]) for count in (6, 7))
    assert len(list(drawings_of(describe(six).blocks))) >= 6
    assert list(drawings_of(describe(seven).blocks)) == []
    assert [any(one.startswith("No judge is drawn") for one in said(each)) for each in (six, seven)] == [False, True]
    assert len(described(seven).judges) == 7


def test_many_judges_have_one_table_of_requirements():
    """Each judge has a row with its recovery, that of plain noise and what is needed; the others are named."""
    frame = judged(SEVEN)
    frame.loc[frame["judge"] == "j3", "judge_score"] = 0.5
    document = study_requirements(frame)
    table = tables(document)["Judges and plain noise"]
    assert [row.cells[0] for row in table.rows] == SEVEN
    own = document.judges["j1"].judge
    assert table.rows[1].cells[1] == estimate(own.within_r)
    assert table.rows[1].cells[4] == estimate(own.expected_recovery, "share")
    assert any("No figure of plain noise for" in one and "j3" in one for one in said(document))


def test_who_was_not_studied_and_what_was_dropped_is_told_once():
    """Both are told of every study in one way, on the page as in the text."""
    frame = judged("ab")
    few = frame["prompt_id"] > "p0000004"
    document = study_calibration(frame[~((frame["judge"] == "b") & few)])
    for shown in (" ".join(text(document).split()), words(page(document))):
        assert shown.count("5 folds need 10 labelled prompts") == 1
    dropped = study_requirements(cohort(20).drop(index=0))
    (reason,) = dropped.judges["judge"].data.dropped
    for shown in (" ".join(text(dropped).split()), words(page(dropped))):
        assert shown.count(f"dropped 1 prompt: {reason}") == 1


def test_names_stay_text():
    """A judge, a control and a column of any name are text wherever they are shown."""
    frame = controlled(cohort(20), HOSTILE).assign(judge=HOSTILE)
    harmless(study_mix(frame, control=HOSTILE))
    harmless(study_requirements(frame))
    named = cohort(20).assign(judge=HOSTILE)
    named[HOSTILE] = range(len(named))
    harmless(study_calibration(named, covariates=HOSTILE))
