from __future__ import annotations

import json
import math

import pytest
from pydantic import Field, ValidationError

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
    expected = {
        "schema": "bonwise.whole/1",
        "parts": [plain, {**plain, "reason": "so"}],
        "names": {"a": plain},
    }
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
    "number": (Number, [-3, 0.5, 10**200], [math.nan, math.inf, True, "1"]),
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
