"""Documents read back from files: strict JSON of a known schema, of a limited size and depth."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from bonwise.data.bytes_check import file_errors
from bonwise.documents.document import Document
from bonwise.documents.schemas import WORDS, document_class, word_of
from bonwise.errors import InputError
from bonwise.printable import printable

__all__ = ["DEEPEST", "MOST_BYTES", "load", "read_document"]

MOST_BYTES = 256 * 2**20
"""Bytes of a file that is read."""

DEEPEST = 64
"""Objects and arrays inside one another."""

_HINT = "give a file that bonwise wrote with --json or saved"

D = TypeVar("D", bound=Document)


def load(path: str | Path) -> Document:
    """Read a document that bonwise wrote as JSON.

    Nothing that the file names is imported, opened or called.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    Document
        Of the class of its schema: an audit is an ``AuditDocument``. It has the JSON keys as attributes, and
        ``str()``, ``to_html``, ``to_markdown`` and ``to_frame``. It holds no table of scores.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read.
    bonwise.errors.InputError
        It is no document of a known schema, or a value in it cannot be; the message names the key.

    Examples
    --------
    >>> import tempfile
    >>> import bonwise as bw
    >>> from bonwise.testing import simulate
    >>> audit = bw.audit(simulate("arena", n=50, seed=1).frame())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "audit.json")
    ...     _ = path.write_text(json.dumps(audit.to_dict()))
    ...     bw.load(path)["recovery"].estimate == audit["recovery"].estimate
    True
    """
    file = Path(path)
    found = _parsed(file)
    schema = found.get("schema")
    word = word_of(schema) if isinstance(schema, str) else None
    if word is None:
        raise InputError(
            f"{file}: {printable(schema, longest=60)!r} is no schema of this version of bonwise",
            hint=f"it reads bonwise.WORD/1, where WORD is one of {', '.join(WORDS)}",
        )
    return _validated(file, found, document_class(word))


def read_document(path: str | Path, model: type[D]) -> D:
    """Read a document of one class.

    Parameters
    ----------
    path : str or pathlib.Path
    model : type

    Raises
    ------
    bonwise.errors.FileError, bonwise.errors.InputError
        As for `load`; also for a document of another schema.
    """
    file = Path(path)
    found = _parsed(file)
    if found.get("schema") != model.schema_name():
        raise InputError(
            f"{file}: its schema is {printable(found.get('schema'), longest=60)!r}, not {model.schema_name()!r}",
            hint=_HINT,
        )
    return _validated(file, found, model)


def _validated(file: Path, found: dict[str, Any], model: type[D]) -> D:
    try:
        return model.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        key = ".".join(printable(part, longest=60) for part in first["loc"]) or "the document"
        more = f"; {error.error_count() - 1} more" if error.error_count() > 1 else ""
        value = "" if first["type"] == "missing" else f", not {printable(repr(first['input']), longest=60)}"
        raise InputError(f"{file}: {key}: {printable(first['msg'], longest=200)}{value}{more}", hint=_HINT) from None


def _parsed(file: Path) -> dict[str, Any]:
    with file_errors(file), file.open("rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise InputError(f"{file}: larger than {MOST_BYTES // 2**20} MB", hint=_HINT)
    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise InputError(f"{file}: nested deeper than {DEEPEST} levels", hint=_HINT) from None
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {printable(error, longest=200)}", hint=_HINT) from None
    _refuse_deep(file, found)
    if not isinstance(found, dict):
        raise InputError(f"{file}: not a JSON object", hint=_HINT)
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {printable(twice, longest=60)!r} stands twice in one object")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_deep(file: Path, found: object) -> None:
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
            return
    raise InputError(f"{file}: nested deeper than {DEEPEST} levels", hint=_HINT)
