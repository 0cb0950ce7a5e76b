"""What bonwise writes as JSON: documents and the records in them, checked, and shown in every form."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, PrivateAttr, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bonwise.errors import UsageError
from bonwise.flags import field_texts
from bonwise.shown import ShowsItself

if TYPE_CHECKING:
    import pandas as pd

    from bonwise.asked import AskedFor
    from bonwise.report.blocks import Row

_WHOLE = 2**53
"""Whole numbers up to here stay whole; beyond it a reader of JSON holds a double, and arrays hold no larger ones."""

_WholeNumber = Annotated[int, Field(ge=-_WHOLE, le=_WHOLE)]

# What fits neither is refused as no finite number, which is what the first kind says.
Number = Annotated[float | _WholeNumber, WithJsonSchema({"type": "number"})]
"""A finite number that JSON may hold as an integer: it is written as it was given."""

Count = Annotated[int, Field(ge=0, le=_WHOLE)]
"""How many; every reader of JSON holds so large a whole number exactly."""

NonNegative = Annotated[
    Annotated[float, Field(ge=0)] | Annotated[int, Field(ge=0, le=_WHOLE)],
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A finite number that is not negative."""

Positive = Annotated[
    Annotated[float, Field(gt=0)] | Annotated[int, Field(gt=0, le=_WHOLE)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A finite number above 0."""

Share = Annotated[
    Annotated[int, Field(ge=0, le=1)] | Annotated[float, Field(ge=0, le=1)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
"""A part of a whole, in [0, 1]."""

PositiveShare = Annotated[
    Annotated[int, Field(gt=0, le=1)] | Annotated[float, Field(gt=0, le=1)],
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
]
"""A part of a whole that is not nothing, in (0, 1]."""

Confidence = Annotated[float, Field(ge=0.5, lt=1)]
"""Confidence of two-sided intervals, in [0.5, 1)."""

NotBlank = Annotated[str, Field(pattern=r"\S")]
"""A text that says something."""

Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""A lower and an upper end."""

_SECTION = re.compile(r"^\S[^\n]*\n-{3,}$", re.MULTILINE)
"""The heading of a section of a docstring in numpy's style."""

_NONE = re.compile(r"\bNone\b")
"""What Python says for the null of JSON."""


def with_every(keys: Iterable[str]) -> AfterValidator:
    """Return the check of a field that is a mapping with at least these keys."""
    wanted = tuple(keys)

    def check(values: dict[str, Any]) -> dict[str, Any]:
        lacking = [key for key in wanted if key not in values]
        if lacking:
            raise ValueError(f"lacks {lacking[0]}")
        return values

    return AfterValidator(check)


def alike(field: str) -> AfterValidator:
    """Return the check of a field that is a list, whose entries have the same keys in one of their own fields."""

    def check(entries: list[Any]) -> list[Any]:
        if len({frozenset(getattr(entry, field)) for entry in entries}) > 1:
            raise ValueError(f"should have the same {field} in every entry")
        return entries

    return AfterValidator(check)


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None: optional keys of a record, which are absent where they say nothing."""
    return {key: value for key, value in values.items() if value is not None}


class Record(BaseModel):
    """A part of a document.

    Values are checked when a record is made and when it is read. A key that was not given is not written. Keys can be
    read as attributes, and by name as in the JSON.
    """

    # A record is built when it is first used: an audit uses few of those that are known.
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=(), defer_build=True
    )

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
    r"""Return what stands before the first section, a line per paragraph, code in single backticks, None as null."""
    text = inspect.cleandoc(docstring)
    start = _SECTION.search(text)
    paragraphs = (text if start is None else text[: start.start()]).split("\n\n")
    return "\n\n".join(_joined(paragraph) for paragraph in paragraphs if paragraph.strip())


def _meanings(model: type[Record]) -> dict[str, str]:
    """Return what the text under each field says of its JSON key, also for the fields of its bases."""
    documented = [base for base in reversed(model.__mro__) if issubclass(base, Record) and base is not Record]
    by_name = {name: _joined(text) for base in documented for name, text in field_texts(base).items()}
    return {(field.alias or name): by_name[name] for name, field in model.model_fields.items() if name in by_name}


def _joined(text: str) -> str:
    return _NONE.sub("null", " ".join(text.split()).replace("``", "`"))


FrameRow = Mapping[str, object]
"""A row of a result's table: a value by column."""


class Document(ShowsItself, Record):
    """What bonwise writes as one JSON object with a ``schema``.

    A subclass narrows `schema_` to its own constant; the word of the schema ``bonwise.audit/1`` is ``audit``. The
    package of a document names its class and what describes it to people (`bonwise.loading`).

    Results are documents. What one was computed from beside its fields (arrays, a table) is not part of it: it is
    neither written nor compared, and a document that was loaded has none. It survives `pickle` and `copy`.
    """

    schema_: str = Field(alias="schema")

    constants: ClassVar[Sequence[str]] = ("schema_",)
    """The fields that say what a document is: each is the same in all documents of a class, and always written."""

    frame_columns: ClassVar[Sequence[str]] = ()
    """Columns of `to_frame` where there is no row."""

    frame_of: ClassVar[str] = ""
    """The field whose records are the rows of `to_frame`; without one the document is the only row."""

    _source: Any = PrivateAttr(None)
    _asked: AskedFor | None = PrivateAttr(None)
    _samples: Sequence[Row] = PrivateAttr(())

    @property
    def asked(self) -> AskedFor | None:
        """How the result was asked for, by which its next commands name files; None where it was loaded."""
        return self._asked

    def asked_by(self, asked: AskedFor) -> Self:
        """Return the document with how it was asked for beside it."""
        made = self.model_copy()
        made._asked = asked  # noqa: SLF001 - of this class
        return made

    @property
    def samples(self) -> Sequence[Row]:
        """Prompts with answers for the page, which neither a JSON document nor one that was loaded holds."""
        return self._samples

    def with_samples(self, samples: Sequence[Row]) -> Self:
        """Return the document with prompts and answers beside it."""
        made = self.model_copy()
        made._samples = samples  # noqa: SLF001 - of this class
        return made

    def then(self, words: str, *flags: str, **parts: Any) -> str | None:
        """Return a command on the files that the result was made from, see `bonwise.asked.AskedFor.command`."""
        return None if self._asked is None else self._asked.command(words, *flags, **parts)

    def computed_from(self, source: object) -> Self:
        """Return the document with what it was computed from beside it, whose arrays become read-only."""
        made = self.model_copy()
        made._source = _sealed(source)  # noqa: SLF001 - of this class
        return made

    def source_of(self, what: str) -> Any:
        """Return what the document was computed from, to make `what`; a `UsageError` of one loaded from a file."""
        if self._source is None:
            raise UsageError(
                f"{what} is made from the data behind the result, which its JSON does not hold",
                hint="make the result again, instead of loading it",
            )
        return self._source

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Document) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        _sealed(self._source)  # arrays are read from a pickle as writeable

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        made = super().__deepcopy__(memo)
        _sealed(made._source)  # noqa: SLF001 - of this class
        return made

    def model_post_init(self, _: object, /) -> None:
        """Count the constants among the keys that were given."""
        # A default counts as not given, but every document says what it is.
        self.model_fields_set.update(self.constants)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        made = super().__get_pydantic_json_schema__(schema, handler)
        whole = handler.resolve_ref_schema(made)
        constants = [cls.model_fields[name].alias or name for name in cls.constants]
        whole["required"] = [*constants, *(name for name in whole.get("required", ()) if name not in constants)]
        whole["properties"]["schema"]["description"] = "Names this schema."
        return made

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the documents of this class."""
        return cls.model_json_schema(by_alias=True, mode="validation")

    @classmethod
    def class_for(cls, found: Mapping[str, Any]) -> type[Document]:
        """Return the class of a document that was read: of a schema with several classes the one that it names."""
        del found
        return cls

    @classmethod
    def schema_name(cls) -> str:
        """Return the constant that the documents of this class hold as ``schema``."""
        return str(cls.model_fields["schema_"].default)

    def to_json(self) -> str:
        """Return the document as strict JSON, which holds no NaN."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield the rows of `to_frame`."""
        for record in getattr(self, self.frame_of) if self.frame_of else (self,):
            yield record.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return the figures of the document as a table."""
        import pandas as pd  # noqa: PLC0415 - a document is read without pandas

        return pd.DataFrame(list(self.frame_rows()), columns=list(self.frame_columns) or None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.schema_}>"

    def _document(self) -> Self:
        return self


def _sealed(value: Any) -> Any:
    """Return a value whose arrays are read-only, wherever in it they are."""
    if hasattr(value, "flags") and hasattr(value.flags, "writeable"):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for held in value.values():
            _sealed(held)
    elif isinstance(value, list | tuple):
        for held in value:
            _sealed(held)
    elif is_dataclass(value):
        for field in fields(value):
            _sealed(getattr(value, field.name))
    return value
