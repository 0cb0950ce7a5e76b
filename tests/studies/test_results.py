"""What every study gives back: its document, what is shown of it, and its part on the page of an audit."""

from __future__ import annotations

import json
import re
from inspect import signature

import pandas as pd
import pytest

import bonwise as bw
from auditing.tables import cohort
from bonwise.errors import FileError
from bonwise.estimates import EstimateRecord
from bonwise.loading import json_schema, read_document
from bonwise.report.blocks import Part, Said, Table, drawings_of
from bonwise.report.numbers import estimate, number
from bonwise.report.show import markdown, notebook, page, text
from bonwise.studies.calibration.front import study_calibration
from bonwise.studies.description import change_words
from bonwise.studies.mix.front import study_mix
from bonwise.studies.mix.result import MixStudy
from bonwise.studies.requirements.front import study_requirements
from bonwise.studies.result import StudyDocument, study_classes, study_names
from bonwise.studies.view import beside_audit, describe, described
from report.readers import HOSTILE, harmless, lost, words
from results.round_trips import read_back, refusal
from studies.studied import RESULTS, controlled, judged, orders, result


@pytest.mark.parametrize("name", RESULTS)
def test_every_study_comes_back_as_its_own_class(name, tmp_path):
    """What is written is read back as the class of the study and of its kind, with the same table."""
    study = result(name, tmp_path)
    loaded = read_back(study, tmp_path)
    assert isinstance(loaded, StudyDocument)
    assert type(loaded) in study_classes(study.study_name())
    if name != "draw":  # its pairs are not in the JSON
        pd.testing.assert_frame_equal(loaded.to_frame(), study.to_frame())
    assert list(loaded.frame_rows()) == list(study.frame_rows())
    assert (loaded.to_text(full=True), repr(loaded)) == (study.to_text(full=True), repr(study))


@pytest.mark.parametrize("name", [name for name in bw.__all__ if name.startswith("study_")])
def test_a_study_takes_its_scores_by_place_and_all_else_by_name(name):
    """Many settings are numbers, which nobody should have to count."""
    parameters = signature(getattr(bw, name)).parameters.values()
    assert [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY] == ["source"]


@pytest.mark.parametrize(
    ("change", "written"), [(0.05, "+5.00 points"), (-0.05, "-5.00 points"), (None, "undefined")]
)
def test_a_change_has_its_sign(change, written):
    """More is written as more."""
    record = EstimateRecord(estimate=change, low=None, high=None, se=None, n=40, interval=None, method="complete")
    assert change_words(record, "recovery").startswith(written)


