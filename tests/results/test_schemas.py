"""Records, and the JSON Schema of every document."""

from __future__ import annotations

import copy
import json
import math
import re
from pathlib import Path

import pytest
from pydantic import Field, ValidationError

import bonwise
from bonwise.cli.entry import run
from bonwise.declared import places, words
from bonwise.errors import UsageError
from bonwise.factors.result_models import GroupAdvantage
from bonwise.flags import field_texts
from bonwise.loading import document_class, json_schema, word_of
from bonwise.results import (
    Confidence,
    Count,
    Document,
    NonNegative,
    Number,
    Positive,
    PositiveShare,
    Record,
    Share,
    given,
)
from results.samples import samples_of


class Part(Record):
    """A part."""

    share: Share
    held: Number | None
    reason: str | None = None


class Whole(Document):
    """A whole."""

    schema_: str = Field(default="bonwise.whole/1", alias="schema")
    parts: list[Part]
    names: dict[str, Part] | None = None


def part(**values):
    """Make a part."""
    return Part.model_validate({"share": 0.5, "held": None, **values})


def test_keys_are_read_by_name():
    """A key is an attribute, and by its JSON name an item; one that was not given is absent."""
    one = part(reason="so")
    assert (one["share"], one["held"], one["reason"], one.reason) == (0.5, None, "so", "so")
    whole = Whole(parts=[one])
    assert whole["schema"] == whole.schema_ == "bonwise.whole/1"
    assert whole["parts"][0]["share"] == 0.5
    for absent in ("reason", "nothing", "schema_", "to_dict", "model_fields"):
        with pytest.raises(KeyError, match=absent):
            part()[absent]


def test_in_tells_what_was_given():
    """Absent keys are not in a record; a null that was given is."""
    assert "held" in part()
    assert "reason" not in part()
    assert "reason" in part(reason="so")
    assert "schema" in Whole(parts=[])
    assert "schema_" not in Whole(parts=[])
    assert 3 not in part()


def test_absent_keys_stay_absent():
    """What was not given is not written, inside of lists and mappings too; a null that was given is."""
    whole = Whole(parts=[part(), part(reason="so")], names={"a": part()})
    plain = {"share": 0.5, "held": None}
    expected = {"schema": "bonwise.whole/1", "parts": [plain, {**plain, "reason": "so"}], "names": {"a": plain}}
    assert whole.to_dict() == expected
    assert list(whole.to_dict()) == list(expected)
    assert Whole.model_validate(json.loads(whole.to_json())) == whole
    assert "names" not in Whole(parts=[]).to_dict()


def test_given_leaves_out_what_says_nothing():
    """None is left out; what is false or empty is not."""
    assert given(a=None, b=0, c="", d=False, e=[]) == {"b": 0, "c": "", "d": False, "e": []}


@pytest.mark.parametrize(
    "values",
    [
        {"share": "0.5"},
        {"share": True},
        {"share": math.nan},
        {"share": math.inf},
        {"share": -0.1},
        {"share": 1.1},
        {"share": 2},
        {"share": None},
        {"reason": 3},
        {"reason": b"so"},
        {"held": "1"},
        {"held": math.nan},
        {"held": False},
        {"other": 1},
    ],
    ids=str,
)
def test_records_are_strict(values):
    """Nothing is converted; numbers are finite and in their range; no key is unknown."""
    with pytest.raises(ValidationError):
        part(**values)


def test_records_do_not_change():
    """A record is a value."""
    with pytest.raises(ValidationError, match="frozen"):
        part().share = 0.1


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.25])
def test_numbers_are_written_as_they_were_given(value):
    """An integer stays one, and a float too."""
    assert json.dumps(part(share=value, held=value).to_dict()["share"]) == json.dumps(value)
    assert json.dumps(part(held=value).to_dict()["held"]) == json.dumps(value)


