"""The base of every model: strict types, no unknown keys, no NaN, and absent keys that stay absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bonwise.documents.docstrings import meanings, prose

__all__ = ["Record", "given"]


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
        # What a key means is said once, in the docstring of the class.
        made = handler(schema)
        described = handler.resolve_ref_schema(made)
        documented = [one for one in reversed(cls.__mro__) if issubclass(one, Record) and one is not Record]
        said = {name: text for one in documented for name, text in meanings(one.__doc__ or "").items()}
        described["description"] = prose(cls.__doc__ or "")
        for key, value in described.get("properties", {}).items():
            value.pop("title", None)
            if value.get("default", ...) is None:
                del value["default"]
            if key in said:
                value["description"] = said[key]
        return made