@pytest.mark.parametrize("name", RESULTS)
def test_every_study_fits_the_schema(name, tmp_path):
    """The JSON Schema admits it, and refuses it under the name of no study."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema("study")
    assert schema["properties"]["schema"]["const"] == "bonwise.study/1"
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(result(name, tmp_path).to_json())
    assert list(validator.iter_errors(document)) == []
    assert list(validator.iter_errors({**document, "study": "nothing"}))
    assert list(validator.iter_errors({key: value for key, value in document.items() if key != "study"}))


def test_a_module_per_study():
    """The names are those of the modules, and each class says the name of its own."""
    names = ("calibration", "candidates", "discretisation", "label-strategy", "mix", "requirements", "strategies")
    assert study_names() == names
    for name in study_names():
        assert {one.study_name() for one in study_classes(name)} == {name}


@pytest.mark.parametrize(
    ("keys", "value", "told"),
    [
        ("study", "nothing", "is not a study"),
        ("study", ..., "is not a study"),
        ("study", "mix", "settings.control"),
        ("judges.a.data.studied_prompts", -1, "judges.a.data.studied_prompts"),
        ("judges.a.data.method", "aipw", "judges.a.data.method"),
        ("judges.a.targets.0.target", 1.5, "judges.a.targets[0].target"),
        ("judges.a.curve.0.within_r", 2, "judges.a.curve[0].within_r"),
        ("judges.a.judge.difference", None, "judges.a.judge.difference"),
        ("settings.confidence", 1, "settings.confidence"),
        ("settings.more", 1, "settings.more"),
    ],
)
def test_tampered_requirements_are_refused(keys, value, told, tmp_path):
    """The message names the key."""
    assert told in refusal(result("requirements", tmp_path), tmp_path, keys, value)


@pytest.mark.parametrize(
    ("name", "keys", "value", "told"),
    [
        ("mix", "judges.a.points.0.metrics.recovery", ..., "recovery"),
        ("mix", "judges.a.points.10.share", 0.9, "every pool"),
        ("mix", "settings.control", [], "settings.control"),
        ("calibration", "judges.a.methods.isotonic.metrics.recovery", ..., "recovery"),
        ("calibration", "judges.a.methods.isotonic.intervals", "none", "intervals"),
        ("calibration", "settings.folds", 1, "settings.folds"),
        ("discretisation", "judges.a.rows.0.scale", "other", "judges.a.rows[0].scale"),
        ("discretisation", "judges.a.rho", 1.5, "judges.a.rho"),
        ("strategies", "kind", "others", "kind"),
        ("strategies", "kind", ..., "kind"),
        ("strategies", "judges.judge.strategies.every_pair.strategies.pointwise", ..., "pointwise"),
        ("strategies", "judges.judge.matched_pairs.where_pointwise_tied.decided_pairs", 99999, "decided_pairs"),
        ("strategies", "judges.judge.matched_pairs.ways.guess", {}, "guess"),
        ("verdicts", "judges.j.ways.second_order", ..., "second_order"),
        ("verdicts", "settings.verdict_columns", [], "settings.verdict_columns"),
        ("draw", "strata.0.drawn", 0, "strata[0].drawn"),
        ("draw", "strata.0.gap_of", "me", "strata[0].gap_of"),
    ],
)
def test_tampered_studies_are_refused(name, keys, value, told, tmp_path):
    """What could not have been written is refused, and the message names what."""
    assert told in refusal(result(name, tmp_path), tmp_path, keys, value)


def test_keys_that_say_nothing_are_absent(tmp_path):
    """Without draws, a reference, scales or labels that were left out nothing is said of them."""
    settings = result("requirements", tmp_path).to_dict()["settings"]
    assert not {"draws", "reference", "judge_scale", "label_scale", "labels_left_out"} & set(settings)
    one, two = (result(name, tmp_path).to_dict()["judges"]["j"] for name in ("one order", "verdicts"))
    assert (one["order"], "no_order" in two) == (None, False)
    assert one["no_order"].startswith("one verdict column")
    ways = result("strategies", tmp_path).to_dict()["judges"]["judge"]["matched_pairs"]["ways"]
    assert ["minus_pointwise" in way for way in ways.values()] == [False, True, True]


def test_one_class_reads_its_own_study_alone(tmp_path):
    """A reader of one study refuses another one."""
    path = tmp_path / "study.json"
    path.write_text(result("requirements", tmp_path).to_json(), encoding="utf-8")
    with pytest.raises(FileError, match="is not one of 'mix'"):
        read_document(path, MixStudy)


def test_one_judge_alone(tmp_path):
    """The document of one judge keeps the settings and leaves the others, and who was not studied, out."""
    whole = result("requirements", tmp_path)
    alone = whole.of_one_judge("b")
    assert (list(alone.judges), alone.not_studied) == (["b"], {})
    assert alone.settings == whole.settings
    assert alone.judges["b"] == whole.judges["b"]
    assert read_back(alone, tmp_path).to_dict() == alone.to_dict()


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


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "replay"])  # figures alone
def test_the_sentences_of_the_document_are_said_once(name, tmp_path):
    """Each finding stands once in the text, and once in the description of the page."""
    document = result(name, tmp_path)
    found = [one for judge in document.judges.values() for one in judge["sentences"]] if name != "draw" else []
    found += getattr(document, "sentences", [])
    assert found
    shown = " ".join(text(document, full=True).split())
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
    assert "label" not in text(document, full=True).replace(" on the labels of table", "")
    mixed = study_mix(controlled(judged("ab")).drop(columns="oracle_label"), control="bad", oracle="judge:b")
    assert "value_reference" in text(mixed)
    assert "oracle" not in text(mixed, full=True)


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
    from bonwise.studies.label_strategy.front import study_label_strategy  # noqa: PLC0415
    from studies.pairwise_judges import verdicts  # noqa: PLC0415
    from studies.studied import SIMULATION  # noqa: PLC0415

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
    from studies.studied import orders  # noqa: PLC0415

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


def rows(parts):
    """Return the rows of all tables of parts."""
    return [row.cells for part in parts for one in part.blocks if isinstance(one, Table) for row in one.rows]


def data(found):
    """Return the parts that say what a study rests on."""
    parts = [*found.whole, *(one for some in found.by_judge.values() for one in some)]
    return [one for one in parts if one.title.startswith("Data of the study")]


def counted(document, **more):
    """Return the document of one judge with other counts."""
    ((name, judge),) = document.judges.items()
    changed = judge.model_copy(update={"data": judge.data.model_copy(update=more)})
    return document.model_copy(update={"judges": {name: changed}})


@pytest.fixture(scope="module")
def alone():
    """Return an audit of one judge and a study of it."""
    frame = cohort(20)
    return bw.audit(frame), bw.study_requirements(frame)


def test_what_the_audit_says_is_not_said_again(alone):
    """Counts and drops that the audit has too are not repeated; others are, with the name of the study."""
    audit, study = alone
    assert data(beside_audit(study, audit)) == []
    (part,) = data(beside_audit(counted(study, prompts=18, too_large_prompts=2, dropped={"lacks a": 2}), audit))
    assert rows([part]) == [("prompts", "18"), ("too large prompts", "2"), ("dropped", "lacks a", "2")]
    assert part.title == "Data of the study of requirements"


def test_a_count_is_told_by_what_it_counts(alone):
    """Rows as many as the audit's prompts stand beside it all the same."""
    audit, study = alone
    (part,) = data(beside_audit(counted(study, rows=audit.data.prompts), audit))
    assert rows([part]) == [("rows", "20")]


