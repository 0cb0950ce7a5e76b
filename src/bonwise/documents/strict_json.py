"""One JSON object out of a file: strict, of a limited size and depth."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

from bonwise.data.bytes_check import file_errors, refuse_pipe
from bonwise.documents.refusal import named_keys
from bonwise.errors import FileError
from bonwise.printable import printable

__all__ = ["DEEPEST", "MOST_BYTES", "json_object"]

MOST_BYTES = 256 * 2**20
"""Bytes of a file that is read."""

DEEPEST = 64
"""Objects and arrays inside one another."""

_MOST_DIGITS = 300
"""Of a whole number; one with more is too large for any float."""

_NO_NUMBER = re.compile("NaN|Infinity")

_GZIP = b"\x1f\x8b"

_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""How JSON escapes half a surrogate pair; two that belong together are a character."""


def json_object(file: Path, hint: str) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    A byte order mark is passed over. NaN, infinities and keys that occur twice are refused; a number that is too
    large for a float becomes infinity, which no model accepts.

    Parameters
    ----------
    file : pathlib.Path
    hint : str
        Of the errors.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, or holds something else.
    """
    refuse_pipe(file)
    with file_errors(file), file.open("rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise FileError(f"{file}: larger than {MOST_BYTES // 2**20} MB", hint=hint)
    if raw.startswith(_GZIP):
        raise FileError(f"{file}: compressed with gzip", hint="unpack it first")
    with file_errors(file):
        text = raw.decode("utf-8-sig")
    if not text.strip():
        raise FileError(f"{file}: the file is empty", hint=hint)
    found = _parsed(file, text, hint)
    if not isinstance(found, dict):
        raise FileError(f"{file}: not a JSON object", hint=hint)
    if _is_deep(found):
        raise FileError(f"{file}: nested deeper than {DEEPEST} levels", hint=hint)
    if _NO_NUMBER.search(text) and (keys := _infinite(found)) is not None:
        raise FileError(f"{file}: {named_keys(keys)} should be a finite number", hint=hint)
    if _HALF_PAIR.search(raw) and not _is_text(found):
        raise FileError(f"{file}: a text that is not valid Unicode: half a surrogate pair", hint=hint)
    return found


def _parsed(file: Path, text: str, hint: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_whole)
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
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _is_deep(found: object) -> bool:
    level = [found]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _infinite(found: object, above: tuple[str | int, ...] = ()) -> tuple[str | int, ...] | None:
    """Return the keys that lead to a NaN or an infinity, None where there is none."""
    if isinstance(found, float) and not math.isfinite(found):
        return above
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    return next((keys for key, one in inner if (keys := _infinite(one, (*above, key))) is not None), None)


def _is_text(found: object) -> bool:
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
