"""One JSON object out of a file: strict, of a limited size and depth; and what is wrong with one, in a sentence."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bonwise.errors import FileError
from bonwise.printable import printable
from bonwise.table.text_files import DEEPEST, file_errors, is_deeper, open_plain

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
    """Say what is wrong with the first bad key of `document`, and how many more; `whole` stands for no key."""
    by_key: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for problem in error.errors(include_url=False):
        by_key.setdefault(_keys(problem, document), []).append(problem)
    # Of a value that fits no member of a union each member says something; one that got further says it of a key.
    first = next((key for key in by_key if by_key[key][0]["type"] != "extra_forbidden"), next(iter(by_key)))
    others = len(by_key) - 1
    more = "" if not others else "; 1 more key is wrong" if others == 1 else f"; {others:,} more keys are wrong"
    return f"{named_keys(first) or whole} {_said(by_key[first])}{more}"


def _keys(problem: ErrorDetails, document: object) -> tuple[str | int, ...]:
    """Return the keys and positions that lead to a value, without the names of members of unions."""
    if document is None:
        return problem["loc"]
    keys: list[str | int] = []
    *steps, last = (*problem["loc"],) or ("",)
    for step in (*steps, last):
        if isinstance(document, Mapping) and step in document:
            document = document[step]
        elif isinstance(step, int) and isinstance(document, Sequence) and not isinstance(document, str):
            document = document[step] if step < len(document) else None
        elif problem["type"] != "missing" or step is not last:
            continue
        keys.append(step)
    return tuple(keys)


def named_keys(keys: tuple[str | int, ...]) -> str:
    """Return keys as one would write them to get at the value."""
    name = "" if len(keys) <= _MOST_PARTS else "..."
    for key in keys[-_MOST_PARTS:]:
        name += f"[{key}]" if isinstance(key, int) else f"{'.' if name else ''}{printable(key, longest=_LONGEST)}"
    return name


def _said(errors: list[ErrorDetails]) -> str:
    """Say what is wrong with one value: what it should be, or which limit it breaks."""
    others = [error for error in errors if error["type"] not in _KINDS]
    if others:
        problem = others[0]
        if problem["type"] in {"value_error", "assertion_error"}:
            return printable(problem["msg"].partition(", ")[2], longest=200)
        if problem["type"] == "too_short" and problem.get("ctx", {}).get("min_length") == 1:
            return "should not be empty"
        limits = {name: _limit(value) for name, value in problem.get("ctx", {}).items()}
        # A whole number that no double holds is no finite number, whatever limit it breaks as a whole one.
        kind = "finite_number" if _is_beyond_doubles(problem["input"]) else problem["type"]
        words = _SAYINGS.get(kind)
        sentence = printable(problem["msg"], longest=200) if words is None else words.format(**limits)
        return sentence if problem["type"] in _SAY_ALL else f"{sentence}, not {_value(problem['input'])}"
    kinds = list(dict.fromkeys(_KINDS[error["type"]] for error in errors))
    if "a number" in kinds:
        kinds = [kind for kind in kinds if kind != "a whole number"]
    return f"should be {' or '.join(kinds)}, not {_value(errors[0]['input'])}"


def _limit(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_beyond_doubles(value: object) -> bool:
    return isinstance(value, int) and abs(value) > sys.float_info.max


def _value(value: object) -> str:
    """Write a value as JSON does; of what holds others, what it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    if isinstance(value, float) and not math.isfinite(value):
        return "one beyond 1e300"
    if value is None or isinstance(value, str | int | float):
        return printable(json.dumps(value, ensure_ascii=False), longest=_LONGEST)
    return printable(repr(value), longest=_LONGEST)


MOST_BYTES = 256 * 2**20
"""Bytes of a file that is read."""

_LARGEST = 1e300
"""A larger number counts as infinite: in percent, or as the width of an interval, it would be."""

_MOST_DIGITS = 300
"""Of a whole number; one with more counts as infinite."""

_NO_NUMBER = re.compile("NaN|Infinity")

_GZIP = b"\x1f\x8b"

_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""How JSON escapes half a surrogate pair; two that belong together are a character."""


def json_object(file: Path, hint: str) -> dict[str, Any]:
    """Read one JSON object, byte order mark or not; NaN, infinities and keys twice are refused; 1e999 is infinity."""
    with file_errors(file), open_plain(file) as stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise FileError(f"{file}: larger than {MOST_BYTES // 2**20} MB", hint=hint)
    if raw.startswith(_GZIP):
        raise FileError(f"{file}: compressed with gzip", hint="unpack it first")
    with file_errors(file):
        text = raw.decode("utf-8-sig")
    if not text.strip():
        raise FileError(f"{file}: the file is empty", hint=hint)
    content = _parsed(file, text, hint)
    if not isinstance(content, dict):
        raise FileError(f"{file}: not a JSON object", hint=hint)
    if is_deeper(content, DEEPEST):
        raise FileError(f"{file}: nested deeper than {DEEPEST} levels", hint=hint)
    if _NO_NUMBER.search(text) and (keys := _infinite(content)) is not None:
        raise FileError(f"{file}: {named_keys(keys)} should be a finite number", hint=hint)
    if _HALF_PAIR.search(raw) and not _is_text(content):
        raise FileError(f"{file}: a text that is not valid Unicode: half a surrogate pair", hint=hint)
    return content


def received_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object that somebody sent; a ValueError says what is wrong with the body."""
    try:
        document = json.loads(
            content,
            object_pairs_hook=_object,
            parse_int=lambda digits: int(_in_range(digits)),
            parse_float=lambda digits: float(_in_range(digits)),
            parse_constant=_in_range,
        )
        deep = is_deeper(document, DEEPEST)
    except RecursionError:
        deep = True
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("the body is not JSON in UTF-8") from None
    if deep:
        raise ValueError(f"the body is nested deeper than {DEEPEST} levels")
    if not isinstance(document, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - the contract of readers is ValueError
    return document


def _in_range(digits: str) -> str:
    if not math.isfinite(float(digits)):
        raise ValueError(f"the body contains {printable(digits, longest=20)}, which is beyond the range of floats")
    return digits


def _parsed(file: Path, text: str, hint: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_whole, parse_float=_real)
    except RecursionError:
        raise FileError(f"{file}: nested deeper than {DEEPEST} levels", hint=hint) from None
    except json.JSONDecodeError as error:
        why = printable(error.msg, longest=100)
        raise FileError(f"{file}, line {error.lineno}: not JSON: {why}", hint=hint) from None
    except ValueError as error:
        raise FileError(f"{file}: {error}", hint=hint) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {printable(twice, longest=60)!r} occurs twice in one object")
    return made


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else _real(digits)


def _real(digits: str) -> float:
    value = float(digits)
    return value if abs(value) <= _LARGEST else math.copysign(math.inf, value)


def _infinite(value: object, above: tuple[str | int, ...] = ()) -> tuple[str | int, ...] | None:
    """Return the keys that lead to a NaN or an infinity, None where there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((keys for key, held in inner if (keys := _infinite(held, (*above, key))) is not None), None)


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
