from __future__ import annotations

import json

import pandas as pd
import pytest

from bonwise.errors import FileError
from bonwise.loading import json_schema, read_document
from bonwise.studies.mix.result import MixStudy
from bonwise.studies.result import StudyDocument, study_classes, study_names
from documents.round_trips import read_back, refusal
from documents.studied import RESULTS, result


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
    assert (str(loaded), repr(loaded)) == (str(study), repr(study))


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
    assert study_names() == ("calibration", "label-strategy", "mix", "requirements")
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
