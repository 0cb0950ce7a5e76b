from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

import bonwise
from bonwise.cli.entry import run
from bonwise.declared import places, words
from bonwise.errors import UsageError
from bonwise.loading import document_class, json_schema, word_of
from bonwise.results import Document, Record
from documents.samples import samples_of

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
