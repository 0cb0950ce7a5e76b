"""What is wrong with a document, in one plain sentence that names the key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bonwise.printable import printable

__all__ = ["named_keys", "refusal"]

_LONGEST = 60
"""Characters of a key or a value in a message."""

_MOST_PARTS = 8
"""Keys inside one another that a message names; the last ones, where there are more."""

_SAYINGS = {
    "missing": "is missing",
    "extra_forbidden": "is not a key of this document",
    "finite_number": "should be a finite number",
    "greater_than": "should be above {gt}",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be below {lt}",
    "less_than_equal": "should be at most {le}",
    "literal_error": "should be {expected}",
    "string_too_short": "should not be empty",
    "string_pattern_mismatch": "should not be empty",
    "too_long": "should hold at most {max_length}",
    "too_short": "should hold at least {min_length}",
    "union_tag_invalid": "is of no known kind",
    "union_tag_not_found": "is of no known kind",
}

_SAY_ALL = frozenset({"missing", "extra_forbidden", "string_pattern_mismatch", "string_too_short"})
"""Types of errors after which a value would say nothing more."""

_KINDS = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "an object",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "none_required": "null",
    "string_type": "a text",
    "string_unicode": "a text of valid Unicode",
}
"""What a value should be, by the type of the error that says it is something else."""


def refusal(error: ValidationError, document: Mapping[str, Any] | None = None, *, whole: str = "the document") -> str:
    """Say what is wrong with the first key that is, and with how many others.

    Parameters
    ----------
    error : pydantic.ValidationError
    document : mapping, optional
        What was validated: it tells keys from the names that pydantic gives the members of a union.
    whole : str
        What to call it where no single key is wrong.

    Examples
    --------
    >>> from bonwise.documents.labels_left_out import LabelsLeftOut
    >>> document = {"prompts": "many", "rows": -1}
    >>> try:
    ...     LabelsLeftOut.model_validate(document)
    ... except ValidationError as error:
    ...     print(refusal(error, document))
    prompts should be a whole number, not "many"; 1 more key is wrong
    """
    by_key: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        by_key.setdefault(_keys(one, document), []).append(one)
    # Of a value that fits no member of a union each member says something; one that got further says it of a key.
    first = next((key for key in by_key if by_key[key][0]["type"] != "extra_forbidden"), next(iter(by_key)))
    others = len(by_key) - 1
    more = "" if not others else "; 1 more key is wrong" if others == 1 else f"; {others:,} more keys are wrong"
    return f"{named_keys(first) or whole} {_said(by_key[first])}{more}"


def _keys(one: ErrorDetails, document: object) -> tuple[str | int, ...]:
    """Return the keys and positions that lead to a value, without the names of members of unions."""
    if document is None:
        return one["loc"]
    found: list[str | int] = []
    *steps, last = (*one["loc"],) or ("",)
    for step in (*steps, last):
        if isinstance(document, Mapping) and step in document:
            document = document[step]
        elif isinstance(step, int) and isinstance(document, Sequence) and not isinstance(document, str):
            document = document[step] if step < len(document) else None
        elif one["type"] != "missing" or step is not last:
            continue
        found.append(step)
    return tuple(found)


def named_keys(keys: tuple[str | int, ...]) -> str:
    """Return keys as one would write them to get at the value.

    Examples
    --------
    >>> named_keys(("judges", "gpt", "bins", 0))
    'judges.gpt.bins[0]'
    """
    name = "" if len(keys) <= _MOST_PARTS else "..."
    for key in keys[-_MOST_PARTS:]:
        name += f"[{key}]" if isinstance(key, int) else f"{'.' if name else ''}{printable(key, longest=_LONGEST)}"
    return name


def _said(errors: list[ErrorDetails]) -> str:
    """Say what is wrong with one value: what it should be, or which limit it breaks."""
    told = [one for one in errors if one["type"] not in _KINDS]
    if told:
        one = told[0]
        if one["type"] in {"value_error", "assertion_error"}:
            return printable(one["msg"].partition(", ")[2], longest=200)
        if one["type"] == "too_short" and one.get("ctx", {}).get("min_length") == 1:
            return "should not be empty"
        limits = {name: _limit(value) for name, value in one.get("ctx", {}).items()}
        words = _SAYINGS.get(one["type"])
        said = printable(one["msg"], longest=200) if words is None else words.format(**limits)
        return said if one["type"] in _SAY_ALL else f"{said}, not {_value(one['input'])}"
    kinds = list(dict.fromkeys(_KINDS[one["type"]] for one in errors))
    if "a number" in kinds:
        kinds = [one for one in kinds if one != "a whole number"]
    return f"should be {' or '.join(kinds)}, not {_value(errors[0]['input'])}"


def _limit(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _value(value: object) -> str:
    """Write a value as JSON does; of what holds others, what it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    if isinstance(value, float) and not math.isfinite(value):
        return "one beyond the range of floats"
    if value is None or isinstance(value, str | int | float):
        return printable(json.dumps(value, ensure_ascii=False), longest=_LONGEST)
    return printable(repr(value), longest=_LONGEST)