def test_labelled_prompts_are_told_by_the_audit():
    """What an audit of partial labels says of labelled prompts, and of those without, is not repeated."""
    frame = cohort(30, unlabelled=10)
    (part,) = data(beside_audit(bw.study_requirements(frame), bw.audit(frame)))
    assert rows([part]) == [("rows", "80")]


def test_prompts_that_both_dropped_are_told_once():
    """The audit's part counts them by reason already."""
    frame = cohort(20).drop(index=0)
    study = bw.study_requirements(frame)
    assert study.judges["judge"].data.dropped
    assert data(beside_audit(study, bw.audit(frame))) == []


def test_each_judge_has_its_own_part():
    """Of two judges each has the part of its own, under the same heading; who was not studied stands apart."""
    frame = judged("ab")
    study = bw.study_requirements(frame).model_copy(update={"not_studied": {"c": "why"}})
    found = beside_audit(study, bw.audit(frame))
    assert {name: [part.title for part in parts] for name, parts in found.by_judge.items()} == {
        "a": ["What a wanted recovery takes"],
        "b": ["What a wanted recovery takes"],
    }
    (whole,) = found.whole
    assert (whole.title, whole.blocks) == ("Not studied", [Said("caveat", "c: why")])


def test_what_is_nobodys_own_stands_apart(alone):
    """So does a study of another table, one that compares judges, and any beside an audit of one judge."""
    frame = judged("ab")
    both = bw.audit(frame)
    study = bw.study_requirements(frame)
    other = study.model_copy(update={"settings": study.settings.model_copy(update={"source": "other.csv"})})
    for document, audit in ((other, both), (orders(), both), (alone[1], alone[0])):
        found = beside_audit(document, audit)
        assert found.by_judge == {}
        assert found.whole
    titles = [part.title for part in beside_audit(other, both).whole]
    assert titles[:2] == ["What a wanted recovery takes: a", "What a wanted recovery takes: b"]
    assert "other.csv" in data(beside_audit(counted(other.of_one_judge("a"), rows=1), both))[0].blocks[0].text