KINDS = {
    "count": (Count, [0, 7, 2**53], [-1, 1.0, 2**53 + 1, True, math.nan]),
    "not negative": (NonNegative, [0, 0.0, 3.5, 10**9], [-1, -0.1, True, math.inf]),
    "positive": (Positive, [1, 0.1], [0, 0.0, -1, True]),
    "share": (Share, [0, 1, 0.0, 1.0, 0.5], [-0.1, 1.1, 2, -1]),
    "positive share": (PositiveShare, [1, 1.0, 0.1], [0, 0.0, 1.1, 2]),
    "confidence": (Confidence, [0.5, 0.999], [0.4, 1.0, 1]),
    "number": (Number, [-3, 0.5, 2**53], [math.nan, math.inf, True, "1"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_have_their_range(kind):
    """Each kind of value takes what it is for, and nothing beyond; its JSON Schema says the same of numbers."""
    of, taken, refused = KINDS[kind]
    model = type("One", (Record,), {"__annotations__": {"value": of}, "__doc__": "One."})
    for value in taken:
        assert model(value=value).value == value
    for value in refused:
        with pytest.raises(ValidationError):
            model(value=value)
    validator = pytest.importorskip("jsonschema").Draft202012Validator(model.model_json_schema())
    assert all(validator.is_valid({"value": value}) for value in taken)
    numbers = [value for value in refused if isinstance(value, int | float) and math.isfinite(value)]
    assert not any(validator.is_valid({"value": value}) for value in numbers if value != 1.0 or kind == "confidence")


SOURCE = Path(bonwise.__file__).parent
SCHEMA = re.compile(r"\bbonwise\.([a-z_]+)/(\d+)")


@pytest.fixture(scope="module")
def validator():
    """Return what makes a validator of a schema."""
    return pytest.importorskip("jsonschema").Draft202012Validator


def named_in_the_source():
    """Return every schema that the code names, with the files that do."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        for word, number in SCHEMA.findall(path.read_text("utf-8")):
            found.setdefault((word, number), []).append(path.relative_to(SOURCE).as_posix())
    return found


def test_every_schema_that_the_code_names_has_a_model():
    """Each ``bonwise.WORD/1`` in the source is a word of the list; of version 2 there is none."""
    found = named_in_the_source()
    assert {number for _, number in found} == {"1"}
    assert {word for word, _ in found} == set(words())


def test_every_word_has_one_model():
    """Each word has one class, in the package that declares it."""
    assert list(words()) == sorted(set(words()))
    models = [document_class(word) for word in words()]
    assert len(set(models)) == len(models)
    assert [model.schema_name() for model in models] == [f"bonwise.{word}/1" for word in words()]
    packages = [places()[word].package for word in words()]
    assert [model.__module__.rpartition(".")[0] for model in models] == packages


@pytest.mark.parametrize("word", words())
def test_every_schema_has_a_sample(word):
    """A golden case writes a document of each schema: the tests of this folder look at all of them."""
    assert samples_of({word}), f"no golden file holds a document of bonwise.{word}/1"


@pytest.mark.parametrize("word", words())
def test_a_schema_is_one(word, validator):
    """The JSON Schema is valid, closed, and requires its own name before all else."""
    schema = json_schema(word)
    validator.check_schema(schema)
    assert schema["$schema"] == validator.META_SCHEMA["$id"]
    assert schema["properties"]["schema"]["const"] == f"bonwise.{word}/1"
    assert schema["required"][0] == "schema"
    objects = [schema, *(one for one in schema.get("$defs", {}).values() if "properties" in one)]
    assert all(one["description"] for one in objects)


@pytest.mark.parametrize("sample", samples_of(set(words())), ids=lambda sample: sample.name)
def test_documents_fit_their_schema(sample, validator):
    """Every real document validates; without its schema, with a further key, and as a list it does not."""
    check = validator(json_schema(sample.word))
    assert next(check.iter_errors(sample.document), None) is None
    for damage in (_without_schema, _further_key, _wrong_types):
        damaged = damage(copy.deepcopy(sample.document))
        assert next(check.iter_errors(damaged), None) is not None, damage.__name__
    assert next(check.iter_errors([sample.document]), None) is not None


def _without_schema(document):
    del document["schema"]
    return document


def _further_key(document):
    return {**document, "no_such_key": 1}


def _wrong_types(document):
    return {key: value if key == "schema" else ["none", {"of": "it"}, 1] for key, value in document.items()}


def test_words_are_found_by_their_schema():
    """A schema of another version, another program, or in other letters is none."""
    assert word_of(f"bonwise.{words()[0]}/1") == words()[0]
    for other in ("bonwise.router/2", "bonwise.router/1 ", "other.router/1", "bonwise.Router/1", "router", ""):
        assert word_of(other) is None


@pytest.mark.parametrize("word", ["../router", "router.MODEL", "schemas", "os", "", "\x1b[31m" * 99])
def test_no_other_module_is_opened(word):
    """A word that is not in the list imports nothing, and its error is one short line."""
    with pytest.raises(UsageError, match="there is no schema") as caught:
        document_class(word)
    assert len(caught.value.message) < 400
    assert caught.value.message.isprintable()


class Inner(Record):
    """Inner things."""

    first: int
    """The ``first`` of them,
    over two lines.
    """
    bare: str | None = None


class Outer(Inner):
    """Outer things, None of them bad.

    More of it.
    """

    inner: Inner
    """What is inside."""
    other: Inner | None = None
    """What is inside."""


def test_keys_say_what_they_mean():
    """The meanings under a class's fields, inherited ones too, are in the schema; references keep theirs."""
    schema = Outer.model_json_schema()
    told = {key: value.get("description") for key, value in schema["properties"].items()}
    assert told == {
        "first": "The `first` of them, over two lines.",
        "bare": None,
        "inner": "What is inside.",
        "other": "What is inside.",
    }
    assert schema["description"] == "Outer things, null of them bad.\n\nMore of it."
    assert schema["properties"]["inner"]["$ref"] == "#/$defs/Inner"
    assert "default" not in schema["properties"]["bare"]


def test_the_command_lists_and_prints_schemas(capsys):
    """One line per word; of a word, or of the whole name, the schema; of another word an error."""
    assert run(["schema"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(words())
    assert all(len(line.split()) > 2 for line in lines)
    for name in ("router", "bonwise.router/1"):
        assert run(["schema", name]) == 0
        assert json.loads(capsys.readouterr().out) == json_schema("router")
    assert run(["schema", "nothing"]) == 2
    assert "there is no schema 'nothing'" in capsys.readouterr().err


def test_documents_are_documents():
    """Every model is a Document that says what it is even where only its own keys are given."""
    assert all(issubclass(document_class(word), Document) for word in words())


def test_a_text_of_several_fields_is_that_of_each():
    """``Both:`` and the like stand in the source alone: each key has the whole sentence, and no other key has it."""
    texts = field_texts(GroupAdvantage)
    assert texts["low"] == texts["high"] == "Ends of its pointwise interval."
    assert texts["estimate"] == texts["se"] == "Mean advantage on the group."
    assert texts["level"] == "The category; blank for a tag."
    assert "prompts" not in texts
    for word in words():
        assert not re.search(r'"(Both|All three|All four): ', json.dumps(json_schema(word))), word
