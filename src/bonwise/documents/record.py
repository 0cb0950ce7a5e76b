"""The base of every model: strict types, no unknown keys, no NaN, and absent keys that stay absent."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

__all__ = ["Record", "given", "prose"]

_SECTION = re.compile(r"^\S[^\n]*\n-{3,}$", re.MULTILINE)
"""The heading of a section of a docstring in numpy's style."""

_NONE = re.compile(r"\bNone\b")
"""What Python says for the null of JSON."""


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None: optional keys of a record, which are absent where they say nothing.

    Examples
    --------
    >>> given(reason=None, ess=12.5)
    {'ess': 12.5}
    """
    return {key: value for key, value in values.items() if value is not None}


class Record(BaseModel):
    """A part of a document.

    Values are checked when a record is made and when it is read. A key that was not given is not written. Keys can be
    read as attributes, and by name as in the JSON.

    Examples
    --------
    >>> class Pair(Record):
    ...     first: str
    ...     reason: str | None = None
    >>> pair = Pair(first="a")
    >>> pair.to_dict(), pair["first"], pair.reason
    ({'first': 'a'}, 'a', None)
    >>> dict(Pair(first="a"))
    {'first': 'a'}
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and values of the JSON, in the order of the schema."""
        return self.model_dump(mode="python", by_alias=True, exclude_unset=True)

    def __getitem__(self, key: str) -> Any:
        """Return a value by its JSON key; a key that was not given raises KeyError."""
        for name, field in type(self).model_fields.items():
            if (field.alias or name) == key and name in self.model_fields_set:
                return getattr(self, name)
        raise KeyError(key)

    def keys(self) -> Iterator[str]:
        """Yield the JSON keys that were given, so that ``dict(record)`` and ``**record`` hold them."""
        given = self.model_fields_set
        return ((field.alias or name) for name, field in type(self).model_fields.items() if name in given)

    def __contains__(self, key: object) -> bool:
        given = self.model_fields_set
        return any((field.alias or name) == key and name in given for name, field in type(self).model_fields.items())

    def given_values(self) -> dict[str, Any]:
        """Return the values that were given, by JSON key: records within stay records."""
        fields, given = type(self).model_fields, self.model_fields_set
        return {field.alias or name: getattr(self, name) for name, field in fields.items() if name in given}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        # What a key means is said once, under the field.
        made = handler(schema)
        described = handler.resolve_ref_schema(made)
        described["description"] = prose(cls.__doc__ or "")
        meanings = _meanings(cls)
        for key, value in described.get("properties", {}).items():
            value.pop("title", None)
            if value.get("default", ...) is None:
                del value["default"]
            if key in meanings:
                value["description"] = meanings[key]
        return made


def prose(docstring: str) -> str:
    r"""Return what stands before the first section, one line per paragraph, as it is said of JSON.

    Code is in single backticks, and None is null.

    Examples
    --------
    >>> prose("One figure.\n\nWith its ``low`` end\nand more.\n\nNotes\n-----\nNone.")
    'One figure.\n\nWith its `low` end and more.'
    """
    text = inspect.cleandoc(docstring)
    start = _SECTION.search(text)
    paragraphs = (text if start is None else text[: start.start()]).split("\n\n")
    return "\n\n".join(_joined(paragraph) for paragraph in paragraphs if paragraph.strip())


def _meanings(model: type[Record]) -> dict[str, str]:
    """Return what the text under each field says of its JSON key, also for the fields of its bases."""
    documented = [base for base in reversed(model.__mro__) if issubclass(base, Record) and base is not Record]
    by_name = {name: text for base in documented for name, text in _field_texts(base).items()}
    return {(field.alias or name): by_name[name] for name, field in model.model_fields.items() if name in by_name}


def _field_texts(model: type[Record]) -> Mapping[str, str]:
    module = inspect.getmodule(model)
    return {} if module is None else _texts_of(inspect.getsource(module)).get(model.__qualname__, {})


@cache
def _texts_of(source: str) -> Mapping[str, Mapping[str, str]]:
    """Return, by class and field, the text under the field. Python itself does not keep it."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_texts_in(node.body)) for node in classes}


def _texts_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            match below.value:
                case ast.Constant(value=str(text)):
                    yield field.target.id, _joined(text)


def _joined(text: str) -> str:
    return _NONE.sub("null", " ".join(text.split()).replace("``", "`"))