def test_nothing_is_drawn_beside_many_judges():
    """Of seven judges no study is drawn; that of requirements is one table, which says where the rest is."""
    frame = controlled(judged(SEVEN, prompts=10))
    audit = bw.audit(frame, control="bad")
    mixed = beside_audit(bw.study_mix(frame, control="bad"), audit)
    assert list(mixed.by_judge) == SEVEN
    parts = [part for some in mixed.by_judge.values() for part in some]
    assert list(drawings_of(parts)) == []
    needed = beside_audit(bw.study_requirements(frame, exclude="bad"), audit)
    assert needed.by_judge == {}
    assert needed.whole[0].blocks[-1].text.endswith("bonwise study requirements.")
    folded = [one for one in needed.whole[0].blocks if isinstance(one, Part) and one.folded]
    assert len(rows(folded)) == 7


@pytest.mark.parametrize("name", ["strategies", "calibration", "draw"])
def test_every_study_can_stand_there(name, tmp_path, alone):
    """Each has parts with headings and distinct addresses."""
    found = beside_audit(result(name, tmp_path), alone[0])
    assert all(isinstance(part, Part) and part.title and part.anchor for part in found.whole)


def test_each_part_is_on_the_page_of_the_audit(tmp_path):
    """On the page of two judges each has its requirements in its own part, and no address is twice."""
    frame = pd.concat([cohort(20).assign(judge="x"), cohort(20).assign(judge="y")])
    bw.audit(frame).to_html(tmp_path / "a.html")
    shown = (tmp_path / "a.html").read_text("utf-8")
    x, y = (shown.index(f"<h2><bdi>{name}</bdi></h2>") for name in "xy")
    places = [one.start() for one in re.finditer("<h3><bdi>What a wanted recovery takes</bdi></h3>", shown)]
    assert len(places) == 2
    assert x < places[0] < y < places[1]
    ids = re.findall(r'<[^>]*?\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))


def test_a_study_repeats_what_was_declared():
    """Columns, scales and labels left out are in a study's settings as in those of an audit."""
    frame = (
        cohort(30)
        .assign(judge_score=lambda all_: 100 * all_["judge_score"])
        .rename(columns={"judge_score": "points"})
    )
    labels = frame[["prompt_id", "candidate", "oracle_label"]]
    others = pd.DataFrame({"prompt_id": ["of another table"], "candidate": ["c0"], "oracle_label": [0.5]})
    given = {
        "labels": pd.concat([labels, others], ignore_index=True),
        "columns": {"judge_score": "points"},
        "judge_scale": bw.Scale(0, 100),
        "label_scale": bw.Scale(0, 1),
    }
    scores = frame.drop(columns="oracle_label")
    study = bw.study_requirements(scores, **given).to_dict()["settings"]
    audited = bw.audit(scores, **given).to_dict()["settings"]
    keys = ("columns", "judge_scale", "label_scale", "labels_left_out")
    assert {key: study[key] for key in keys} == {key: audited[key] for key in keys}
    assert study["columns"]["judge_score"] == "points"
    assert study["judge_scale"] == {"every judge": "0:100"}
    assert study["labels_left_out"] == {"prompts": 1, "rows": 1}


def test_a_study_says_nothing_of_what_was_not_declared():
    """Without scales, repeated scores and further labels the settings name none of them; with two draws they do."""
    plain = bw.study_requirements(cohort(30)).to_dict()["settings"]
    assert plain.keys().isdisjoint({"judge_scale", "label_scale", "labels_left_out", "draws", "reference"})
    twice = pd.concat([cohort(30).assign(draw=draw) for draw in (0, 1)], ignore_index=True)
    assert bw.study_requirements(twice).to_dict()["settings"]["draws"] == 2
