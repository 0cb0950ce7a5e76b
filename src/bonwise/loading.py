"""Documents by their words: the class and the JSON Schema of each; and documents read back from files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from bonwise.declared import attribute_at, places, words
from bonwise.errors import FileError, InputError, UsageError
from bonwise.flags import takes_numbers
from bonwise.printable import printable
from bonwise.results import Document
from bonwise.strict_json import json_object, refusal

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCHEMA = re.compile(r"bonwise\.([a-z_]+)/1")


def word_of(schema: str) -> str | None:
    """Return the word of a schema that this version knows, None for another one."""
    match = _SCHEMA.fullmatch(schema)
    return match[1] if match is not None and match[1] in places() else None


def document_class(word: str) -> type[Document]:
    """Return the model of a schema; of several classes their base, whose `class_for` tells them apart."""
    if word not in places():
        raise UsageError(f"there is no schema {printable(word, longest=60)!r}", hint=f"one of {', '.join(words())}")
    place = places()[word]
    model: type[Document] = attribute_at(place.package, place.model)
    return model


def json_schema(word: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document."""
    return {"$schema": _DIALECT, **document_class(word).json_schema()}


_HINT = "give a file that bonwise wrote with --json or saved"

D = TypeVar("D", bound=Document)


@takes_numbers
def load(path: str | Path) -> Document:
    """Read a document that bonwise wrote as JSON.

    Nothing that the file names is imported, opened or called.

    Parameters
    ----------
    path : str or pathlib.Path
        Not compressed, at most 256 MB.

    Returns
    -------
    Document
        Of the class of its schema: an audit is an ``Audit``. It has the JSON keys as attributes, and
        ``str()``, ``to_html``, ``to_markdown`` and ``to_frame``. It holds no table of scores.

    Raises
    ------
    bonwise.errors.FileError
        The file cannot be read, it is not a document of a known schema, or a value in it cannot be; the message names
        the key.

    Examples
    --------
    >>> import json, tempfile
    >>> import bonwise as bw
    >>> from bonwise.testing import simulate
    >>> frame = simulate("arena", n=50, seed=1).frame().assign(probability=0.7, outcome=1)
    >>> found = bw.audit_confidence(frame)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "confidence.json")
    ...     _ = path.write_text(json.dumps(found.to_dict()))
    ...     bw.load(path).judges == found.judges
    True
    """
    file = Path(path)
    content = json_object(file, _HINT)
    schema = content.get("schema")
    word = word_of(schema) if isinstance(schema, str) else None
    if word is None:
        raise FileError(
            f"{file}: {_named(content)}, which this version of bonwise does not read",
            hint=f"it reads bonwise.WORD/1, where WORD is one of {', '.join(words())}",
        )
    return _validated(file, content, document_class(word), _HINT)


def read_document(path: str | Path, model: type[D], *, hint: str = _HINT) -> D:
    """Read a document of one class, refusing those of another schema; `hint` says how to make such a file."""
    file = Path(path)
    content = json_object(file, hint)
    if content.get("schema") != model.schema_name():
        raise FileError(f"{file}: {_named(content)}, not {model.schema_name()!r}", hint=hint)
    return _validated(file, content, model, hint)


def _named(content: dict[str, Any]) -> str:
    if "schema" not in content:
        return "it names no schema"
    return f"its schema is {printable(content['schema'], longest=60)!r}"


def _validated(file: Path, content: dict[str, Any], model: type[D], hint: str) -> D:
    try:
        chosen = model.class_for(content)
    except InputError as error:
        raise FileError(f"{file}: {error.message}", hint=error.hint or hint) from None
    try:
        return cast("D", chosen.model_validate(content))
    except ValidationError as error:
        raise FileError(f"{file}: {refusal(error, content)}", hint=hint) from None
